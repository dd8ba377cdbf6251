package render

import (
	"errors"
	"fmt"
	"strings"
	"text/template"
)

// ErrLimit is what errors.Is finds in the error of a rendering that went over Options.Steps or Options.Output, or
// that asked a function for more than the steps left.
var ErrLimit = errors.New("limit exceeded")

// Error is a rendering that failed. It prints "line:column: what is wrong", the place left out where it is unknown.
type Error struct {
	// Offset is the byte in the text of the template, or -1 if the fault is not at one place in it.
	Offset int
	// Line and Column are the same place, in the text of the template, both from 1, columns in bytes; 0 is unknown.
	Line, Column int
	// Err says what is wrong.
	Err error
}

// Error prints "line:column: what is wrong".
func (e *Error) Error() string {
	if e.Offset < 0 {
		return e.Err.Error()
	}
	return fmt.Sprintf("%d:%d: %v", e.Line, e.Column, e.Err)
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

func unplaced(err error) *Error { return &Error{Offset: -1, Err: err} }

// reworded is an error under a shorter text.
type reworded struct {
	text string
	err  error
}

func (e *reworded) Error() string { return e.text }
func (e *reworded) Unwrap() error { return e.err }

// limitError says which limit a rendering went over; errors.Is(err, ErrLimit) holds.
type limitError struct {
	limit int
	unit  string
}

func (e *limitError) Error() string        { return fmt.Sprintf("needs more than %d %s", e.limit, e.unit) }
func (e *limitError) Is(target error) bool { return target == ErrLimit }

// fault turns an error of text/template into an Error. That package gives the place as text only, after the name
// of the template, which is ours.
func (t *Template) fault(err error) *Error {
	var exec template.ExecError
	if !errors.As(err, &exec) {
		return unplaced(err)
	}
	e := &Error{Offset: -1, Err: shorten(exec)}
	var line, column int
	if _, err := fmt.Sscanf(exec.Error(), "template: "+rootName+":%d:%d:", &line, &column); err == nil {
		e.Offset = offsetOf(t.text, line+strings.Count(t.text[:t.start], "\n"), column)
		e.Line, e.Column = place(t.text, e.Offset)
	}
	return e
}

// shorten leaves out of the text what Error says better: the place, and the functions that we put in.
func shorten(err error) error {
	var limit *limitError
	if errors.As(err, &limit) {
		return limit
	}
	_, text, found := strings.Cut(err.Error(), " at <")
	if !found {
		return err
	}
	return &reworded{text: unnamed.Replace("<" + text), err: err}
}
