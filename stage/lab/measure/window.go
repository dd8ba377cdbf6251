package measure

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stagecraft-go/stagecraft/stage/lab/record"
)

// A Window is a part of a run, such as the run without its warm-up, the run up to a horizon, or one
// of its phases. It is counted from the first record of the log. The zero value is the whole run.
type Window struct {
	// Name is used in the names of metrics: "pending pods in burst". Without a Name they have the
	// times: "pending pods from 10m0s to 1h0m0s".
	Name string
	From time.Duration // when it begins
	To   time.Duration // when it ends; 0 is the end of the log
}

// String prints "in burst", or "from 10m0s to 1h0m0s".
func (w Window) String() string {
	switch {
	case w.Name != "":
		return "in " + w.Name
	case w.To > 0:
		return fmt.Sprintf("from %s to %s", w.From, w.To)
	}
	return "from " + w.From.String()
}

// In returns the metric in a window. A series is cut: it begins with its value at the beginning of
// the window, and ends with the window. A span counts if it begins in the window, no matter when it
// ends. The end of the window is not part of it.
func (m Metric) In(w Window) Metric {
	inside := Metric{Name: m.Name + " " + w.String()}
	if m.Series != nil {
		inside.Series = func(log record.Log) Series {
			if len(log) == 0 {
				return nil
			}
			from, to := w.times(log)
			return m.Series(log).Between(from, to)
		}
		return inside
	}
	inside.Spans = func(log record.Log) []Span {
		if len(log) == 0 {
			return nil
		}
		from, to := w.times(log)
		return slices.DeleteFunc(m.Spans(log), func(s Span) bool {
			return s.Begin.Time.Before(from) || w.To > 0 && !s.Begin.Time.Before(to)
		})
	}
	return inside
}

// times are the ends of a window in a log.
func (w Window) times(log record.Log) (from, to time.Time) {
	from, to = log[0].Time.Add(w.From), log[len(log)-1].Time
	if w.To > 0 {
		to = log[0].Time.Add(w.To)
	}
	return from, to
}

// Between returns the part of a series from one time to another, with the value that it has at the
// beginning. It is empty if the series ends before, or to is not after from.
func (s Series) Between(from, to time.Time) (part Series) {
	if len(s) == 0 || !to.After(from) || !s[len(s)-1].Time.After(from) {
		return nil
	}
	if s[0].Time.Before(from) {
		part = Series{{from, s.At(from)}}
	}
	for _, p := range s {
		switch {
		case p.Time.After(to):
			return append(part, Point{to, part.At(to)})
		case len(part) == 0 || p.Time.After(part[len(part)-1].Time):
			part = append(part, p)
		}
	}
	return part
}

// windowOf reads the window at the end of the name of a metric, as [Window.String] prints it.
func windowOf(name string) (metric string, w Window, ok bool) {
	metric, text, ok := strings.Cut(name, " from ")
	if !ok {
		return "", w, false
	}
	begin, end, bounded := strings.Cut(text, " to ")
	var err error
	if w.From, err = time.ParseDuration(begin); err != nil || w.From < 0 {
		return "", w, false
	}
	if bounded {
		if w.To, err = time.ParseDuration(end); err != nil || w.To <= w.From {
			return "", w, false
		}
	}
	return metric, w, true
}
