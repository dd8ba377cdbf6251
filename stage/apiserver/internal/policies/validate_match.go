package policies

import (
	"fmt"
	"slices"
	"strings"

	admissionregistration "k8s.io/api/admissionregistration/v1"
	pathvalidation "k8s.io/apimachinery/pkg/api/validation/path"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func checkMatchResources(m *admissionregistration.MatchResources, path *field.Path) (faults field.ErrorList) {
	if m == nil {
		return nil
	}
	faults = append(faults, oneOf(m.MatchPolicy, path.Child("matchPolicy"), admissionregistration.Equivalent, admissionregistration.Exact)...)
	faults = append(faults, checkSelector(m.NamespaceSelector, path.Child("namespaceSelector"))...)
	faults = append(faults, checkSelector(m.ObjectSelector, path.Child("objectSelector"))...)
	for i, r := range m.ResourceRules {
		faults = append(faults, checkNamedRule(r, path.Child("resourceRules").Index(i))...)
	}
	for i, r := range m.ExcludeResourceRules {
		faults = append(faults, checkNamedRule(r, path.Child("excludeResourceRules").Index(i))...)
	}
	return faults
}

func checkSelector(s *metav1.LabelSelector, path *field.Path) field.ErrorList {
	if s == nil {
		return field.ErrorList{field.Required(path, "")}
	}
	return metav1validation.ValidateLabelSelector(s, metav1validation.LabelSelectorValidationOptions{}, path)
}

func checkNamedRule(r admissionregistration.NamedRuleWithOperations, path *field.Path) (faults field.ErrorList) {
	names := path.Child("resourceNames")
	for i, name := range r.ResourceNames {
		for _, message := range pathvalidation.IsValidPathSegmentName(name) {
			faults = append(faults, field.Invalid(names.Index(i), name, message))
		}
		if slices.Contains(r.ResourceNames[:i], name) {
			faults = append(faults, field.Duplicate(names.Index(i), name))
		}
	}
	return append(faults, CheckRule(r.RuleWithOperations, path)...)
}

var operations = []admissionregistration.OperationType{"*", "CONNECT", "CREATE", "DELETE", "UPDATE"}

// CheckRule returns the faults of a rule of a policy or a webhook.
func CheckRule(r admissionregistration.RuleWithOperations, path *field.Path) (faults field.ErrorList) {
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
		faults = append(faults, oneOf(r.Scope, path.Child("scope"), admissionregistration.AllScopes, admissionregistration.ClusterScope, admissionregistration.NamespacedScope)...)
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
