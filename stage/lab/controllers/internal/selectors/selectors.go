// Package selectors matches labels with the selectors of workloads and with the requirements of
// node affinity.
package selectors

import (
	"errors"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// A Selector is a metav1.LabelSelector. An empty selector matches nothing here, because no workload
// may select all Pods.
type Selector struct {
	MatchLabels      map[string]any
	MatchExpressions []map[string]any
}

// Of reads spec.selector of an object. In a ReplicationController that is a map of labels.
func Of(obj *unstructured.Unstructured) Selector {
	if obj.GetKind() == kinds.ReplicationController.Kind {
		return Selector{MatchLabels: fields.Map(obj.Object, "spec", "selector")}
	}
	return Read(fields.Map(obj.Object, "spec", "selector"))
}

// Read reads a label selector.
func Read(m map[string]any) Selector {
	return Selector{MatchLabels: fields.Map(m, "matchLabels"), MatchExpressions: fields.Maps(m, "matchExpressions")}
}

// Labels returns the selector as one of apimachinery's, for an index. It is nil if nothing matches: if
// the selector is empty or not valid.
func (s Selector) Labels() labels.Selector {
	if s.IsEmpty() {
		return nil
	}
	set := labels.Set{}
	for key, v := range s.MatchLabels {
		text, isText := v.(string)
		if !isText {
			return nil
		}
		set[key] = text
	}
	parsed := labels.SelectorFromValidatedSet(set)
	for _, m := range s.MatchExpressions {
		r, err := labels.NewRequirement(fields.String(m, "key"), operators[fields.String(m, "operator")], values(m))
		if err != nil {
			return nil
		}
		parsed = parsed.Add(*r)
	}
	return parsed
}

// operators are those of label selectors.
var operators = map[string]selection.Operator{
	"In": selection.In, "NotIn": selection.NotIn, "Exists": selection.Exists, "DoesNotExist": selection.DoesNotExist,
}

func values(requirement map[string]any) []string {
	texts, _ := object.Strings(requirement, "values")
	return texts
}

// IsEmpty reports whether the selector has no requirement.
func (s Selector) IsEmpty() bool { return len(s.MatchLabels)+len(s.MatchExpressions) == 0 }

// Matches reports whether the labels of an object match.
func (s Selector) Matches(obj *unstructured.Unstructured) bool {
	return s.MatchesLabels(fields.Map(obj.Object, "metadata", "labels"))
}

// MatchesLabels reports whether labels match.
func (s Selector) MatchesLabels(labels map[string]any) bool {
	if s.IsEmpty() || !HasLabels(labels, s.MatchLabels) {
		return false
	}
	for _, requirement := range s.MatchExpressions {
		if !MatchesRequirement(labels, requirement) {
			return false
		}
	}
	return true
}

// Validate refuses a selector that does not match the template of its owner, as an API server does:
// otherwise the owner would make Pods without end. The error is final.
func Validate(owner *unstructured.Unstructured, s Selector) error {
	return ValidateLabels(s, fields.Map(owner.Object, "spec", "template", "metadata", "labels"))
}

// ValidateLabels is Validate for a template with these labels.
func ValidateLabels(s Selector, labels map[string]any) error {
	switch {
	case s.IsEmpty():
		return reconcile.Final(errors.New("spec.selector: empty selector is invalid"))
	case !s.MatchesLabels(labels):
		return reconcile.Final(errors.New("spec.template.metadata.labels: `selector` does not match template `labels`"))
	}
	return nil
}

// HasLabels reports whether labels have all wanted labels.
func HasLabels(labels, wanted map[string]any) bool {
	for k, v := range wanted {
		want, isText := v.(string)
		if have, ok := labels[k].(string); !ok || !isText || have != want {
			return false
		}
	}
	return true
}

// MatchesRequirement reports whether labels match one requirement {key, operator, values}. The
// operators are those of label selectors and of node selectors.
func MatchesRequirement(labels, requirement map[string]any) bool {
	value, has := object.String(labels, fields.String(requirement, "key"))
	values := values(requirement)
	in := has && slices.Contains(values, value)
	switch fields.String(requirement, "operator") {
	case "In":
		return in
	case "NotIn":
		return !in
	case "Exists":
		return has
	case "DoesNotExist":
		return !has
	case "Gt", "Lt":
		return has && compareIntegers(value, values, fields.String(requirement, "operator"))
	}
	return false
}

// compareIntegers is for the operators Gt and Lt of node selectors.
func compareIntegers(value string, values []string, operator string) bool {
	if len(values) != 1 {
		return false
	}
	a, errA := strconv.ParseInt(value, 10, 64)
	b, errB := strconv.ParseInt(values[0], 10, 64)
	return errA == nil && errB == nil && (operator == "Gt" && a > b || operator == "Lt" && a < b)
}
