package quota

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
)

// inScope reports whether an object is in all scopes of a quota. Scopes are about Pods only.
func inScope(quota map[string]any, of schema.GroupResource, obj map[string]any) bool {
	for _, scope := range fields.Slice(quota, "spec", "scopes") {
		if of != pods || !podInScope(obj, map[string]any{"scopeName": scope, "operator": "Exists"}) {
			return false
		}
	}
	for _, r := range fields.Maps(quota, "spec", "scopeSelector", "matchExpressions") {
		if of != pods || !podInScope(obj, r) {
			return false
		}
	}
	return true
}

func podInScope(pod, r map[string]any) bool {
	switch fields.Value(r, "scopeName") {
	case "Terminating":
		return hasDeadline(pod)
	case "NotTerminating":
		return !hasDeadline(pod)
	case "BestEffort":
		return isBestEffort(pod)
	case "NotBestEffort":
		return !isBestEffort(pod)
	case "PriorityClass":
		return hasPriorityClass(fields.String(pod, "spec", "priorityClassName"), r)
	case "CrossNamespacePodAffinity":
		return crossesNamespaces(pod)
	}
	return false
}

func hasDeadline(pod map[string]any) bool {
	return fields.Value(pod, "spec", "activeDeadlineSeconds") != nil
}

func isBestEffort(pod map[string]any) bool {
	spec := fields.Map(pod, "spec")
	for _, c := range slices.Concat(fields.Maps(spec, "containers"), fields.Maps(spec, "initContainers"), []map[string]any{spec}) {
		for name, n := range Requests(c) {
			if (name == "cpu" || name == "memory") && !n.IsZero() {
				return false
			}
		}
	}
	return true
}

func hasPriorityClass(class string, r map[string]any) bool {
	listed := slices.Contains(fields.Slice(r, "values"), any(class))
	switch fields.Value(r, "operator") {
	case "Exists":
		return class != ""
	case "DoesNotExist":
		return class == ""
	case "In":
		return class != "" && listed
	case "NotIn":
		return !listed
	}
	return false
}

// crossesNamespaces reports whether a Pod has a term of affinity that is about other namespaces.
func crossesNamespaces(pod map[string]any) bool {
	for _, kind := range []string{"podAffinity", "podAntiAffinity"} {
		affinity := fields.Map(pod, "spec", "affinity", kind)
		terms := fields.Maps(affinity, "requiredDuringSchedulingIgnoredDuringExecution")
		for _, p := range fields.Maps(affinity, "preferredDuringSchedulingIgnoredDuringExecution") {
			terms = append(terms, fields.Map(p, "podAffinityTerm"))
		}
		for _, t := range terms {
			if len(fields.Slice(t, "namespaces")) > 0 || fields.Value(t, "namespaceSelector") != nil {
				return true
			}
		}
	}
	return false
}
