package apiserver

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var (
	accounts      = schema.GroupVersionKind{Version: "v1", Kind: "ServiceAccount"}
	tokenRequests = schema.GroupVersionKind{Group: "authentication.k8s.io", Version: "v1", Kind: "TokenRequest"}
)

const (
	ownAudience   = "https://kubernetes.default.svc.cluster.local"
	accountPrefix = "system:serviceaccount:"
	minExpiry     = 10 * 60    // seconds that a token must be valid at least
	defaultExpiry = 60 * 60    // seconds
	unsigned      = "unsigned" // in place of a signature
)

// claims are what a token of a ServiceAccount says.
type claims struct {
	Issuer   string   `json:"iss"`
	Subject  string   `json:"sub"`
	UID      string   `json:"uid"`
	Audience []string `json:"aud"`
	Issued   int64    `json:"iat"`
	Expires  int64    `json:"exp"`
}

// token answers a TokenRequest of a ServiceAccount. The token is a JSON Web Token that is not signed:
// it is good for a TokenReview, which says whose it is, and not for requests.
func (c *call) token() error {
	u, o, err := c.subobject(tokenRequests)
	if err != nil {
		return err
	}
	if name := u.GetName(); name != "" && name != c.name {
		return apierrors.NewInvalid(tokenRequests.GroupKind(), c.name, field.ErrorList{
			field.Invalid(field.NewPath("metadata", "name"), name, "must match the service account name if specified")})
	}
	account, err := c.cluster.Get(c.ctx, accounts, c.key())
	if err != nil {
		return err
	}
	if err := c.completeToken(u); err != nil {
		return err
	}
	if err := c.consult(nil, u, o.DryRun, nil); err != nil {
		return err
	}
	spec, _, _ := unstructured.NestedMap(u.Object, "spec")
	audiences, _, _ := unstructured.NestedStringSlice(spec, "audiences")
	seconds, _, _ := unstructured.NestedInt64(spec, "expirationSeconds")
	now := c.cluster.Now()
	expires := now.Add(time.Duration(seconds) * time.Second)
	text, err := claims{ownAudience, accountPrefix + c.namespace + ":" + c.name, string(account.GetUID()), audiences, now.Unix(), expires.Unix()}.token()
	if err != nil {
		return err
	}
	u.SetCreationTimestamp(metav1.NewTime(now))
	u.Object["status"] = map[string]any{"token": text, "expirationTimestamp": expires.UTC().Format(time.RFC3339)}
	return c.write(http.StatusCreated, u)
}

// completeToken fills in what a TokenRequest leaves open, and checks it.
func (c *call) completeToken(u *unstructured.Unstructured) error {
	spec, _, _ := unstructured.NestedMap(u.Object, "spec")
	if spec == nil {
		spec = map[string]any{}
	}
	if audiences, _, _ := unstructured.NestedStringSlice(spec, "audiences"); len(audiences) == 0 {
		spec["audiences"] = []any{ownAudience}
	}
	seconds, given, _ := unstructured.NestedInt64(spec, "expirationSeconds")
	if !given {
		spec["expirationSeconds"] = int64(defaultExpiry)
	} else if seconds < minExpiry {
		return apierrors.NewInvalid(tokenRequests.GroupKind(), "", field.ErrorList{
			field.Invalid(field.NewPath("spec", "expirationSeconds"), seconds, "may not specify a duration less than 10 minutes")})
	}
	u.SetName(c.name)
	u.Object["spec"] = spec
	return nil
}

func anySlice(texts []string) []any {
	all := make([]any, len(texts))
	for i, t := range texts {
		all[i] = t
	}
	return all
}

func (t claims) token() (string, error) {
	body, err := json.Marshal(t)
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(`{"alg":"none"}`)) + "." + encode(body) + "." + encode([]byte(unsigned)), err
}

// readToken reads a token that was made here; false if it is another one.
func readToken(text string) (t claims, ok bool) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 || parts[2] != base64.RawURLEncoding.EncodeToString([]byte(unsigned)) {
		return t, false
	}
	body, err := base64.RawURLEncoding.DecodeString(parts[1])
	return t, err == nil && json.Unmarshal(body, &t) == nil && strings.HasPrefix(t.Subject, accountPrefix)
}

// tokenReview answers whose token it is: that of a ServiceAccount, or else of the one who asks.
func (c *call) tokenReview(text string) map[string]any {
	t, ok := readToken(text)
	if !ok {
		return map[string]any{"authenticated": true, "user": c.user()}
	}
	if !c.cluster.Now().Before(time.Unix(t.Expires, 0)) {
		return map[string]any{"error": "[invalid bearer token, service account token has expired]", "user": map[string]any{}}
	}
	namespace, _, _ := strings.Cut(strings.TrimPrefix(t.Subject, accountPrefix), ":")
	groups := []any{"system:serviceaccounts", fmt.Sprint("system:serviceaccounts:", namespace), "system:authenticated"}
	return map[string]any{"authenticated": true, "audiences": anySlice(t.Audience), "user": map[string]any{"username": t.Subject, "uid": t.UID, "groups": groups}}
}
