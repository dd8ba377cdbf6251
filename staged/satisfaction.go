package staged

import (
	"fmt"

	"github.com/stagecraft-go/stagecraft/internal/printable"
	"github.com/stagecraft-go/stagecraft/staged/internal/eval"
)

// Satisfaction is the result of a condition, a filter or a guard. Only Satisfied lets a stage pass.
type Satisfaction int

// The results, worst first. An evaluation error or a missing status gives Unknown.
const (
	Unknown Satisfaction = iota
	Unsatisfied
	Satisfied
)

// String returns "unknown", "not satisfied" or "satisfied".
func (s Satisfaction) String() string { return [...]string{"unknown", "not satisfied", "satisfied"}[s] }

// A finding is a result and, unless it is Satisfied, the reason.
type finding struct {
	Satisfaction
	reason string
}

func unknown(format string, args ...any) finding {
	return finding{Unknown, printable.Text(fmt.Sprintf(format, args...))}
}

func unsatisfied(format string, args ...any) finding {
	return finding{Unsatisfied, printable.Text(fmt.Sprintf(format, args...))}
}

// evaluate evaluates an expression. An error is Unknown, never a no.
func evaluate(p *eval.Program, variables map[string]any) finding {
	found, _ := measure(p, variables)
	return found
}

// measure is evaluate, and returns how many steps it took.
func measure(p *eval.Program, variables map[string]any) (finding, int) {
	ok, steps, err := p.MeasuredBool(variables)
	switch {
	case err != nil:
		return unknown("%v", err), steps
	case !ok:
		return finding{Satisfaction: Unsatisfied}, steps
	}
	return finding{Satisfaction: Satisfied}, steps
}
