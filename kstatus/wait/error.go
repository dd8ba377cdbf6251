package wait

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stagecraft-go/stagecraft/internal/printable"
	"github.com/stagecraft-go/stagecraft/kstatus"
)

// Causes of an [Error], besides those of a context.
var (
	ErrFailed   = errors.New("objects failed")
	ErrMissing  = errors.New("objects are missing")
	ErrTimedOut = errors.New("objects took too long")
)

// An Error says why a wait ended early, and for which objects it still waited. errors.Is finds the
// cause.
type Error struct {
	Cause error // why the context ended, and which of ErrFailed, ErrMissing and ErrTimedOut hold
	// Open are the objects that had not reached their goal: the ones that failed first, then the ones that
	// are missing for too long, the ones that timed out, the others, and last the ones that were not
	// looked at, which are NotSeen. Each of these groups has the order of the references.
	Open  []State
	Total int       // of all objects
	Time  time.Time // when the wait ended
}

func newError(c *Collector, cause error) *Error {
	e := &Error{Cause: cause, Open: slices.Collect(c.Open()), Total: len(c.states), Time: time.Now()}
	slices.SortStableFunc(e.Open, func(a, b State) int { return cmp.Compare(a.rank(), b.rank()) })
	return e
}

// rank is the place of the state in an Error.
func (s State) rank() int {
	switch {
	case s.isUnseen():
		return 4
	case s.hasFailed():
		return 0
	case s.phase == missing:
		return 1
	case s.phase == timedOut:
		return 2
	}
	return 3
}

func (s State) hasFailed() bool { return s.phase == failed || s.phase == failing }

func (s State) isUnseen() bool { return s.Result.Status == NotSeen }

// causes are several causes of an error. The message is one line.
type causes []error

func (c causes) Error() string {
	texts := make([]string, len(c))
	for i, err := range c {
		texts[i] = err.Error()
	}
	return strings.Join(texts, ", ")
}

// Unwrap returns all of them.
func (c causes) Unwrap() []error { return c }

// ended is why a context ended: its cause, for which errors.Is also finds the error of the context.
type ended struct{ cause, err error }

func (e ended) Error() string   { return e.cause.Error() }
func (e ended) Unwrap() []error { return []error{e.cause, e.err} }

// endOf returns why a context ended, nil if it has not.
func endOf(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if err == nil || errors.Is(cause, err) {
		return cause
	}
	return ended{cause, err}
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Error returns how many objects have failed and how many are not done, then a line for each of
// these: its name, its status and since when, and the reason. The last line counts the objects that
// were not looked at.
func (e *Error) Error() string {
	failures, unseen := 0, 0
	var lines strings.Builder
	for _, s := range e.Open {
		if s.isUnseen() {
			unseen++
			continue
		}
		if s.hasFailed() {
			failures++
		}
		fmt.Fprintf(&lines, "\n  %s", describe(s, e.Time))
	}
	open := len(e.Open) - unseen
	switch {
	case open == 0 && unseen > 0:
		return fmt.Sprintf("%d of %d objects were not looked at: %v", unseen, e.Total, e.Cause)
	case unseen == 1:
		lines.WriteString("\n  1 object was not looked at")
	case unseen > 1:
		fmt.Fprintf(&lines, "\n  %d objects were not looked at", unseen)
	}
	text := fmt.Sprintf("%d of %d objects are not done: %v%s", open, e.Total, e.Cause, &lines)
	switch {
	case failures == 0 || failures == open:
		return text
	case failures == 1:
		return "1 object failed; " + text
	}
	return fmt.Sprintf("%d objects failed; %s", failures, text)
}

// String returns the state on one line, as of its time:
// `Pod shop/web: InProgress for 12s, PodPending: Pod is in the Pending phase`.
func (s State) String() string { return describe(s, s.Time) }

// describe returns a state on one line, as of a time. What is not printable is escaped.
func describe(s State, now time.Time) string {
	line := s.Ref.String() + ": " + string(s.Result.Status)
	if notes := s.notes(); len(notes) > 0 {
		line += " (" + strings.Join(notes, ", ") + ")"
	}
	if d := now.Sub(s.Since).Round(time.Second); d > 0 && !s.Since.IsZero() {
		line += " for " + d.String()
	}
	if s.Result.Reason != "" {
		line += ", " + s.Result.Reason
	}
	if m := s.Result.Message(); m != "" {
		line += ": " + m
	}
	if s.Err != nil && printable.Line(s.Err.Error()) != s.Result.Message() {
		line += " (" + s.Err.Error() + ")"
	}
	return printable.Line(line)
}

// notes returns what is written behind the status.
func (s State) notes() (notes []string) {
	for _, note := range []struct {
		holds bool
		text  string
	}{
		{s.Result.Suspended, "suspended"},
		{s.wanted != "" && s.wanted != kstatus.Current && s.phase != reached, "want " + string(s.wanted)},
		{s.isHeld(), "held, it rests on " + s.Result.Basis.String()},
		{s.phase == missing, "missing for too long"},
		{s.phase == timedOut, "timed out"},
	} {
		if note.holds {
			notes = append(notes, note.text)
		}
	}
	return notes
}
