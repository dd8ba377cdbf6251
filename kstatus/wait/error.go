package wait

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Causes of an [Error], besides those of a context.
var (
	ErrFailed   = errors.New("objects failed")
	ErrTimedOut = errors.New("objects took too long")
)

// An Error says why a wait ended early, and what it still waited for. errors.Is finds the cause.
type Error struct {
	Cause error     // ErrFailed, ErrTimedOut, or why the context ended
	Open  []State   // the objects that had not reached their goal, in the order in which they were asked for
	Total int       // of all objects
	Time  time.Time // when the wait ended
}

func newError(c *Collector, cause error) *Error {
	return &Error{Cause: cause, Open: slices.Collect(c.Open()), Total: len(c.states), Time: time.Now()}
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Error has a line for each open object: what it is, its status and since when, why.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d objects are not ready: %v", len(e.Open), e.Total, e.Cause)
	for _, s := range e.Open {
		fmt.Fprintf(&b, "\n  %s", describe(s, e.Time))
	}
	return b.String()
}

// describe is a state on one line.
func describe(s State, now time.Time) string {
	line := s.Ref.String() + ": " + string(s.Result.Status)
	if s.Result.Suspended {
		line += " (suspended)"
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
	if s.Err != nil && s.Err.Error() != s.Result.Message() {
		line += " (" + s.Err.Error() + ")"
	}
	return clean(line)
}

// clean replaces what would break a line or steer a terminal.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, s)
}
