package apiserver

import (
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
)

// reviews are the kinds that are answered and not stored, with the status that each is given.
var reviews = map[schema.GroupKind]func(*call, *unstructured.Unstructured) (map[string]any, error){
	{Group: "authorization.k8s.io", Kind: "SelfSubjectAccessReview"}:  reviewOwnAccess,
	{Group: "authorization.k8s.io", Kind: "SubjectAccessReview"}:      reviewAccess,
	{Group: "authorization.k8s.io", Kind: "LocalSubjectAccessReview"}: reviewLocalAccess,
	{Group: "authorization.k8s.io", Kind: "SelfSubjectRulesReview"}:   reviewRules,
	{Group: "authentication.k8s.io", Kind: "SelfSubjectReview"}:       reviewSelf,
	{Group: "authentication.k8s.io", Kind: "TokenReview"}:             reviewToken,
}

// isVirtual reports whether objects of a kind are answered and not stored: reviews and Bindings.
func isVirtual(kind schema.GroupKind) bool {
	return reviews[kind] != nil || kind == bindingKind.GroupKind()
}

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
	status, err := reviews[c.of.kind.GroupKind()](c, u)
	if err != nil {
		return err
	}
	u.Object["status"] = status
	return c.write(http.StatusCreated, u)
}

func reviewSelf(c *call, _ *unstructured.Unstructured) (map[string]any, error) {
	return map[string]any{"userInfo": reviewedUser(c.requester)}, nil
}

func reviewToken(c *call, review *unstructured.Unstructured) (map[string]any, error) {
	text, _, _ := unstructured.NestedString(review.Object, "spec", "token")
	if text == "" {
		return nil, badRequest("token is required for TokenReview in authentication")
	}
	audiences, _, _ := unstructured.NestedStringSlice(review.Object, "spec", "audiences")
	return c.tokenReview(text, audiences), nil
}

// reviewedUser returns a user in the form of reviews.
func reviewedUser(u *user.DefaultInfo) map[string]any {
	out := map[string]any{"username": u.Name, "groups": anys(u.Groups)}
	if u.UID != "" {
		out["uid"] = u.UID
	}
	if len(u.Extra) > 0 {
		extra := map[string]any{}
		for key, values := range u.Extra {
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
