// Package selector decides whether an object meets the selector of a Stage: labels, annotations, and expressions in jq
// and CEL, all compiled before the first object is seen.
//
// # Usage
//
//	sel, err := selector.Compile(stage.Spec.Selector, nil)
//	if err != nil {
//		return err // every fault, each with its path
//	}
//	if sel.Match(obj, time.Now()) { … }
//
// A [Family] is for many selectors and one object: what several of them ask is answered once.
//
// # Semantics
//
// All requirements must hold: labels, then annotations, then expressions in the order given. A nil StageSelector
// matches nothing, an empty one everything. The outputs of a jq program, nulls dropped, are compared by operator:
//
//   - In: some output is a string, bool or number that is written like one of the values (the number 3 is "3").
//   - NotIn: not In.
//   - Exists: there is an output; "", [] and false exist.
//   - DoesNotExist: not Exists.
//
// A jq program that fails has no output; a CEL expression that fails, or whose result is not a bool, makes its
// requirement false. Neither hides the other requirements, and [Selector.Explain] shows both.
//
// # Concurrency
//
// A Selector and a Family are immutable and safe for concurrent use; a Look belongs to one goroutine.
//
// # Compatibility
//
// The behaviour is kwok's, with the differences listed in the documentation of package stage.
package selector

import (
	"fmt"
	"time"

	"github.com/stagecraft-go/stagecraft/internal/expr"
	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/internal/position"
)

// Error is one fault of a selector: Path (the field, relative to the selector), Offset (the byte in the text of the
// expression, -1 if unknown), Err, and Warning (the selector works, but cannot be meant).
type Error = position.Error

// A Selector is a compiled StageSelector. It is immutable and safe for concurrent use.
type Selector struct {
	requirements []requirement // nil: matches nothing
}

// A requirement is one condition on an object.
type requirement interface {
	// holds reports whether the requirement is met.
	holds(s *expr.Scope) bool
	// explain evaluates like holds and tells what was seen.
	explain(s *expr.Scope) Requirement
	// sharing tells what requirements may share, and which come first.
	sharing() sharing
}

// sharing is how a requirement is to others. Those with the same question have the same answer, or, if negated, the contrary; an empty question is
// like no other.
type sharing struct {
	question string
	negated  bool
	work     expr.Work
}

// Requirement tells how one requirement of a selector fared with an object.
type Requirement struct {
	Path string // the field of the selector
	Text string // the requirement in words, such as `.status.phase In [Running]`
	Seen []any  // the values found in the object, empty if none; of CEL one for each field that it names, nil where there is none
	OK   bool   // whether it holds
	Err  error  // the run-time error that was swallowed, if any
}

// Match reports whether obj, a JSON object, meets the selector at the time now. It neither changes nor keeps obj.
func (s *Selector) Match(obj map[string]any, now time.Time) bool {
	return s.Eval(expr.NewScope(obj, now))
}

// Eval is Match on an object that is already prepared, for the other packages of this module.
func (s *Selector) Eval(scope *expr.Scope) bool {
	for _, r := range s.requirements {
		if !r.holds(scope) {
			return false
		}
	}
	return s.requirements != nil
}

// Explain evaluates every requirement, also those after the first that fails.
func (s *Selector) Explain(obj map[string]any, now time.Time) []Requirement {
	return s.ExplainEval(expr.NewScope(obj, now))
}

// ExplainEval is Explain on an object that is already prepared, for the other packages of this module.
func (s *Selector) ExplainEval(scope *expr.Scope) []Requirement {
	seen := make([]Requirement, 0, len(s.requirements))
	for _, r := range s.requirements {
		seen = append(seen, r.explain(scope))
	}
	return seen
}

// entry is a requirement on a label or an annotation.
type entry struct {
	field, key, value string // field is labels or annotations
}

func (e entry) get(obj map[string]any) (string, bool) {
	return object.String(obj, "metadata", e.field, e.key)
}

func (e entry) holds(s *expr.Scope) bool {
	got, ok := e.get(s.Object)
	return ok && got == e.value
}

func (e entry) sharing() sharing {
	return sharing{question: fmt.Sprintf("%s[%q]=%q", e.field, e.key, e.value)}
}

func (e entry) explain(s *expr.Scope) Requirement {
	r := Requirement{Path: position.Field(paths[e.field], e.key), Text: e.field + "[" + e.key + "] = " + e.value, OK: e.holds(s)}
	if got, ok := e.get(s.Object); ok {
		r.Seen = []any{got}
	}
	return r
}

// paths names the selector's field for a field of the metadata.
var paths = map[string]string{"labels": "matchLabels", "annotations": "matchAnnotations"}
