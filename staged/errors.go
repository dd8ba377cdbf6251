package staged

import (
	"fmt"

	"github.com/stagecraft-go/stagecraft/internal/position"
)

// Position is a place in a text: lines and columns count from 1, columns in bytes. Zero means
// unknown.
type Position struct {
	File   string
	Line   int
	Column int
}

// String prints file:line:col, without the parts that are unknown.
func (p Position) String() string { return position.Position(p).String() }

// Error is a fault in a StagedBindingPolicy, in the file that holds it, or in an [Expression].
type Error struct {
	Position Position // where the fault is; zero if the policy did not come from text
	Policy   string   // metadata.name; "" if unknown
	Path     string   // the field, such as spec.stages[1].condition; "" for an Expression
	Warning  bool     // whether the fault leaves the policy usable
	Err      error    // what is wrong
}

// Error prints `file:line:col: policy "name": field.path: what is wrong`, without the parts that
// are unknown.
func (e *Error) Error() string {
	subject := ""
	if e.Policy != "" {
		subject = fmt.Sprintf("policy %q", e.Policy)
	}
	return position.Line(position.Position(e.Position), e.Warning, subject, e.Path, e.Err)
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Errors is every fault of a set of policies, in the order of the sources, or of an expression.
// [Compile], [CompileFilter] and [CompileCondition] return it.
type Errors []*Error

// Error prints one fault a line.
func (e Errors) Error() string { return position.Lines(e) }

// Unwrap returns the faults, for errors.Is and errors.As.
func (e Errors) Unwrap() []error { return position.Unwrapped(e) }
