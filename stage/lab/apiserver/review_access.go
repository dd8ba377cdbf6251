package apiserver

import (
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// reviewOwnAccess says whether the one who asks may do something.
func reviewOwnAccess(c *call, review *unstructured.Unstructured) (map[string]any, error) {
	a, faults, err := readAccess(review)
	if err != nil {
		return nil, err
	}
	if err := invalidReview(review, faults); err != nil {
		return nil, err
	}
	return c.access(a, c.requester)
}

// reviewAccess says whether a user may do something.
func reviewAccess(c *call, review *unstructured.Unstructured) (map[string]any, error) {
	a, faults, err := readAccess(review)
	if err != nil {
		return nil, err
	}
	if a.User == "" && len(a.Groups) == 0 {
		faults = append(faults, field.Invalid(field.NewPath("spec", "user"), a.User, "at least one of user or group must be specified"))
	}
	if err := invalidReview(review, faults); err != nil {
		return nil, err
	}
	return c.access(a, userOf(a))
}

// reviewLocalAccess says whether a user may do something in a namespace.
func reviewLocalAccess(c *call, review *unstructured.Unstructured) (map[string]any, error) {
	if namespace := review.GetNamespace(); namespace != c.namespace && namespace != "" {
		return nil, badRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	review.SetNamespace(c.namespace)
	a, faults, err := readAccess(review)
	if err != nil {
		return nil, err
	}
	if a.User == "" && len(a.Groups) == 0 {
		faults = append(faults, field.Invalid(field.NewPath("spec", "user"), a.User, "at least one of user or group must be specified"))
	}
	if r := a.ResourceAttributes; r != nil && r.Namespace != c.namespace {
		faults = append(faults, field.Invalid(field.NewPath("spec.resourceAttributes.namespace"), r.Namespace, "must match metadata.namespace"))
	}
	if n := a.NonResourceAttributes; n != nil {
		faults = append(faults, field.Invalid(field.NewPath("spec.nonResourceAttributes"), aPath(*n), "disallowed on this kind of request"))
	}
	if err := invalidReview(review, faults); err != nil {
		return nil, err
	}
	return c.access(a, userOf(a))
}

// readAccess reads the spec of a review of access, and checks what all of them have.
func readAccess(review *unstructured.Unstructured) (a authorizationv1.SubjectAccessReviewSpec, faults field.ErrorList, err error) {
	spec, _, _ := unstructured.NestedMap(review.Object, "spec")
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(spec, &a); err != nil {
		return a, nil, badRequest("%v", err)
	}
	path := field.NewPath("spec")
	switch {
	case a.ResourceAttributes != nil && a.NonResourceAttributes != nil:
		faults = append(faults, field.Invalid(path.Child("nonResourceAttributes"), aPath(*a.NonResourceAttributes), "cannot be specified in combination with resourceAttributes"))
	case a.ResourceAttributes == nil && a.NonResourceAttributes == nil:
		faults = append(faults, field.Invalid(path.Child("resourceAttributes"), a.NonResourceAttributes, "exactly one of nonResourceAttributes or resourceAttributes must be specified"))
	}
	return a, faults, nil
}

// invalidReview is the answer to a review with faults; nil without faults. As in kube-apiserver, it does
// not name the kind.
func invalidReview(review *unstructured.Unstructured, faults field.ErrorList) error {
	if len(faults) == 0 {
		return nil
	}
	return apierrors.NewInvalid(schema.GroupKind{Group: authorizationv1.GroupName}, review.GetName(), faults)
}

// aPath is a request without a resource, as kube-apiserver shows it in its errors.
type aPath struct{ Path, Verb string }

// userOf returns the user of a review.
func userOf(a authorizationv1.SubjectAccessReviewSpec) *user.DefaultInfo {
	u := &user.DefaultInfo{Name: a.User, UID: a.UID, Groups: a.Groups}
	for key, values := range a.Extra {
		if u.Extra == nil {
			u.Extra = map[string][]string{}
		}
		u.Extra[strings.ToLower(key)] = values
	}
	return u
}

// access returns the status of a review.
func (c *call) access(a authorizationv1.SubjectAccessReviewSpec, u *user.DefaultInfo) (map[string]any, error) {
	if c.server.roles == nil {
		return map[string]any{"allowed": true}, nil
	}
	of := authorizer.AttributesRecord{User: u}
	if r := a.ResourceAttributes; r != nil {
		of.ResourceRequest, of.Verb, of.Namespace, of.Name = true, r.Verb, r.Namespace, r.Name
		of.APIGroup, of.APIVersion, of.Resource, of.Subresource = r.Group, r.Version, r.Resource, r.Subresource
	} else {
		of.Path, of.Verb = a.NonResourceAttributes.Path, a.NonResourceAttributes.Verb
	}
	decision, reason, err := c.server.roles.Authorize(c.ctx, of)
	status := map[string]any{"allowed": decision == authorizer.DecisionAllow}
	if reason != "" {
		status["reason"] = reason
	}
	if err != nil {
		status["evaluationError"] = err.Error()
	}
	return status, nil
}

// reviewRules lists what the one who asks may do in a namespace.
func reviewRules(c *call, review *unstructured.Unstructured) (map[string]any, error) {
	namespace, _, _ := unstructured.NestedString(review.Object, "spec", "namespace")
	if namespace == "" {
		return nil, badRequest("no namespace on request")
	}
	if c.server.roles == nil {
		every := []any{"*"}
		return map[string]any{
			"incomplete":       false,
			"resourceRules":    []any{map[string]any{"verbs": every, "apiGroups": every, "resources": every}},
			"nonResourceRules": []any{map[string]any{"verbs": every, "nonResourceURLs": every}},
		}, nil
	}
	rules, err := c.server.roles.RulesFor(c.ctx, c.requester, namespace)
	status := map[string]any{"incomplete": false, "resourceRules": []any{}, "nonResourceRules": []any{}}
	if err != nil {
		status["evaluationError"] = err.Error()
	}
	for i := range rules {
		addRule(status, &rules[i])
	}
	return status, nil
}

// addRule adds a rule to the status of a review.
func addRule(status map[string]any, r *rbacv1.PolicyRule) {
	add := func(list string, fields map[string][]string) {
		rule := map[string]any{}
		for name, values := range fields {
			if len(values) > 0 {
				rule[name] = anys(values)
			}
		}
		status[list] = append(status[list].([]any), rule)
	}
	if len(r.Resources) > 0 {
		add("resourceRules", map[string][]string{"verbs": r.Verbs, "apiGroups": r.APIGroups, "resources": r.Resources, "resourceNames": r.ResourceNames})
	}
	if len(r.NonResourceURLs) > 0 {
		add("nonResourceRules", map[string][]string{"verbs": r.Verbs, "nonResourceURLs": r.NonResourceURLs})
	}
}
