package controllers

import (
	"errors"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// A selector is a metav1.LabelSelector. One that says nothing matches nothing here: no workload may select all Pods.
type selector struct {
	plain map[string]any
	terms []map[string]any
}

// selectorAt reads the selector at spec.selector. That of a ReplicationController is nothing but labels.
func selectorAt(obj *unstructured.Unstructured) selector {
	if obj.GetKind() == replicationControllers.Kind {
		return selector{plain: tree(obj.Object, "spec", "selector")}
	}
	return readSelector(tree(obj.Object, "spec", "selector"))
}

func readSelector(m map[string]any) selector {
	return selector{plain: tree(m, "matchLabels"), terms: trees(m, "matchExpressions")}
}

func (s selector) isEmpty() bool { return len(s.plain)+len(s.terms) == 0 }

func (s selector) matches(obj *unstructured.Unstructured) bool {
	return s.matchesLabels(tree(obj.Object, "metadata", "labels"))
}

func (s selector) matchesLabels(labels map[string]any) bool {
	if s.isEmpty() || !contains(labels, s.plain) {
		return false
	}
	for _, term := range s.terms {
		if !termMatches(labels, term) {
			return false
		}
	}
	return true
}

// checkSelector refuses what an API server does: with a selector that does not match its own Pods, an owner would make them for ever.
func checkSelector(owner *unstructured.Unstructured, s selector) error {
	return checkLabels(s, tree(owner.Object, "spec", "template", "metadata", "labels"))
}

func checkLabels(s selector, labels map[string]any) error {
	switch {
	case s.isEmpty():
		return reconcile.Final(errors.New("spec.selector: empty selector is invalid"))
	case !s.matchesLabels(labels):
		return reconcile.Final(errors.New("spec.template.metadata.labels: `selector` does not match template `labels`"))
	}
	return nil
}

// contains reports whether the labels have all those wanted.
func contains(labels, wanted map[string]any) bool {
	for k, v := range wanted {
		want, isText := v.(string)
		if have, ok := labels[k].(string); !ok || !isText || have != want {
			return false
		}
	}
	return true
}

// termMatches reads one requirement {key, operator, values}. The operators are those of label selectors and of node selectors.
func termMatches(labels, term map[string]any) bool {
	value, has := object.String(labels, text(term, "key"))
	values, _ := object.Strings(term, "values")
	in := has && slices.Contains(values, value)
	switch text(term, "operator") {
	case "In":
		return in
	case "NotIn":
		return !in
	case "Exists":
		return has
	case "DoesNotExist":
		return !has
	case "Gt", "Lt":
		return has && compares(value, values, text(term, "operator"))
	}
	return false
}

// compares is for node selectors: Gt and Lt compare integers.
func compares(value string, values []string, operator string) bool {
	if len(values) != 1 {
		return false
	}
	a, errA := strconv.ParseInt(value, 10, 64)
	b, errB := strconv.ParseInt(values[0], 10, 64)
	return errA == nil && errB == nil && (operator == "Gt" && a > b || operator == "Lt" && a < b)
}
