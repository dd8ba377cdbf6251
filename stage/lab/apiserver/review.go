package apiserver

import (
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// reviews are the kinds that are answered and not stored, with the status that each is given. There
// is no authorisation: everything is allowed, and a token that this server has not made is that of the
// one who sends it.
var reviews = map[schema.GroupKind]func(*call, *unstructured.Unstructured) map[string]any{
	{Group: "authorization.k8s.io", Kind: "SelfSubjectAccessReview"}:  allowed,
	{Group: "authorization.k8s.io", Kind: "SubjectAccessReview"}:      allowed,
	{Group: "authorization.k8s.io", Kind: "LocalSubjectAccessReview"}: allowed,
	{Group: "authorization.k8s.io", Kind: "SelfSubjectRulesReview"}:   allRules,
	{Group: "authentication.k8s.io", Kind: "SelfSubjectReview"}:       self,
	{Group: "authentication.k8s.io", Kind: "TokenReview"}:             authenticated,
}

func isVirtual(kind schema.GroupKind) bool { return reviews[kind] != nil }

// review answers a review.
func (c *call) review() error {
	if c.verb(c.r) != "create" || c.name != "" {
		return errMethod()
	}
	if c.form.as == "Table" {
		return noTransform(c.of.hasProtobuf())
	}
	var o metav1.CreateOptions
	if err := c.options(&o); err != nil {
		return err
	}
	u, err := decode(c.w, c.r, c.of.kind, strictness(o.FieldValidation))
	if err != nil {
		return err
	}
	u.Object["status"] = reviews[c.of.kind.GroupKind()](c, u)
	return c.write(http.StatusCreated, u)
}

func allowed(*call, *unstructured.Unstructured) map[string]any {
	return map[string]any{"allowed": true}
}

func allRules(*call, *unstructured.Unstructured) map[string]any {
	every := []any{"*"}
	return map[string]any{
		"incomplete":       false,
		"resourceRules":    []any{map[string]any{"verbs": every, "apiGroups": every, "resources": every}},
		"nonResourceRules": []any{map[string]any{"verbs": every, "nonResourceURLs": every}},
	}
}

func self(c *call, _ *unstructured.Unstructured) map[string]any {
	return map[string]any{"userInfo": c.user()}
}

func authenticated(c *call, review *unstructured.Unstructured) map[string]any {
	text, _, _ := unstructured.NestedString(review.Object, "spec", "token")
	return c.tokenReview(text)
}

// user is who sends the request, in the form of reviews.
func (c *call) user() map[string]any {
	out := map[string]any{"username": c.requester.Name, "groups": anys(c.requester.Groups)}
	if c.requester.UID != "" {
		out["uid"] = c.requester.UID
	}
	if len(c.requester.Extra) > 0 {
		extra := map[string]any{}
		for key, values := range c.requester.Extra {
			extra[key] = anys(values)
		}
		out["extra"] = extra
	}
	return out
}

func anys(texts []string) []any {
	out := make([]any, len(texts))
	for i, text := range texts {
		out[i] = text
	}
	return out
}
