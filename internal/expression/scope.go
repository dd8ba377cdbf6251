package expression

import (
	"time"

	googlecel "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"

	"github.com/stagecraft-go/stagecraft/internal/jq"
	"github.com/stagecraft-go/stagecraft/internal/random"
)

// Scope is one object, prepared for the evaluations of one moment. It keeps what evaluations share,
// so use one Scope for all expressions on an object, and Reset to use it for the next.
//
// A Scope must not be used from several goroutines at once. It reads the object and never changes
// it; the object must not change before Reset. Fields may be set between evaluations.
type Scope struct {
	// Object is the input of jq and the variable self of CEL.
	Object map[string]any
	// Now is the time that jq `now` and CEL `Now()` give.
	Now time.Time
	// Seed makes the numbers of CEL `Rand()`. Give each expression its own, or equal draws are
	// equal numbers.
	Seed uint64
	// Values are further CEL variables; "self" in it hides Object. A variable that is not there is
	// an error at run time.
	Values map[string]any

	input jq.Input
	draws uint64 // of Rand in this evaluation
}

// NewScope returns a Scope for the object; Seed is 0 and Values is nil.
func NewScope(obj map[string]any, now time.Time) *Scope {
	return &Scope{Object: obj, Now: now, input: jq.Input{Object: obj, Now: now}}
}

// Reset makes s a Scope for another object, as NewScope does, keeping allocated memory.
func (s *Scope) Reset(obj map[string]any, now time.Time) {
	s.Object, s.Now, s.Seed, s.Values = obj, now, 0, nil
	s.input.Reset(obj, now)
}

// JQ is the Scope as jq programs see it.
func (s *Scope) JQ() *jq.Input {
	s.input.Now = s.Now
	return &s.input
}

// activation is a Scope as CEL sees it. The names that begin with @ cannot be written in CEL;
// macros expand to them.
type activation Scope

// Parent returns nil: there are no further names.
func (a *activation) Parent() googlecel.Activation { return nil }

// ResolveName returns the value of a variable. Each look at @rand is a draw.
func (a *activation) ResolveName(name string) (any, bool) {
	if v, ok := a.Values[name]; ok {
		return v, true
	}
	switch name {
	case "self":
		return a.Object, true
	case nowVariable:
		return types.Timestamp{Time: a.Now}, true
	case randVariable:
		a.draws++
		return types.Double(draw(a.Seed, a.draws)), true
	}
	return nil, false
}

// draw is splitmix64 at the n-th place of the sequence of the seed, as a number in [0, 1).
func draw(seed, n uint64) float64 {
	return float64(random.Hash(seed+n*0x9e3779b97f4a7c15).Sum()>>11) / (1 << 53)
}
