package expression

import (
	"fmt"
	"slices"
	"time"

	"github.com/stagecraft-go/stagecraft/internal/cel"
)

// CEL is a compiled CEL expression. It is immutable and safe for concurrent use.
type CEL struct{ program *cel.Program }

// Draws reports whether the result depends on Scope.Seed.
func (p *CEL) Draws() bool { return slices.Contains(p.program.Variables(), randVariable) }

// Bool evaluates the expression. A missing key, a wrong type, a result that is not a bool, and an
// exceeded limit are errors.
func (p *CEL) Bool(s *Scope) (bool, error) {
	s.draws = 0
	return p.program.Bool((*activation)(s))
}

// Value evaluates the expression. The result is a bool, string, int64, uint64, float64,
// time.Duration or time.Time; any other is an error, as for Bool.
func (p *CEL) Value(s *Scope) (any, error) {
	s.draws = 0
	out, err := p.program.Eval((*activation)(s))
	if err != nil {
		return nil, err
	}
	switch v := out.Value().(type) {
	case bool, string, int64, uint64, float64, time.Duration, time.Time:
		return v, nil
	}
	return nil, fmt.Errorf("the result is %s, not a single value", out.Type().TypeName())
}
