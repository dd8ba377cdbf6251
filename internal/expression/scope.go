package expr

import "time"

// Scope is one object, prepared for the evaluations of one moment. It keeps what evaluations share, so use one Scope
// for all expressions on an object, and Reset to use it for the next.
//
// A Scope must not be used from several goroutines at once. It reads the object and never changes it; the object must
// not change before Reset. Fields may be set between evaluations.
type Scope struct {
	// Object is the input of jq and the variable self of CEL.
	Object map[string]any
	// Now is the time that jq `now` and CEL `Now()` give.
	Now time.Time
	// Seed makes the numbers of CEL `Rand()`. Give each expression its own, or equal draws are equal numbers.
	Seed uint64
	// Values are further CEL variables; "self" in it hides Object. A variable that is not there is an error at run time.
	Values map[string]any

	input  any // Object as gojq takes it, once needed
	ready  bool
	roots  [roots]rootValue
	run    run
	bound  [maxNesting]any // the variables of the macros around, in native CEL
	meter  meter
	budget budget
	draws  uint64 // of Rand in this evaluation
}

// NewScope returns a Scope for the object; Seed is 0 and Values is nil.
func NewScope(obj map[string]any, now time.Time) *Scope {
	return &Scope{Object: obj, Now: now}
}

// Reset makes s a Scope for another object, as NewScope does, keeping allocated memory.
func (s *Scope) Reset(obj map[string]any, now time.Time) {
	outputs := s.run.outputs
	if outputs == nil {
		outputs = make([]any, 0, 8)
	}
	clear(outputs[:cap(outputs)])
	*s = Scope{Object: obj, Now: now, run: run{outputs: outputs[:0]}}
}

// normal returns the object for gojq. gojq never changes its input in place, so programs can share it.
func (s *Scope) normal() any {
	if !s.ready {
		s.input, s.ready = normal(s.Object), true
	}
	return s.input
}

// unixSeconds is how jq gives a time.
func unixSeconds(t time.Time) float64 {
	return float64(t.Unix()) + float64(t.Nanosecond())/1e9
}
