package controllers

import (
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// A selector is a metav1.LabelSelector as it stands in an object. One that says nothing matches nothing here: no workload may select all Pods.
type selector map[string]any

func (s selector) matches(obj *unstructured.Unstructured) bool {
	return s.matchesLabels(tree(obj.Object, "metadata", "labels"))
}

func (s selector) matchesLabels(labels map[string]any) bool {
	plain, terms := tree(s, "matchLabels"), list(s, "matchExpressions")
	if len(plain)+len(terms) == 0 || !contains(labels, plain) {
		return false
	}
	for _, v := range terms {
		term, _ := object.ToMap(v)
		if !termMatches(labels, term) {
			return false
		}
	}
	return true
}

// contains reports whether the labels have all those wanted.
func contains(labels, wanted map[string]any) bool {
	for k, v := range wanted {
		if have, ok := labels[k]; !ok || have != v {
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
