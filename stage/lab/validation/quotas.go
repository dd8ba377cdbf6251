package validation

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The names in a quota that Kubernetes defines itself, except for counts: names about Pods, names about
// claims, and others.
var (
	quotaNamesOfPods   = []string{"cpu", "limits.cpu", "limits.memory", "memory", "pods", "requests.cpu", "requests.memory"}
	quotaNamesOfClaims = []string{"persistentvolumeclaims", "requests.storage"}
	otherQuotaNames    = []string{"configmaps", "ephemeral-storage", "limits.ephemeral-storage", "replicationcontrollers", "requests.ephemeral-storage", "resourcequotas",
		"secrets", "services", "services.loadbalancers", "services.nodeports"}
)

// namesInScope are the names defined by Kubernetes that a quota with a scope can have.
var namesInScope = map[string][]string{
	"Terminating": quotaNamesOfPods, "NotTerminating": quotaNamesOfPods, "NotBestEffort": quotaNamesOfPods, "BestEffort": {"pods"},
	"PriorityClass": quotaNamesOfPods, "CrossNamespacePodAffinity": quotaNamesOfPods, "VolumeAttributesClass": quotaNamesOfClaims,
}

// notInScope returns the names in spec.hard that a scope does not have.
func notInScope(scope string, spec map[string]any) (names []string) {
	valid, known := namesInScope[scope]
	for _, name := range slices.Sorted(maps.Keys(nested(spec, "hard"))) {
		isDefined := slices.Contains(quotaNamesOfPods, name) || slices.Contains(quotaNamesOfClaims, name) || slices.Contains(otherQuotaNames, name)
		if known && isDefined && !slices.Contains(valid, name) {
			names = append(names, name)
		}
	}
	return names
}

// quotaScopes is validateResourceQuotaScopes of core/validation, for the spec of a quota.
func quotaScopes(f fieldOf) {
	spec, _ := f.value.(map[string]any)
	given, path := list(spec["scopes"]), f.path().Child("scopes")
	scopes := words(given)
	for _, scope := range scopes {
		if namesInScope[scope] == nil {
			f.add(field.Invalid(path, given, "unsupported scope"))
		}
		for range notInScope(scope, spec) {
			f.add(field.Invalid(path, given, "unsupported scope applied to resource"))
		}
	}
	conflictingScopes(f, path, scopes, given)
}

// conflictingScopes adds a fault for scopes that exclude each other.
func conflictingScopes(f fieldOf, path *field.Path, scopes []string, given any) {
	for _, pair := range [][2]string{{"BestEffort", "NotBestEffort"}, {"Terminating", "NotTerminating"}} {
		if slices.Contains(scopes, pair[0]) && slices.Contains(scopes, pair[1]) {
			f.add(field.Invalid(path, given, "conflicting scopes"))
		}
	}
}

// A scopeSelector is spec.scopeSelector as kube-apiserver prints it in faults.
type scopeSelector struct{ MatchExpressions []scopeRequirement }

type scopeRequirement struct {
	ScopeName, Operator string
	Values              []string
}

func scopeSelectorOf(spec map[string]any) (s scopeSelector) {
	for _, e := range list(nested(spec, "scopeSelector")["matchExpressions"]) {
		m, _ := e.(map[string]any)
		s.MatchExpressions = append(s.MatchExpressions, scopeRequirement{text(m["scopeName"]), text(m["operator"]), words(list(m["values"]))})
	}
	return s
}

// quotaSelector is validateScopedResourceSelectorRequirement of core/validation, for the spec of a
// quota. The paths have no indices, as there.
func quotaSelector(f fieldOf) {
	spec, _ := f.value.(map[string]any)
	selector, path := scopeSelectorOf(spec), f.path().Child("scopeSelector", "matchExpressions")
	var scopes []string
	for _, e := range selector.MatchExpressions {
		scopes = append(scopes, e.ScopeName)
		if namesInScope[e.ScopeName] == nil {
			f.add(field.Invalid(path.Child("scopeName"), e.ScopeName, "unsupported scope"))
		}
		for range notInScope(e.ScopeName, spec) {
			f.add(field.Invalid(path, selector, "unsupported scope applied to resource"))
		}
		e.check(f, path)
	}
	conflictingScopes(f, path, scopes, words(list(spec["scopes"])))
}

// check checks the operator and the values of a requirement.
func (e scopeRequirement) check(f fieldOf, path *field.Path) {
	hasClasses := e.ScopeName == "PriorityClass" || e.ScopeName == "VolumeAttributesClass"
	if namesInScope[e.ScopeName] != nil && !hasClasses && e.Operator != "Exists" {
		f.add(field.Invalid(path.Child("operator"), e.Operator, "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "+
			"ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"))
	}
	switch e.Operator {
	case "In", "NotIn":
		if len(e.Values) == 0 {
			f.add(field.Required(path.Child("values"), "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"))
		}
	case "Exists", "DoesNotExist":
		if len(e.Values) > 0 {
			f.add(field.Invalid(path.Child("values"), e.Values, "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"))
		}
	default:
		f.add(field.Invalid(path.Child("operator"), e.Operator, "not a valid selector operator"))
	}
}

// words returns the strings of a list.
func words(all []any) (found []string) {
	for _, v := range all {
		found = append(found, text(v))
	}
	return found
}
