package celrule

import (
	"github.com/stagecraft-go/stagecraft/internal/position"
)

// Position is a place in a file, counted from 1, columns in bytes. Zero numbers are unknown.
type Position struct {
	File   string
	Line   int
	Column int
}

// String prints file:line:col, leaving out what is unknown.
func (p Position) String() string { return position.Position(p).String() }

// Error is a fault in a Spec, or in the file that holds it.
type Error struct {
	Position Position // zero if the Spec did not come from text
	Path     string   // the field, such as rules[1].current
	Err      error    // what is wrong
}

// Error prints `file:line:col: field.path: what is wrong`, leaving out what is unknown.
func (e *Error) Error() string {
	return position.Line(position.Position(e.Position), false, "", e.Path, e.Err)
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Errors are all faults that were found, in order. [Parse] and [Compile] return it.
type Errors []*Error

// Error prints one fault a line.
func (e Errors) Error() string { return position.Lines(e) }

// Unwrap returns the faults.
func (e Errors) Unwrap() []error { return position.Unwrapped(e) }
