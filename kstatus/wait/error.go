package wait

import (
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
	Cause error     // why the context ended, and which of ErrFailed, ErrMissing and ErrTimedOut hold
	Open  []State   // the objects that had not reached their goal, in the order of the references
	Total int       // of all objects
	Time  time.Time // when the wait ended
}

func newError(c *Collector, cause error) *Error {
	return &Error{Cause: cause, Open: slices.Collect(c.Open()), Total: len(c.states), Time: time.Now()}
}

// causes are several causes of an error, of which the message is one line.
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

// Error returns a line for each open object: its name, its status and since when, and the reason.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d objects are not done: %v", len(e.Open), e.Total, e.Cause)
	for _, s := range e.Open {
		fmt.Fprintf(&b, "\n  %s", describe(s, e.Time))
	}
	return b.String()
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
		{s.phase == missing, "missing for too long"},
		{s.phase == timedOut, "timed out"},
	} {
		if note.holds {
			notes = append(notes, note.text)
		}
	}
	return notes
}
