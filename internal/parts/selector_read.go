package parts

import (
	"maps"
	"slices"
	"strconv"

	"github.com/stagecraft-go/stagecraft/internal/expression"
	"github.com/stagecraft-go/stagecraft/internal/position"
	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

// A WrittenRequirement is a requirement in the text of a Stage, whether it compiles or not. It is
// on a label or an annotation, or it is a jq program or a CEL expression.
type WrittenRequirement struct {
	// Path is the field, relative to the selector, such as matchLabels.app or matchExpressions[0].jq.
	Path string
	// Entries is labels or annotations if the requirement is on an entry of them, which Key names.
	// Operator is In then, and Values is one value. Else it is "".
	Entries string
	// Source is the jq program or the CEL expression. Its Path is also relative to the selector,
	// and its Text is "" without an expression.
	Source expression.Source
	// Key is the jq program or the name of the entry; "" of CEL.
	Key      string
	Operator v1alpha1.SelectorOperator // "" of CEL
	Values   []string

	conflict string // the path of an expression in both languages
}

// ReadSelector returns the requirements of a selector in their order. No other code reads the fields of a
// StageSelector. A nil StageSelector has no requirements, and matches nothing.
func ReadSelector(s *v1alpha1.StageSelector) []WrittenRequirement {
	if s == nil {
		return nil
	}
	all := slices.Concat(entries("labels", s.MatchLabels), entries("annotations", s.MatchAnnotations))
	for i, e := range s.MatchExpressions {
		all = append(all, read(position.Index("matchExpressions", i), e))
	}
	return all
}

// NoSelector reports whether a Stage with the selector matches nothing, because it has none.
func NoSelector(s *v1alpha1.StageSelector) bool { return s == nil }

func entries(field string, want map[string]string) []WrittenRequirement {
	var all []WrittenRequirement
	for _, key := range slices.Sorted(maps.Keys(want)) {
		all = append(all, WrittenRequirement{Path: position.Field(paths[field], key), Entries: field, Key: key, Operator: v1alpha1.SelectorOpIn, Values: []string{want[key]}})
	}
	return all
}

// read reads a match expression. If it has both languages, jq counts, as in kwok.
func read(path string, e v1alpha1.MatchExpression) WrittenRequirement {
	jq, at := e.JQ, path+".jq"
	if jq == nil && (e.Key != "" || e.Operator != "" || len(e.Values) > 0) {
		jq, at = &v1alpha1.SelectorJQ{Key: e.Key, Operator: e.Operator, Values: e.Values}, path
	}
	w := WrittenRequirement{Path: path}
	if jq != nil && e.CEL != nil {
		w.conflict = path
	}
	switch {
	case jq != nil:
		w.Path, w.Key, w.Operator, w.Values = at, jq.Key, jq.Operator, jq.Values
		w.Source = expression.Source{Path: at + ".key", Text: jq.Key}
	case e.CEL != nil:
		w.Source = expression.Source{Path: path + ".cel.expression", Text: e.CEL.Expression, CEL: true}
	}
	return w
}

// operatorFault returns the field and the fault of an invalid operator, or of invalid values.
func (w WrittenRequirement) operatorFault() (field, fault string) {
	switch w.Operator {
	case v1alpha1.SelectorOpIn, v1alpha1.SelectorOpNotIn:
		if len(w.Values) == 0 {
			return "values", string(w.Operator) + " needs at least one value"
		}
	case v1alpha1.SelectorOpExists, v1alpha1.SelectorOpDoesNotExist:
		if len(w.Values) > 0 {
			return "values", string(w.Operator) + " takes no values"
		}
	case "":
		return "operator", "missing; want In, NotIn, Exists or DoesNotExist"
	default:
		return "operator", "unknown operator " + strconv.Quote(string(w.Operator)) + "; want In, NotIn, Exists or DoesNotExist"
	}
	return "", ""
}
