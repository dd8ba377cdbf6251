package policies

import (
	"slices"

	admissionregistration "k8s.io/api/admissionregistration/v1"
	pathvalidation "k8s.io/apimachinery/pkg/api/validation/path"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver/internal/rules"
)

func checkMatchResources(m *admissionregistration.MatchResources, path *field.Path) (faults field.ErrorList) {
	if m == nil {
		return nil
	}
	faults = append(faults, rules.OneOf(m.MatchPolicy, path.Child("matchPolicy"), admissionregistration.Equivalent, admissionregistration.Exact)...)
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
	return append(faults, rules.Check(r.RuleWithOperations, path)...)
}
