package quota

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
)

// inScope reports whether an object is in all scopes of a quota. Scopes are about Pods, and one about
// claims.
func inScope(quota map[string]any, of schema.GroupResource, obj map[string]any) bool {
	for _, scope := range fields.Slice(quota, "spec", "scopes") {
		if !isIn(of, obj, map[string]any{"scopeName": scope, "operator": "Exists"}) {
			return false
		}
	}
	for _, r := range fields.Maps(quota, "spec", "scopeSelector", "matchExpressions") {
		if !isIn(of, obj, r) {
			return false
		}
	}
	return true
}

// isIn reports whether an object meets a requirement of a quota.
func isIn(of schema.GroupResource, obj, r map[string]any) bool {
	switch of {
	case pods:
		return podInScope(obj, r)
	case claims:
		return fields.Value(r, "scopeName") == "VolumeAttributesClass" && hasClass(attributesClasses(obj), r)
	}
	return false
}

// attributesClasses returns the VolumeAttributesClasses that a claim refers to: the wanted one, the
// present one and the one that is being set. A name can occur twice.
func attributesClasses(claim map[string]any) (names []string) {
	for _, path := range [][]string{
		{"spec", "volumeAttributesClassName"}, {"status", "currentVolumeAttributesClassName"}, {"status", "modifyVolumeStatus", "targetVolumeAttributesClassName"},
	} {
		if name := fields.String(claim, path...); name != "" {
			names = append(names, name)
		}
	}
	return names
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
		return hasClass(onlyName(fields.String(pod, "spec", "priorityClassName")), r)
	case "CrossNamespacePodAffinity":
		return crossesNamespaces(pod)
	}
	return false
}

func hasDeadline(pod map[string]any) bool {
	return fields.Value(pod, "spec", "activeDeadlineSeconds") != nil // validation refuses negative ones
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

// onlyName returns a list with a name; nil if the name is "".
func onlyName(name string) []string {
	if name == "" {
		return nil
	}
	return []string{name}
}

// hasClass reports whether one of the classes of an object, or that it has none, meets a requirement.
func hasClass(classes []string, r map[string]any) bool {
	listed := func(class string) bool { return slices.Contains(fields.Slice(r, "values"), any(class)) }
	switch fields.Value(r, "operator") {
	case "Exists":
		return len(classes) > 0
	case "DoesNotExist":
		return len(classes) == 0
	case "In":
		return slices.ContainsFunc(classes, listed)
	case "NotIn":
		return len(classes) == 0 || slices.ContainsFunc(classes, func(c string) bool { return !listed(c) })
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
