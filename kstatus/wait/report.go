package wait

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/stagecraft-go/stagecraft/kstatus"
)

// A Reporter writes how a wait goes. On a terminal it redraws the counts and the objects that are waited for; elsewhere, as in CI, each change
// is a line. It must not be used from several goroutines at once.
type Reporter struct {
	Out      io.Writer
	Terminal bool // redraw
	Rows     int  // objects shown on a terminal; 0: ten

	drawn int       // lines to go back
	last  time.Time // when they were drawn
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

// redrawAfter is how often a terminal is redrawn at most.
const redrawAfter = 100 * time.Millisecond

// Report writes one change, and on a terminal at a tick, how long it takes. It has the form of Policy.Observe. Errors of Out are ignored: a wait does not fail by what tells of it.
func (r *Reporter) Report(c *Collector, s State) {
	switch {
	case !r.Terminal && s.Ref == (Ref{}): // a tick
	case !r.Terminal:
		fmt.Fprintf(r.Out, "%s %s (%s)\n", s.Time.Format(time.TimeOnly), line(s), counts(c.Progress()))
	case c.Done() || s.Time.Sub(r.last) >= redrawAfter:
		r.redraw(c, s.Time)
	}
}

// redraw writes the picture over the last one, in one write.
func (r *Reporter) redraw(c *Collector, now time.Time) {
	rows := r.Rows
	if rows <= 0 {
		rows = 10
	}
	var b strings.Builder
	if r.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\x1b[J", r.drawn)
	}
	fmt.Fprintln(&b, counts(c.Progress()))
	r.drawn, r.last = 1, now
	left := 0
	for s := range c.Open() {
		if r.drawn > rows {
			left++
			continue
		}
		fmt.Fprintf(&b, "  %s\n", truncate(describe(s, now)))
		r.drawn++
	}
	if left > 0 {
		fmt.Fprintf(&b, "  and %d more\n", left)
		r.drawn++
	}
	io.WriteString(r.Out, b.String())
}

// width is that of a line of a terminal: a longer one would break, and the next picture begin too low.
const width = 80

func truncate(line string) string {
	if runes := []rune(line); len(runes) > width-3 {
		return string(runes[:width-4]) + "…"
	}
	return line
}

// line is a change on one line.
func line(s State) string { return describe(s, s.Since) }

// counts is a Progress in words.
func counts(p Progress) string {
	text := fmt.Sprintf("%d of %d ready", p.Reached, p.Total)
	for _, part := range []struct {
		n    int
		what string
	}{
		{p.Statuses[kstatus.InProgress], "in progress"},
		{p.Failed, "failed"},
		{p.TimedOut, "timed out"},
		{p.Statuses[kstatus.Terminating], "terminating"},
		{p.Statuses[kstatus.NotFound], "not found"},
		{p.Statuses[kstatus.Unknown], "unknown"},
		{p.Statuses[NotSeen], "not seen"},
	} {
		if part.n > 0 {
			text += fmt.Sprintf(", %d %s", part.n, part.what)
		}
	}
	return text
}
