package webhooks

import (
	"fmt"
	"slices"
	"strings"

	admissionregistration "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/util/webhook"

	"github.com/stagecraft-go/stagecraft/stage/apiserver/internal/conditions"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// validate refuses configurations that are not valid. kube-apiserver's own validation is in
// k8s.io/kubernetes, which a module cannot require.
func validate(v *memory.Review) error {
	if v.Resource.Group != group.Group || !strings.HasSuffix(v.Resource.Resource, "webhookconfigurations") {
		return nil
	}
	now, before := &found{}, &found{}
	if err := now.add(v.New); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if v.Old != nil {
		if err := before.add(v.Old); err != nil {
			return apierrors.NewInternalError(err)
		}
	}
	c := checker{path: field.NewPath("webhooks"), known: before.expressions()}
	for i, hook := range now.hooks() {
		c.check(c.path.Index(i), hook)
	}
	if len(c.faults) == 0 {
		return nil
	}
	return apierrors.NewInvalid(v.Kind.GroupKind(), v.Name.Name, c.faults)
}

// A hook is a mutating or a validating webhook.
type hook struct {
	admissionregistration.ValidatingWebhook
	reinvocation *admissionregistration.ReinvocationPolicyType
}

// hooks returns the webhooks of all configurations.
func (f *found) hooks() (all []hook) {
	for _, c := range f.mutating {
		for _, m := range c.Webhooks {
			all = append(all, hook{reinvocation: m.ReinvocationPolicy, ValidatingWebhook: admissionregistration.ValidatingWebhook{
				Name: m.Name, ClientConfig: m.ClientConfig, Rules: m.Rules, FailurePolicy: m.FailurePolicy, MatchPolicy: m.MatchPolicy,
				NamespaceSelector: m.NamespaceSelector, ObjectSelector: m.ObjectSelector, SideEffects: m.SideEffects,
				TimeoutSeconds: m.TimeoutSeconds, AdmissionReviewVersions: m.AdmissionReviewVersions, MatchConditions: m.MatchConditions}})
		}
	}
	for _, c := range f.validating {
		for _, v := range c.Webhooks {
			all = append(all, hook{ValidatingWebhook: v})
		}
	}
	return all
}

// expressions returns the conditions of all webhooks.
func (f *found) expressions() map[string]bool {
	all := map[string]bool{}
	for _, h := range f.hooks() {
		for _, c := range h.MatchConditions {
			all[c.Expression] = true
		}
	}
	return all
}

// A checker collects what is wrong with the webhooks of a configuration.
type checker struct {
	path   *field.Path
	faults field.ErrorList
	names  []string        // of webhooks so far
	known  map[string]bool // expressions that are stored already
}

func (c *checker) add(faults ...*field.Error) { c.faults = append(c.faults, faults...) }

// check checks a webhook, in the order of kube-apiserver.
func (c *checker) check(path *field.Path, h hook) {
	c.add(validation.IsFullyQualifiedName(path.Child("name"), h.Name)...)
	for i, r := range h.Rules {
		c.checkRule(path.Child("rules").Index(i), r)
	}
	oneOf(c, path.Child("failurePolicy"), h.FailurePolicy, admissionregistration.Fail, admissionregistration.Ignore)
	oneOf(c, path.Child("matchPolicy"), h.MatchPolicy, admissionregistration.Equivalent, admissionregistration.Exact)
	if h.SideEffects == nil {
		c.add(field.Required(path.Child("sideEffects"), "must specify one of None, NoneOnDryRun"))
	}
	oneOf(c, path.Child("sideEffects"), h.SideEffects, admissionregistration.SideEffectClassNone, admissionregistration.SideEffectClassNoneOnDryRun)
	if t := h.TimeoutSeconds; t != nil && (*t < 1 || *t > 30) {
		c.add(field.Invalid(path.Child("timeoutSeconds"), *t, "the timeout value must be between 1 and 30 seconds"))
	}
	if h.NamespaceSelector != nil {
		c.add(metav1validation.ValidateLabelSelector(h.NamespaceSelector, metav1validation.LabelSelectorValidationOptions{}, path.Child("namespaceSelector"))...)
	}
	if h.ObjectSelector != nil {
		c.add(metav1validation.ValidateLabelSelector(h.ObjectSelector, metav1validation.LabelSelectorValidationOptions{}, path.Child("objectSelector"))...)
	}
	oneOf(c, path.Child("reinvocationPolicy"), h.reinvocation, admissionregistration.IfNeededReinvocationPolicy, admissionregistration.NeverReinvocationPolicy)
	c.checkClient(path.Child("clientConfig"), h.ClientConfig)
	c.add(conditions.Check(path.Child("matchConditions"), h.MatchConditions, conditions.Options{Known: c.known})...)
	c.checkVersions(path.Child("admissionReviewVersions"), h.AdmissionReviewVersions)
	if h.Name != "" && slices.Contains(c.names, h.Name) {
		c.add(field.Duplicate(path.Child("name"), h.Name))
	}
	c.names = append(c.names, h.Name)
}

// oneOf refuses other values than these.
func oneOf[T ~string](c *checker, path *field.Path, value *T, known ...T) {
	if value != nil && !slices.Contains(known, *value) {
		c.add(field.NotSupported(path, *value, known))
	}
}

func (c *checker) checkRule(path *field.Path, r admissionregistration.RuleWithOperations) {
	known := []admissionregistration.OperationType{admissionregistration.OperationAll, admissionregistration.Connect, admissionregistration.Create, admissionregistration.Delete, admissionregistration.Update}
	c.checkList(path.Child("operations"), len(r.Operations), slices.Contains(r.Operations, admissionregistration.OperationAll), r.Operations, "operations")
	for i := range r.Operations {
		oneOf(c, path.Child("operations").Index(i), &r.Operations[i], known...)
	}
	c.checkList(path.Child("apiGroups"), len(r.APIGroups), slices.Contains(r.APIGroups, "*"), r.APIGroups, "API groups")
	c.checkList(path.Child("apiVersions"), len(r.APIVersions), slices.Contains(r.APIVersions, "*"), r.APIVersions, "API versions")
	c.checkNotEmpty(path.Child("apiVersions"), r.APIVersions)
	c.checkResources(path.Child("resources"), r.Resources)
	oneOf(c, path.Child("scope"), r.Scope, admissionregistration.AllScopes, admissionregistration.ClusterScope, admissionregistration.NamespacedScope)
}

// checkList refuses a list that is empty, or has others beside the wildcard.
func (c *checker) checkList(path *field.Path, length int, hasWildcard bool, list any, others string) {
	switch {
	case length == 0:
		c.add(field.Required(path, ""))
	case length > 1 && hasWildcard:
		c.add(field.Invalid(path, list, "if '*' is present, must not specify other "+others))
	}
}

func (c *checker) checkNotEmpty(path *field.Path, list []string) {
	for i, text := range list {
		if text == "" {
			c.add(field.Required(path.Index(i), ""))
		}
	}
}

// checkResources refuses resources that another one of the list contains.
func (c *checker) checkResources(path *field.Path, list []string) {
	if len(list) == 0 {
		c.add(field.Required(path, ""))
	}
	c.checkNotEmpty(path, list)
	for i, name := range list {
		resource, sub, hasSub := strings.Cut(name, "/")
		for _, wider := range []string{resource + "/*", "*/" + sub} {
			if hasSub && slices.Contains(list[:i], wider) {
				c.add(field.Invalid(path.Index(i), name, fmt.Sprintf("if '%s' is present, must not specify %s", wider, name)))
			}
		}
	}
	if len(list) > 1 && slices.Contains(list, "*/*") {
		c.add(field.Invalid(path, list, "if '*/*' is present, must not specify other resources"))
	}
	if slices.Contains(list, "*") && slices.ContainsFunc(list, func(r string) bool { return r != "*" && r != "" && !strings.Contains(r, "/") }) {
		c.add(field.Invalid(path, list, "if '*' is present, must not specify other resources without subresources"))
	}
}

func (c *checker) checkClient(path *field.Path, client admissionregistration.WebhookClientConfig) {
	switch {
	case (client.URL == nil) == (client.Service == nil):
		c.add(field.Required(path, "exactly one of url or service is required"))
	case client.URL != nil:
		c.add(webhook.ValidateWebhookURL(path.Child("url"), *client.URL, true)...)
	default:
		port := int32(443)
		if client.Service.Port != nil {
			port = *client.Service.Port
		}
		c.add(webhook.ValidateWebhookService(path.Child("service"), client.Service.Name, client.Service.Namespace, client.Service.Path, port)...)
	}
}

// reviewVersions are the versions of AdmissionReviews that the server can send.
var reviewVersions = []string{"v1", "v1beta1"}

func (c *checker) checkVersions(path *field.Path, versions []string) {
	if len(versions) == 0 {
		c.add(field.Required(path, "must specify one of v1, v1beta1"))
		return
	}
	for i, v := range versions {
		if slices.Contains(versions[:i], v) {
			c.add(field.Invalid(path.Index(i), v, "duplicate version"))
			continue
		}
		for _, fault := range validation.IsDNS1035Label(v) {
			c.add(field.Invalid(path.Index(i), v, fault))
		}
	}
	if !containsAny(versions, reviewVersions...) {
		c.add(field.Invalid(path, versions, "must include at least one of v1, v1beta1"))
	}
}
