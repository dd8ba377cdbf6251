package labtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// RealClock returns a text about the first status with a time of the real clock, such as metav1.Now
// returns, in a lab whose time is another one: the object, the field, and what to do. It returns ""
// without such a status. The text is also logged at the end of the test. With Options.Quiet the lab
// does not look for it.
func (l *Lab) RealClock() string {
	l.dropping.Lock()
	defer l.dropping.Unlock()
	return l.realClock
}

// checkClock remembers the first status with a time of the real clock. Every writer calls it, in any
// goroutine.
func (l *Lab) checkClock(v *memory.Review) error {
	if v.New == nil {
		return nil
	}
	status, _ := object.ToMap(v.New.Object["status"])
	path := clocks{real: time.Now(), lab: v.Time}.realTime(status)
	if path == "" {
		return nil
	}
	l.dropping.Lock()
	defer l.dropping.Unlock()
	if l.realClock == "" {
		l.realClock = fmt.Sprintf("%s %s: %s is the real time, but the time of the lab is %s: the program that wrote it reads the real clock, for which no time passes here; "+
			"give it the time of the lab, Lab.Now or Process.Now, or begin the lab at the real time, with Options.Start: time.Now()",
			v.Kind.Kind, v.Name, path, v.Time.UTC().Format(time.RFC3339))
	}
	return nil
}

// clocks are the real time and the time of a lab.
type clocks struct{ real, lab time.Time }

// closeBy is how close a time must be to that of a clock to come from it.
const closeBy = time.Minute

// realTime returns the path of the first time in a status, or in its conditions, that comes from the
// real clock; "" without one.
func (c clocks) realTime(status map[string]any) string {
	if c.real.Sub(c.lab).Abs() <= closeBy {
		return ""
	}
	if name := c.realTimeIn(status); name != "" {
		return "status." + name
	}
	conditions, _ := object.Slice(status, "conditions")
	for i, condition := range conditions {
		fields, _ := object.ToMap(condition)
		if name := c.realTimeIn(fields); name != "" {
			return fmt.Sprintf("status.conditions[%d].%s", i, name)
		}
	}
	return ""
}

func (c clocks) realTimeIn(fields map[string]any) string {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		text, _ := fields[name].(string)
		if !strings.HasSuffix(name, "Time") || !strings.HasPrefix(text, c.real.UTC().Format("2006-")) {
			continue
		}
		at, err := time.Parse(time.RFC3339, text)
		if err == nil && c.real.Sub(at).Abs() <= closeBy && c.lab.Sub(at).Abs() > closeBy {
			return name
		}
	}
	return ""
}
