// Package position finds the place of a fault in its source: file, line and column of a YAML or
// JSON document, of a field, and of a token inside the text of a field. It reads YAML.
//
// # Terminology
//
// A path names a field the way kubectl prints it: `spec.steps[0].patch.template`; a key that is not
// a plain name is quoted: `metadata.labels["a/b"]`. Lines and columns count from 1, columns and
// offsets in bytes; 0 means unknown.
//
// # Concurrency
//
// A Document is immutable and safe for concurrent use; the other types are plain data.
package position

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/stagecraft-go/stagecraft/internal/printable"
)

// Position is a place in a file. The zero value means unknown.
type Position struct {
	File   string
	Line   int // from 1; 0 means unknown
	Column int // in bytes, from 1; 0 means unknown
}

// IsValid reports whether the line is known.
func (p Position) IsValid() bool { return p.Line > 0 }

// String prints file:line:col, leaving out what is unknown.
func (p Position) String() string {
	s := p.File
	for _, n := range []int{p.Line, p.Column} {
		if n == 0 {
			break
		}
		if s != "" {
			s += ":"
		}
		s += strconv.Itoa(n)
	}
	return s
}

// Line prints `file:line:col: warning: subject: path: what is wrong`, leaving out what is unknown or
// empty, in one printable line.
func Line(at Position, warning bool, subject, path string, err error) string {
	var b strings.Builder
	for _, part := range []string{at.String(), warningText[warning], subject, path} {
		if part != "" {
			b.WriteString(part + ": ")
		}
	}
	b.WriteString(printable.Error(err))
	return b.String()
}

var warningText = map[bool]string{true: "warning"}

// Error is a fault in one field of a definition. It has no position in a file yet.
type Error struct {
	// Path is the field, relative to the compiled definition; empty for the whole definition.
	Path string
	// Offset is the position of the fault in the text of the field, in bytes; -1 for the whole
	// field, or AtKey.
	Offset int
	// Warning reports whether a lenient caller can use the definition in spite of the fault.
	Warning bool
	// Err says what is wrong.
	Err error
}

// AtKey is the Offset of a fault that is the name of the field, not its value.
const AtKey = -2

// Error prints "path: what is wrong".
func (e *Error) Error() string {
	if e.Path == "" {
		return e.Err.Error()
	}
	return e.Path + ": " + e.Err.Error()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Below lists the Errors that err joins as faults of the field path, or of fields below it.
func Below(path string, err error) []*Error {
	faults := All(err)
	for i, e := range faults {
		below := *e
		below.Path = Join(path, e.Path)
		faults[i] = &below
	}
	return faults
}

// All lists the Errors that err joins, in order.
func All(err error) []*Error {
	switch err := err.(type) {
	case nil:
		return nil
	case *Error:
		return []*Error{err}
	case interface{ Unwrap() []error }:
		var all []*Error
		for _, e := range err.Unwrap() {
			all = append(all, All(e)...)
		}
		return all
	default:
		return []*Error{{Offset: -1, Err: err}}
	}
}

// Convert joins the Errors that err joins, each as another type.
func Convert(err error, as func(*Error) error) error {
	var converted []error
	for _, e := range All(err) {
		converted = append(converted, as(e))
	}
	return errors.Join(converted...)
}

// Faults collects the Errors of a compilation. The zero value is empty.
type Faults struct {
	errs  []error
	fatal bool
}

// Add records faults.
func (f *Faults) Add(faults ...*Error) {
	for _, e := range faults {
		f.errs = append(f.errs, e)
		f.fatal = f.fatal || !e.Warning
	}
}

// Addf records a fault of the whole field path.
func (f *Faults) Addf(path, format string, args ...any) {
	f.Add(&Error{Path: path, Offset: -1, Err: fmt.Errorf(format, args...)})
}

// Fatal reports whether a fault is not a warning.
func (f *Faults) Fatal() bool { return f.fatal }

// Err joins the faults; it is nil without faults.
func (f *Faults) Err() error { return errors.Join(f.errs...) }
