package stage

import (
	"errors"
	"fmt"
	"strings"

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

// Error is a fault in the definition of a Stage, or in its file. An Error with a Key is about a
// part of a sound Stage that failed on an object.
type Error struct {
	Key      Key      // the object on which the Stage failed; zero if the definition is at fault
	Position Position // the place of the fault; zero if the Stage did not come from text
	Stage    string   // metadata.name of the Stage; "" if the fault is in no Stage or it has no name
	Path     string   // the field, such as spec.selector.matchExpressions[1].cel.expression
	Warning  bool     // whether the fault leaves the Stage usable
	Err      error    // what is wrong

	lenient bool // a warning if Options.Lenient, else an error
}

// Error prints `file:line:col: stage "name": field.path: what is wrong`, without unknown parts. If
// the Error has a Key, the object replaces the position.
func (e *Error) Error() string {
	subject := ""
	if e.Stage != "" {
		subject = fmt.Sprintf("stage %q", e.Stage)
	}
	if e.Key != (Key{}) {
		subject = strings.TrimSuffix(e.Key.String()+": "+subject, ": ")
	}
	return position.Line(position.Position(e.Position), e.Warning, subject, e.Path, e.Err)
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Errors is every fault of a set of Stages, in the order of the sources. [Compile] returns it.
type Errors []*Error

// Error prints one fault a line.
func (e Errors) Error() string { return position.Lines(e) }

// Unwrap returns the faults.
func (e Errors) Unwrap() []error { return position.Unwrapped(e) }

// ErrLivelock is returned for an object on which Stages are played repeatedly while no time passes.
// The Engine parks the object until it changes.
var ErrLivelock = errors.New("livelock: stages follow one another without delay; the object is parked until it changes")
