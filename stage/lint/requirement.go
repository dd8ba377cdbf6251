package lint

import (
	"maps"
	"slices"

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

// requirementsOf reads the requirements of a selector. It leaves out CEL, and jq that is not a
// path.
func requirementsOf(s *v1alpha1.StageSelector) []requirement {
	if s == nil {
		return nil
	}
	list := mapRequirements("spec.selector.matchLabels", "labels", s.MatchLabels)
	list = append(list, mapRequirements("spec.selector.matchAnnotations", "annotations", s.MatchAnnotations)...)
	for i, e := range s.MatchExpressions {
		at := position.Index("spec.selector.matchExpressions", i)
		jq := &v1alpha1.SelectorJQ{Key: e.Key, Operator: e.Operator, Values: e.Values}
		if e.JQ != nil {
			jq, at = e.JQ, at+".jq"
		}
		p, ok := parsePath(jq.Key)
		if ok && (e.JQ != nil || e.Key != "") && slices.Contains(operators, jq.Operator) {
			list = append(list, requirement{at, jq.Key, p, jq.Operator, jq.Values, p.String()})
		}
	}
	return list
}

// operators are the ones that compile.
var operators = []v1alpha1.SelectorOperator{v1alpha1.SelectorOpIn, v1alpha1.SelectorOpNotIn, v1alpha1.SelectorOpExists, v1alpha1.SelectorOpDoesNotExist}

func mapRequirements(at, field string, want map[string]string) []requirement {
	var list []requirement
	for _, name := range slices.Sorted(maps.Keys(want)) {
		p := path{{field: "metadata", index: -1}, {field: field, index: -1}, {field: name, index: -1}}
		list = append(list, requirement{position.Field(at, name), field + "[" + name + "]", p, v1alpha1.SelectorOpIn, []string{want[name]}, p.String()})
	}
	return list
}

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
	sel := other.spec.Selector
	if sel == nil || len(other.requirements) != len(sel.MatchLabels)+len(sel.MatchAnnotations)+len(sel.MatchExpressions) {
		return false // some of its requirements cannot be read
	}
	return !slices.ContainsFunc(other.requirements, func(want requirement) bool {
		return !slices.ContainsFunc(s.requirements, func(r requirement) bool { return r.implies(want) })
	})
}
