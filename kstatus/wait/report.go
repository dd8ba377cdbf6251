package wait

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/stagecraft-go/stagecraft/kstatus"
)

// A Reporter writes the progress of a wait. On a terminal it redraws the counts and the objects
// that are still waited for. Elsewhere, as in CI, it writes a line for each change and for each
// minute without one. It must not be used from several goroutines at once, nor for several waits.
type Reporter struct {
	Out      io.Writer
	Terminal bool // redraw
	Rows     int  // objects shown on a terminal; 0: ten
	Columns  int  // of the terminal, beyond which lines are cut; 0: 80

	// All: on a terminal, each object keeps its line from the begin to the end, so that one sees it
	// become ready, unless there are more objects than rows; the first line says which object holds
	// the wait up, and since when.
	All bool

	drawn int       // number of lines to overwrite
	last  time.Time // when something was written
	stale bool      // a change was not drawn, because redrawAfter had not passed
}

// NewReporter returns a Reporter that redraws if out is a terminal.
func NewReporter(out io.Writer) *Reporter { return &Reporter{Out: out, Terminal: isTerminal(out)} }

func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
}

const (
	redrawAfter = 100 * time.Millisecond // shortest time between two redraws
	silence     = time.Minute            // longest time without a line
)

// Report writes one change, after the Collector has counted it. [For] calls it; code that loops
// over [Events] calls it for each of them. Errors of Out are ignored, so that a wait does not fail
// because of its report.
func (r *Reporter) Report(c *Collector, s State) {
	if r.Terminal {
		r.redraw(c, s.Time)
	} else {
		r.line(c, s, s.Time)
	}
}

// due returns when to call idle if nothing changes before.
func (r *Reporter) due(now time.Time) time.Time {
	if r.stale {
		return r.last.Add(redrawAfter)
	}
	return now.Add(time.Second)
}

// idle reports that time has passed without a change. Not on a terminal, it writes the line of the
// first object that is still waited for.
func (r *Reporter) idle(c *Collector, now time.Time) {
	if r.Terminal {
		r.redraw(c, now)
		return
	}
	if r.last.IsZero() {
		r.last = now
	}
	if now.Sub(r.last) < silence {
		return
	}
	for s := range c.where(func(p phase) bool { return p == pending || p == failing }) {
		r.line(c, s, now)
		return
	}
}

func (r *Reporter) line(c *Collector, s State, now time.Time) {
	r.last = now
	fmt.Fprintf(r.Out, "%s %s (%s)\n", now.Format(time.TimeOnly), describe(s, now), counts(c.Progress()))
}

// redraw overwrites what it drew last, in one write, unless redrawAfter has not passed.
func (r *Reporter) redraw(c *Collector, now time.Time) {
	if r.stale = !c.Done() && now.Sub(r.last) < redrawAfter; r.stale {
		return
	}
	rows := cmp.Or(r.Rows, 10)
	var b strings.Builder
	if r.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\x1b[J", r.drawn)
	}
	r.drawn, r.last = 1, now
	shown := c.Open()
	if r.All {
		fmt.Fprintln(&b, r.cut(headline(c, now)))
	} else {
		fmt.Fprintln(&b, r.cut(counts(c.Progress())))
	}
	if r.All && len(c.states) <= rows {
		shown = c.States()
	}
	left := 0
	for s := range shown {
		if r.drawn > rows {
			left++
			continue
		}
		fmt.Fprintln(&b, r.cut(r.prefix(s)+describe(s, now)))
		r.drawn++
	}
	if left > 0 {
		fmt.Fprintf(&b, "  and %d more\n", left)
		r.drawn++
	}
	io.WriteString(r.Out, b.String())
}

// prefix is what a line of an object begins with.
func (r *Reporter) prefix(s State) string {
	if r.All {
		return s.mark()
	}
	return "  "
}

// cut shortens a line that the terminal would wrap: redraw counts lines.
func (r *Reporter) cut(line string) string {
	last := max(1, cmp.Or(r.Columns, 80)-1)
	if runes := []rune(line); len(runes) > last {
		return string(runes[:last-1]) + "…"
	}
	return line
}

// counts returns a Progress as text.
func counts(p Progress) string {
	text := fmt.Sprintf("%d of %d done", p.Reached, p.Total)
	for _, part := range []struct {
		n    int
		what string
	}{
		{p.Open[kstatus.Current], "current"},
		{p.Open[kstatus.InProgress], "in progress"},
		{p.Open[kstatus.Failed], "failed"},
		{p.Open[kstatus.Terminating], "terminating"},
		{p.Open[kstatus.NotFound], "not found"},
		{p.Open[kstatus.Unknown], "unknown"},
		{p.Open[NotSeen], "not seen"},
		{p.Missing, "of these missing for too long"},
		{p.TimedOut, "of these timed out"},
	} {
		if part.n > 0 {
			text += fmt.Sprintf(", %d %s", part.n, part.what)
		}
	}
	return text
}
