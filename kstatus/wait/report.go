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

// A Reporter writes how a wait goes. On a terminal it redraws the counts and the objects that are waited for; elsewhere, as in CI, each
// change is a line, and so is each minute without one. It must not be used from several goroutines at once, nor for several waits.
type Reporter struct {
	Out      io.Writer
	Terminal bool // redraw
	Rows     int  // objects shown on a terminal; 0: ten
	Columns  int  // of the terminal, beyond which lines are cut; 0: 80

	drawn int       // lines to go back
	last  time.Time // when something was written
	stale bool      // the picture was not redrawn, because that was just now
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
	redrawAfter = 100 * time.Millisecond // how often a terminal is redrawn at most
	silence     = time.Minute            // how long there may be no line
)

// Report writes one change, after the Collector has counted it. [For] calls it, and once a second tells the Reporter that time moves on;
// who loops over [Events] calls it for each of them. Errors of Out are ignored: a wait does not fail by what tells of it.
func (r *Reporter) Report(c *Collector, s State) {
	if r.Terminal {
		r.redraw(c, s.Time)
	} else {
		r.line(c, s, s.Time)
	}
}

// due is when to call idle, unless something changes before.
func (r *Reporter) due(now time.Time) time.Time {
	if r.stale {
		return r.last.Add(redrawAfter)
	}
	return now.Add(time.Second)
}

// idle tells that time moves on. In CI the first object that is waited for stands for all.
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

// redraw writes the picture over the last one, in one write, unless that was just now.
func (r *Reporter) redraw(c *Collector, now time.Time) {
	if r.stale = !c.Done() && now.Sub(r.last) < redrawAfter; r.stale {
		return
	}
	rows := cmp.Or(r.Rows, 10)
	var b strings.Builder
	if r.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\x1b[J", r.drawn)
	}
	fmt.Fprintln(&b, r.cut(counts(c.Progress())))
	r.drawn, r.last = 1, now
	left := 0
	for s := range c.Open() {
		if r.drawn > rows {
			left++
			continue
		}
		fmt.Fprintln(&b, r.cut("  "+describe(s, now)))
		r.drawn++
	}
	if left > 0 {
		fmt.Fprintf(&b, "  and %d more\n", left)
		r.drawn++
	}
	io.WriteString(r.Out, b.String())
}

// cut shortens a line that would break on the terminal: the next picture would begin too low.
func (r *Reporter) cut(line string) string {
	last := max(1, cmp.Or(r.Columns, 80)-1)
	if runes := []rune(line); len(runes) > last {
		return string(runes[:last-1]) + "…"
	}
	return line
}

// counts is a Progress in words.
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
		{p.TimedOut, "of these timed out"},
	} {
		if part.n > 0 {
			text += fmt.Sprintf(", %d %s", part.n, part.what)
		}
	}
	return text
}
