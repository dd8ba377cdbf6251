package apiserver

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver/internal/tokens"
)

var (
	accounts      = schema.GroupVersionKind{Version: "v1", Kind: "ServiceAccount"}
	secrets       = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	nodes         = schema.GroupVersionKind{Version: "v1", Kind: "Node"}
	tokenRequests = schema.GroupVersionKind{Group: "authentication.k8s.io", Version: "v1", Kind: "TokenRequest"}
)

const (
	minExpiry     = 10 * 60 // seconds that a token must be valid at least
	defaultExpiry = 60 * 60 // seconds
)

// token answers a TokenRequest of a ServiceAccount. The token is a credential until it expires, or its
// ServiceAccount or the object that it is bound to is gone.
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
	named := tokens.Claims{Issuer: tokens.Issuer, Subject: serviceaccount.MakeUsername(c.namespace, c.name), Audience: audiences,
		Issued: now.Unix(), NotBefore: now.Unix(), Expires: expires.Unix(), Kubernetes: tokens.Kubernetes{Namespace: c.namespace, Account: tokens.Reference{Name: c.name, UID: string(account.GetUID())}}}
	if err := c.bindToken(spec, &named.Kubernetes); err != nil {
		return err
	}
	named.ID = tokenID(named)
	text, err := c.server.signer.Sign(named)
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
		spec["audiences"] = []any{tokens.Issuer}
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

// tokenID returns an id that looks random, and is that of the same token only.
func tokenID(t tokens.Claims) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%v", t))
	return fmt.Sprintf("%x-%x-4%x-8%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])[:36]
}

// bindToken names the object that a token is bound to: a Pod, with its Node, a Secret or a Node.
func (c *call) bindToken(spec map[string]any, k *tokens.Kubernetes) error {
	ref, _, _ := unstructured.NestedMap(spec, "boundObjectRef")
	if ref == nil {
		return nil
	}
	kind := schema.FromAPIVersionAndKind(text(ref, "apiVersion"), text(ref, "kind"))
	into := map[string]**tokens.Reference{"Pod": &k.Pod, "Secret": &k.Secret, "Node": &k.Node}[kind.Kind]
	if kind.Group != "" || into == nil {
		return badRequest("cannot bind token to object of type %s", kind)
	}
	kind.Version = "v1"
	bound, err := c.cluster.Get(c.ctx, kind, types.NamespacedName{Namespace: c.namespace, Name: text(ref, "name")})
	if err != nil {
		return err
	}
	if kind == pods {
		if account, _, _ := unstructured.NestedString(bound.Object, "spec", "serviceAccountName"); account != c.name {
			return badRequest("cannot bind token for serviceaccount %q to pod running with different serviceaccount name.", c.name)
		}
		k.Node = c.nodeOf(bound)
	}
	if uid := text(ref, "uid"); uid != "" && uid != string(bound.GetUID()) {
		return apierrors.NewConflict(schema.GroupResource{Group: kind.Group, Resource: kind.Kind}, bound.GetName(),
			fmt.Errorf("the UID in the bound object reference (%s) does not match the UID in record. The object might have been deleted and then recreated", uid))
	}
	*into = &tokens.Reference{Name: bound.GetName(), UID: string(bound.GetUID())}
	return nil
}

// nodeOf returns the Node of a Pod; nil before it is bound.
func (c *call) nodeOf(pod *unstructured.Unstructured) *tokens.Reference {
	name, _, _ := unstructured.NestedString(pod.Object, "spec", "nodeName")
	if name == "" {
		return nil
	}
	found := &tokens.Reference{Name: name}
	if node, err := c.cluster.Get(c.ctx, nodes, types.NamespacedName{Name: name}); err == nil {
		found.UID = string(node.GetUID())
	}
	return found
}

// errors of tokens, as a TokenReview tells them.
var (
	errExpired     = errors.New("service account token has expired")
	errInvalidated = errors.New("service account token has been invalidated")
)

// account returns the user of a token of a ServiceAccount; nil if this server has not made it. The
// error says why it is no longer valid.
func (s *Server) account(r *http.Request, token string) (*user.DefaultInfo, *tokens.Claims, error) {
	t, ok := s.signer.Read(token)
	if !ok {
		return nil, nil, nil
	}
	if t.InSecret != nil {
		return s.accountOfSecret(r, token, &t)
	}
	if !s.cluster.Now().Before(time.Unix(t.Expires, 0)) {
		return nil, &t, errExpired
	}
	k := t.Kubernetes
	for _, bound := range []struct {
		kind schema.GroupVersionKind
		*tokens.Reference
	}{{accounts, &k.Account}, {pods, k.Pod}, {secrets, k.Secret}} {
		if bound.Reference == nil {
			continue
		}
		stored, err := s.cluster.Shared().Get(r.Context(), bound.kind, types.NamespacedName{Namespace: k.Namespace, Name: bound.Name})
		if err != nil || string(stored.GetUID()) != bound.UID || s.isLongDeleted(stored) {
			return nil, &t, errInvalidated
		}
	}
	i := serviceaccount.ServiceAccountInfo{Namespace: k.Namespace, Name: k.Account.Name, UID: k.Account.UID, CredentialID: "JTI=" + t.ID}
	if k.Pod != nil {
		i.PodName, i.PodUID = k.Pod.Name, k.Pod.UID
	}
	if k.Node != nil {
		i.NodeName, i.NodeUID = k.Node.Name, k.Node.UID
	}
	u := i.UserInfo()
	return &user.DefaultInfo{Name: u.GetName(), UID: u.GetUID(), Groups: withGroup(u.GetGroups(), user.AllAuthenticated), Extra: u.GetExtra()}, &t, nil
}

// isLongDeleted reports whether an object was to be gone a minute ago.
func (s *Server) isLongDeleted(u *unstructured.Unstructured) bool {
	deleted := u.GetDeletionTimestamp()
	return deleted != nil && deleted.Add(time.Minute).Before(s.cluster.Now())
}

// bearer returns the token of a request; "" without one.
func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// tokenReview answers whose token it is. On a server that asks for no credentials, a token that the
// server has not made is that of the one who asks.
func (c *call) tokenReview(text string, audiences []string) map[string]any {
	u, t, err := c.server.account(c.r, text)
	switch {
	case err != nil:
		return map[string]any{"error": fmt.Sprintf("[invalid bearer token, %v]", err), "user": map[string]any{}}
	case u == nil && c.server.credentials.secret == nil:
		return map[string]any{"authenticated": true, "user": reviewedUser(c.requester)}
	case u == nil && "Bearer "+text == string(c.server.credentials.secret):
		return map[string]any{"authenticated": true, "user": reviewedUser(admin), "audiences": []any{tokens.Issuer}}
	case u == nil:
		return map[string]any{"error": "invalid bearer token", "user": map[string]any{}}
	}
	if len(audiences) == 0 {
		audiences = []string{tokens.Issuer}
	}
	common := slices.DeleteFunc(slices.Clone(audiences), func(a string) bool { return !slices.Contains(t.Audience, a) })
	if len(common) == 0 {
		return map[string]any{"error": fmt.Sprintf("[invalid bearer token, token audiences %q is invalid for the target audiences %q]", t.Audience, audiences), "user": map[string]any{}}
	}
	return map[string]any{"authenticated": true, "audiences": anys(common), "user": reviewedUser(u)}
}
