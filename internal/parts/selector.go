package parts

import (
	"fmt"

	"github.com/stagecraft-go/stagecraft/internal/expression"
	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/internal/position"
)

// A Selector is a compiled StageSelector. It is immutable and safe for concurrent use.
type Selector struct {
	requirements []requirement // nil: matches nothing
}

// A requirement is one condition on an object.
type requirement interface {
	// holds reports whether the requirement is met.
	holds(s *expression.Scope) bool
	// rank is higher the more work it takes.
	rank() int
	// key is the same for requirements that have the same answer; "" if that depends on more than
	// the object and the time.
	key() string
	// explain evaluates like holds and tells what was seen.
	explain(s *expression.Scope) Requirement
}

// Requirement is a selector.Requirement.
type Requirement struct {
	Path string // the field of the selector
	Text string // the requirement in words, such as `.status.phase In [Running]`
	Seen []any  // the values found in the object, or empty; for CEL one for each field that the expression names, nil for a missing field
	OK   bool   // whether it holds
	Err  error  // the run-time error that was ignored, or nil
}

// MatchesNothing reports whether the Stage has no selector.
func (s *Selector) MatchesNothing() bool { return s.requirements == nil }

// Match reports whether an object meets the selector.
func (s *Selector) Match(scope *expression.Scope) bool {
	for _, r := range s.requirements {
		if !r.holds(scope) {
			return false
		}
	}
	return s.requirements != nil
}

// Explain evaluates every requirement, even after one fails.
func (s *Selector) Explain(scope *expression.Scope) []Requirement {
	seen := make([]Requirement, 0, len(s.requirements))
	for _, r := range s.requirements {
		seen = append(seen, r.explain(scope))
	}
	return seen
}

// entry is a requirement on a label or an annotation.
type entry struct {
	field, name, value string // field is labels or annotations
}

func (e entry) get(obj map[string]any) (string, bool) {
	return object.String(obj, "metadata", e.field, e.name)
}

func (e entry) holds(s *expression.Scope) bool {
	got, ok := e.get(s.Object)
	return ok && got == e.value
}

func (e entry) rank() int { return 0 }

func (e entry) key() string { return fmt.Sprintf("%s[%q]=%q", e.field, e.name, e.value) }

func (e entry) explain(s *expression.Scope) Requirement {
	r := Requirement{Path: position.Field(paths[e.field], e.name), Text: e.field + "[" + e.name + "] = " + e.value, OK: e.holds(s)}
	if got, ok := e.get(s.Object); ok {
		r.Seen = []any{got}
	}
	return r
}

// paths names the selector's field for a field of the metadata.
var paths = map[string]string{"labels": "matchLabels", "annotations": "matchAnnotations"}
