package lint

import (
	"slices"

	"github.com/stagecraft-go/stagecraft/internal/parts"
	"github.com/stagecraft-go/stagecraft/internal/position"
	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

// A requirement is a part of a selector that compares a path with values. Requirements on labels
// and annotations are paths as well.
type requirement struct {
	at       string // the field of the Stage
	text     string // the path as it is written
	path     path
	operator v1alpha1.SelectorOperator
	values   []string
	key      string // the path in its canonical form
}

// requirementsOf returns the requirements of a selector that compare a path. It leaves out CEL, and jq
// that is not a path.
func requirementsOf(selector []parts.WrittenRequirement) []requirement {
	var list []requirement
	for _, w := range selector {
		if r, ok := requirementOf(w); ok {
			r.key = r.path.String()
			list = append(list, r)
		}
	}
	return list
}

func requirementOf(w parts.WrittenRequirement) (requirement, bool) {
	r := requirement{at: position.Join("spec.selector", w.Path), text: w.Key, operator: w.Operator, values: w.Values}
	if w.Entries != "" {
		r.text = w.Entries + "[" + w.Key + "]"
		r.path = path{{field: "metadata", index: -1}, {field: w.Entries, index: -1}, {field: w.Key, index: -1}}
		return r, true
	}
	p, ok := parsePath(w.Key)
	r.path = p
	return r, ok && w.Source.Path != "" && slices.Contains(operators, w.Operator)
}

// operators are the valid operators.
var operators = []v1alpha1.SelectorOperator{v1alpha1.SelectorOpIn, v1alpha1.SelectorOpNotIn, v1alpha1.SelectorOpExists, v1alpha1.SelectorOpDoesNotExist}

// implies reports whether every object that meets r meets other.
func (r requirement) implies(other requirement) bool {
	if r.key != other.key {
		return false
	}
	switch other.operator {
	case v1alpha1.SelectorOpIn:
		return r.operator == v1alpha1.SelectorOpIn && subset(r.values, other.values)
	case v1alpha1.SelectorOpNotIn:
		none := r.operator == v1alpha1.SelectorOpDoesNotExist || r.operator == v1alpha1.SelectorOpNotIn && subset(other.values, r.values)
		return none || r.operator == v1alpha1.SelectorOpIn && !r.path.hasMany() && disjoint(r.values, other.values)
	case v1alpha1.SelectorOpExists:
		return r.operator == v1alpha1.SelectorOpExists || r.operator == v1alpha1.SelectorOpIn
	default:
		return r.operator == v1alpha1.SelectorOpDoesNotExist
	}
}

// excludes reports whether no object meets both requirements.
func (r requirement) excludes(other requirement) bool {
	if r.key != other.key {
		return false
	}
	switch r.operator {
	case v1alpha1.SelectorOpIn:
		return other.operator == v1alpha1.SelectorOpDoesNotExist ||
			other.operator == v1alpha1.SelectorOpNotIn && subset(r.values, other.values) ||
			other.operator == v1alpha1.SelectorOpIn && !r.path.hasMany() && disjoint(r.values, other.values)
	case v1alpha1.SelectorOpExists:
		return other.operator == v1alpha1.SelectorOpDoesNotExist
	case v1alpha1.SelectorOpNotIn:
		return other.operator == v1alpha1.SelectorOpIn && subset(other.values, r.values)
	default:
		return other.operator == v1alpha1.SelectorOpExists || other.operator == v1alpha1.SelectorOpIn
	}
}

func subset(a, b []string) bool {
	return !slices.ContainsFunc(a, func(v string) bool { return !slices.Contains(b, v) })
}

func disjoint(a, b []string) bool {
	return !slices.ContainsFunc(a, func(v string) bool { return slices.Contains(b, v) })
}

// matchesWithin reports whether other matches every object that the Stage matches.
func (s *checkedStage) matchesWithin(other *checkedStage) bool {
	if !other.compiles || len(other.requirements) != len(other.selector) {
		return false // some of its requirements cannot be read
	}
	return !slices.ContainsFunc(other.requirements, func(want requirement) bool {
		return !slices.ContainsFunc(s.requirements, func(r requirement) bool { return r.implies(want) })
	})
}
