package scheduling

import (
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
)

// A selector is a list of requirements for labels, which is read once and matched with many
// objects. A selector without requirements matches everything, unlike the selector of a workload.
type selector struct {
	requirements []requirement
	nothing      bool // the selector is missing, and matches nothing
}

// A requirement is one of a label selector or of a node selector.
type requirement struct {
	key, operator string
	values        []string
}

// readSelector reads a metav1.LabelSelector. A missing selector matches nothing.
func readSelector(m map[string]any) selector {
	if m == nil {
		return selector{nothing: true}
	}
	s := selector{requirements: exactly(fields.Map(m, "matchLabels"))}
	s.requirements = append(s.requirements, readRequirements(m, "matchExpressions")...)
	return s
}

// exactly requires all of some labels.
func exactly(wanted map[string]any) (all []requirement) {
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		value, _ := wanted[key].(string)
		all = append(all, requirement{key, "In", []string{value}})
	}
	return all
}

func readRequirements(m map[string]any, field string) (all []requirement) {
	for _, r := range fields.Maps(m, field) {
		values, _ := object.Strings(r, "values")
		all = append(all, requirement{fields.String(r, "key"), fields.String(r, "operator"), values})
	}
	return all
}

// isEmpty reports whether the selector has no requirement.
func (s selector) isEmpty() bool { return !s.nothing && len(s.requirements) == 0 }

func (s selector) matches(labels map[string]any) bool {
	return !s.nothing && matchesAll(s.requirements, labels)
}

func matchesAll(requirements []requirement, labels map[string]any) bool {
	for i := range requirements {
		if !requirements[i].matches(labels) {
			return false
		}
	}
	return true
}

func (r *requirement) matches(labels map[string]any) bool {
	value, has := labels[r.key].(string)
	switch r.operator {
	case "In":
		return has && slices.Contains(r.values, value)
	case "NotIn":
		return !has || !slices.Contains(r.values, value)
	case "Exists":
		return has
	case "DoesNotExist":
		return !has
	case "Gt", "Lt":
		return has && r.compare(value)
	}
	return false
}

// compare is for the operators Gt and Lt, which only node selectors have.
func (r *requirement) compare(value string) bool {
	if len(r.values) != 1 {
		return false
	}
	have, errHave := strconv.ParseInt(value, 10, 64)
	bound, errBound := strconv.ParseInt(r.values[0], 10, 64)
	return errHave == nil && errBound == nil && (r.operator == "Gt" && have > bound || r.operator == "Lt" && have < bound)
}

// A nodeTerm is one term of a node selector.
type nodeTerm struct {
	onLabels, onFields []requirement
	weight             int64 // of a preferred term
}

func readNodeTerm(m map[string]any) nodeTerm {
	return nodeTerm{onLabels: readRequirements(m, "matchExpressions"), onFields: readRequirements(m, "matchFields")}
}

func readNodeTerms(m map[string]any, field string) (terms []nodeTerm) {
	for _, term := range fields.Maps(m, field) {
		terms = append(terms, readNodeTerm(term))
	}
	return terms
}

// matches reports whether the term matches a Node. An empty term matches nothing.
func (t *nodeTerm) matches(name string, labels map[string]any) bool {
	if len(t.onLabels)+len(t.onFields) == 0 || !matchesAll(t.onLabels, labels) {
		return false
	}
	return len(t.onFields) == 0 || matchesAll(t.onFields, map[string]any{"metadata.name": name})
}

func labelsOf(obj *unstructured.Unstructured) map[string]any {
	return fields.Map(obj.Object, "metadata", "labels")
}
