package webhooks

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	admissionregistration "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/util/webhook"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver/internal/rules"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// validate refuses a configuration that is not valid.
func (c *Caller) validate(v *memory.Review) error {
	if v.Kind != mutatingKind && v.Kind != validatingKind || v.Old != nil && reflect.DeepEqual(v.Old.Object["webhooks"], v.New.Object["webhooks"]) {
		return nil
	}
	// A validating webhook has the fields of a mutating one but for reinvocationPolicy.
	given, before := &admissionregistration.MutatingWebhookConfiguration{}, &admissionregistration.MutatingWebhookConfiguration{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(v.New.Object, given); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if v.Old != nil {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(v.Old.Object, before); err != nil {
			return apierrors.NewBadRequest(err.Error())
		}
	}
	if faults := c.faults(given.Webhooks, before.Webhooks); len(faults) > 0 {
		return apierrors.NewInvalid(v.Kind.GroupKind(), v.Name.Name, faults)
	}
	return nil
}

// faults returns the faults of webhooks. Conditions that were there before are not checked again.
func (c *Caller) faults(given, before []admissionregistration.MutatingWebhook) (faults field.ErrorList) {
	known, seen := map[string]bool{}, map[string]bool{}
	isSame := len(given) == len(before)
	for i, w := range before {
		isSame = isSame && reflect.DeepEqual(given[i].MatchConditions, w.MatchConditions)
		for _, m := range w.MatchConditions {
			known[m.Expression] = true
		}
	}
	for i := range given {
		w, path := &given[i], field.NewPath("webhooks").Index(i)
		faults = append(faults, check(w, path)...)
		if !isSame {
			faults = append(faults, c.compiler.Check(rules.Conditions{All: w.MatchConditions, Known: known}, path.Child("matchConditions"))...)
		}
		faults = append(faults, checkVersions(w.AdmissionReviewVersions, path.Child("admissionReviewVersions"))...)
		if w.Name != "" && seen[w.Name] {
			faults = append(faults, field.Duplicate(path.Child("name"), w.Name))
		}
		seen[w.Name] = true
	}
	return faults
}

// check returns the faults of a webhook beside its conditions and versions.
func check(w *admissionregistration.MutatingWebhook, path *field.Path) (faults field.ErrorList) {
	faults = append(faults, utilvalidation.IsFullyQualifiedName(path.Child("name"), w.Name)...)
	for i, r := range w.Rules {
		faults = append(faults, rules.Check(r, path.Child("rules").Index(i))...)
	}
	if w.FailurePolicy != nil {
		faults = append(faults, rules.OneOf(w.FailurePolicy, path.Child("failurePolicy"), admissionregistration.Fail, admissionregistration.Ignore)...)
	}
	if w.MatchPolicy != nil {
		faults = append(faults, rules.OneOf(w.MatchPolicy, path.Child("matchPolicy"), admissionregistration.Equivalent, admissionregistration.Exact)...)
	}
	if w.SideEffects == nil {
		faults = append(faults, field.Required(path.Child("sideEffects"), "must specify one of None, NoneOnDryRun"))
	} else {
		faults = append(faults, rules.OneOf(w.SideEffects, path.Child("sideEffects"), admissionregistration.SideEffectClassNone, admissionregistration.SideEffectClassNoneOnDryRun)...)
	}
	if t := w.TimeoutSeconds; t != nil && (*t > 30 || *t < 1) {
		faults = append(faults, field.Invalid(path.Child("timeoutSeconds"), *t, "the timeout value must be between 1 and 30 seconds"))
	}
	faults = append(faults, checkSelector(w.NamespaceSelector, path.Child("namespaceSelector"))...)
	faults = append(faults, checkSelector(w.ObjectSelector, path.Child("objectSelector"))...)
	if w.ReinvocationPolicy != nil {
		faults = append(faults, rules.OneOf(w.ReinvocationPolicy, path.Child("reinvocationPolicy"), admissionregistration.IfNeededReinvocationPolicy, admissionregistration.NeverReinvocationPolicy)...)
	}
	return append(faults, checkClient(w.ClientConfig, path.Child("clientConfig"))...)
}

func checkSelector(s *metav1.LabelSelector, path *field.Path) field.ErrorList {
	if s == nil {
		return nil
	}
	return metav1validation.ValidateLabelSelector(s, metav1validation.LabelSelectorValidationOptions{}, path)
}

func checkClient(c admissionregistration.WebhookClientConfig, path *field.Path) field.ErrorList {
	switch {
	case (c.URL == nil) == (c.Service == nil):
		return field.ErrorList{field.Required(path, "exactly one of url or service is required")}
	case c.URL != nil:
		return webhook.ValidateWebhookURL(path.Child("url"), *c.URL, true)
	}
	port := int32(443)
	if c.Service.Port != nil {
		port = *c.Service.Port
	}
	// kube-apiserver gives the function name and namespace in this order, too.
	return webhook.ValidateWebhookService(path.Child("service"), c.Service.Name, c.Service.Namespace, c.Service.Path, port)
}

var acceptedVersions = []string{"v1", "v1beta1"}

func checkVersions(versions []string, path *field.Path) (faults field.ErrorList) {
	accepted := strings.Join(acceptedVersions, ", ")
	if len(versions) == 0 {
		return field.ErrorList{field.Required(path, "must specify one of "+accepted)}
	}
	isAccepted := false
	for i, v := range versions {
		if slices.Contains(versions[:i], v) {
			faults = append(faults, field.Invalid(path.Index(i), v, "duplicate version"))
			continue
		}
		for _, message := range utilvalidation.IsDNS1035Label(v) {
			faults = append(faults, field.Invalid(path.Index(i), v, message))
		}
		isAccepted = isAccepted || slices.Contains(acceptedVersions, v)
	}
	if !isAccepted {
		faults = append(faults, field.Invalid(path, versions, fmt.Sprintf("must include at least one of %v", accepted)))
	}
	return faults
}
