package kubestellar

import (
	"fmt"
	"strings"

	"github.com/stagecraft-go/stagecraft/internal/position"
)

// Error is a fault of a StatusCollector.
type Error struct {
	Path   string // the field, such as spec.select[0].def
	Line   int    // of the first fault in the text of an expression, from 1; 0: not known
	Column int    // in bytes, from 1; 0: not known
	Err    error  // what is wrong, in KubeStellar's words
}

// Error returns the text that KubeStellar writes into status.errors of the StatusCollector. It
// names the column, but neither Path nor position.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Errors is every fault of a StatusCollector, in KubeStellar's order. [Compile] returns it.
type Errors []*Error

// Error prints one fault a line.
func (e Errors) Error() string { return position.Lines(e) }

// Unwrap returns the faults, for errors.Is and errors.As.
func (e Errors) Unwrap() []error { return position.Unwrapped(e) }

func (e *Errors) add(path, format string, args ...any) {
	*e = append(*e, &Error{Path: path, Err: fmt.Errorf(format, args...)})
}

// addExpression adds the faults of an expression as one fault, with the position of the first.
func (e *Errors) addExpression(path, what, source string, err error) {
	fault := &Error{Path: path, Err: fmt.Errorf("%s invalid: %s", what, err)}
	if all := position.All(err); len(all) > 0 && all[0].Offset >= 0 && all[0].Offset <= len(source) {
		before := source[:all[0].Offset]
		fault.Line = 1 + strings.Count(before, "\n")
		fault.Column = len(before) - strings.LastIndex(before, "\n")
	}
	*e = append(*e, fault)
}
