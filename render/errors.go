package render

import (
	"errors"
	"fmt"
	"strings"
	"text/template"

	"github.com/stagecraft-go/stagecraft/internal/position"
)

// ErrLimit is wrapped by the error of a rendering that exceeds Options.Steps or Options.Output, or
// that calls a function whose cost exceeds the remaining steps.
var ErrLimit = errors.New("limit exceeded")

// Error is a fault of a template. Compile found it, or it ended a rendering.
type Error struct {
	// Offset is the byte of the fault in the text of the template, or -1 if the fault has no single
	// place.
	Offset int
	// Line and Column are the same place. Both count from 1, columns in bytes; 0 is unknown.
	Line, Column int
	// Err says what is wrong.
	Err error
}

// Error prints "line:column: what is wrong", or "what is wrong" if the place is unknown.
func (e *Error) Error() string {
	if e.Offset < 0 {
		return e.Err.Error()
	}
	return fmt.Sprintf("%d:%d: %v", e.Line, e.Column, e.Err)
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

func unplaced(err error) *Error { return &Error{Offset: -1, Err: err} }

// errorAt is a fault at a byte of the text.
func (t *Template) errorAt(offset int, err error) *Error {
	offset = min(offset, len(t.text))
	line, column := place(t.text, offset)
	return &Error{Offset: offset, Line: line, Column: column, Err: err}
}

// reworded is an error with a shorter text than the error that it wraps.
type reworded struct {
	text string
	err  error
}

func (e *reworded) Error() string { return e.text }
func (e *reworded) Unwrap() error { return e.err }

// limitError says which limit a rendering exceeded; errors.Is(err, ErrLimit) is true.
type limitError struct {
	limit int
	unit  string
}

func (e *limitError) Error() string        { return fmt.Sprintf("needs more than %d %s", e.limit, e.unit) }
func (e *limitError) Is(target error) bool { return target == ErrLimit }

// fault turns an error of text/template into an Error. That package gives the place only in the
// text of its errors, after the name that we gave the template.
func (t *Template) fault(err error) *Error {
	var exec template.ExecError
	if !errors.As(err, &exec) {
		return unplaced(err)
	}
	var line, column int
	if _, err := fmt.Sscanf(exec.Error(), "template: "+rootName+":%d:%d:", &line, &column); err != nil {
		return unplaced(shorten(exec))
	}
	return t.errorAt(offsetOf(t.text, line+strings.Count(t.text[:t.start], "\n"), column), shorten(exec))
}

// shorten removes from the text the place, which Error has in fields, and the names of our own
// functions.
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

// yamlError quotes the faulty line of the rendered text, because the user sees only the template.
func (t *Template) yamlError(text string, err error) error {
	var syntax *position.YAMLError
	switch {
	case errors.Is(err, position.ErrTooLarge):
		return fmt.Errorf("yaml: %w", &limitError{t.options.Output, "bytes of values"})
	case errors.As(err, &syntax) && syntax.Line > 0:
		shown := fmt.Sprintf("yaml: rendered line %d, %q: %s", syntax.Line, lineOf(text, syntax.Line, 120), syntax.What)
		return &reworded{shown, err}
	}
	return err
}

func leadingSpace(text string) int {
	return len(text) - len(strings.TrimLeft(text, " \t\r\n\v\f\u0085\u00a0"))
}

// offsetOf is the byte at line, from 1, and column, from 0; for a missing line, the end of text.
func offsetOf(text string, line, column int) int {
	offset := 0
	for ; line > 1; line-- {
		i := strings.IndexByte(text[offset:], '\n')
		if i < 0 {
			return len(text)
		}
		offset += i + 1
	}
	return min(offset+column, len(text))
}

// place is the line and column, both from 1, of a byte.
func place(text string, offset int) (line, column int) {
	before := text[:offset]
	return 1 + strings.Count(before, "\n"), offset - strings.LastIndexByte(before, '\n')
}

// lineOf is the text of a line, from 1, without its end and not longer than width bytes.
func lineOf(text string, line, width int) string {
	rest := text[offsetOf(text, line, 0):]
	rest, _, _ = strings.Cut(rest, "\n")
	if len(rest) > width {
		return rest[:width] + "…"
	}
	return rest
}
