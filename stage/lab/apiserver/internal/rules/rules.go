package rules

import (
	"fmt"
	"slices"
	"strings"

	admissionregistration "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var operations = []admissionregistration.OperationType{"*", "CONNECT", "CREATE", "DELETE", "UPDATE"}

// Check returns the faults of a rule of a policy or a webhook.
func Check(r admissionregistration.RuleWithOperations, path *field.Path) (faults field.ErrorList) {
	if len(r.Operations) == 0 {
		faults = append(faults, field.Required(path.Child("operations"), ""))
	}
	if len(r.Operations) > 1 && slices.Contains(r.Operations, admissionregistration.OperationAll) {
		faults = append(faults, field.Invalid(path.Child("operations"), r.Operations, "if '*' is present, must not specify other operations"))
	}
	for i, o := range r.Operations {
		if !slices.Contains(operations, o) {
			faults = append(faults, field.NotSupported(path.Child("operations").Index(i), o, operations))
		}
	}
	faults = append(faults, checkList(r.APIGroups, path.Child("apiGroups"), "API groups")...)
	faults = append(faults, checkList(r.APIVersions, path.Child("apiVersions"), "API versions")...)
	for i, version := range r.APIVersions {
		if version == "" {
			faults = append(faults, field.Required(path.Child("apiVersions").Index(i), ""))
		}
	}
	faults = append(faults, checkResources(r.Resources, path.Child("resources"))...)
	if r.Scope != nil {
		faults = append(faults, OneOf(r.Scope, path.Child("scope"), admissionregistration.AllScopes, admissionregistration.ClusterScope, admissionregistration.NamespacedScope)...)
	}
	return faults
}

// checkList checks a list of words or of "*" alone.
func checkList(list []string, path *field.Path, what string) (faults field.ErrorList) {
	if len(list) == 0 {
		faults = append(faults, field.Required(path, ""))
	}
	if len(list) > 1 && slices.Contains(list, "*") {
		faults = append(faults, field.Invalid(path, list, "if '*' is present, must not specify other "+what))
	}
	return faults
}

func checkResources(list []string, path *field.Path) (faults field.ErrorList) {
	if len(list) == 0 {
		faults = append(faults, field.Required(path, ""))
	}
	hasPlain := false // as kube-apiserver has it: of the last resource without a subresource
	for i, r := range list {
		resource, sub, hasSub := strings.Cut(r, "/")
		switch {
		case r == "":
			faults = append(faults, field.Required(path.Index(i), ""))
			continue
		case !hasSub:
			hasPlain = r != "*"
			continue
		}
		if slices.Contains(list[:i], resource+"/*") {
			faults = append(faults, field.Invalid(path.Index(i), r, fmt.Sprintf("if '%s/*' is present, must not specify %s", resource, r)))
		}
		if slices.Contains(list[:i], "*/"+sub) {
			faults = append(faults, field.Invalid(path.Index(i), r, fmt.Sprintf("if '*/%s' is present, must not specify %s", sub, r)))
		}
	}
	if len(list) > 1 && slices.Contains(list, "*/*") {
		faults = append(faults, field.Invalid(path, list, "if '*/*' is present, must not specify other resources"))
	}
	if slices.Contains(list, "*") && hasPlain {
		faults = append(faults, field.Invalid(path, list, "if '*' is present, must not specify other resources without subresources"))
	}
	return faults
}

// OneOf checks a field that is required and has one of a few values.
func OneOf[T ~string](given *T, path *field.Path, values ...T) field.ErrorList {
	switch {
	case given == nil:
		return field.ErrorList{field.Required(path, "")}
	case !slices.Contains(values, *given):
		return field.ErrorList{field.NotSupported(path, *given, values)}
	}
	return nil
}
