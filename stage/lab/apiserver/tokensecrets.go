package apiserver

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver/internal/tokens"
)

// keepTokenOf does what the tokens controller of kube-controller-manager does with a Secret: one for a
// token gets a token of its ServiceAccount, and is deleted without it.
func (s *Server) keepTokenOf(ctx context.Context, name types.NamespacedName) error {
	secret, err := s.cluster.Shared().Get(ctx, secrets, name)
	if err != nil || text(secret.Object, "type") != string(corev1.SecretTypeServiceAccountToken) {
		return err
	}
	return s.keepToken(ctx, secret)
}

// keepTokens does the same with all Secrets of a namespace.
func (s *Server) keepTokens(ctx context.Context, namespace string) error {
	found, err := s.cluster.Shared().List(ctx, secrets, namespace, metav1.ListOptions{FieldSelector: "type=" + string(corev1.SecretTypeServiceAccountToken)})
	if err != nil {
		return err
	}
	var failed []error
	for i := range found.Items {
		failed = append(failed, s.keepToken(ctx, &found.Items[i]))
	}
	return errors.Join(failed...)
}

// keepToken completes the Secret of a token, or deletes it.
func (s *Server) keepToken(ctx context.Context, secret *unstructured.Unstructured) error {
	name, uid := secret.GetAnnotations()[corev1.ServiceAccountNameKey], secret.GetAnnotations()[corev1.ServiceAccountUIDKey]
	key := types.NamespacedName{Namespace: secret.GetNamespace(), Name: secret.GetName()}
	account, err := s.cluster.Shared().Get(ctx, accounts, types.NamespacedName{Namespace: key.Namespace, Name: name})
	switch {
	case apierrors.IsNotFound(err) || err == nil && uid != "" && uid != string(account.GetUID()):
		return s.cluster.Delete(ctx, secrets, key, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: new(secret.GetUID())}})
	case err != nil:
		return err
	}
	data, _, _ := unstructured.NestedStringMap(secret.Object, "data")
	wanted := map[string]string{}
	encode := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	if s.ca != "" && data[corev1.ServiceAccountRootCAKey] != encode(s.ca) {
		wanted[corev1.ServiceAccountRootCAKey] = encode(s.ca)
	}
	if data[corev1.ServiceAccountNamespaceKey] == "" {
		wanted[corev1.ServiceAccountNamespaceKey] = encode(key.Namespace)
	}
	if data[corev1.ServiceAccountTokenKey] == "" {
		text, err := s.signer.SignInSecret(tokens.InSecret{Issuer: tokens.SecretIssuer, Namespace: key.Namespace, Secret: key.Name, Account: name, UID: string(account.GetUID()),
			Subject: serviceaccount.MakeUsername(key.Namespace, name)})
		if err != nil {
			return err
		}
		wanted[corev1.ServiceAccountTokenKey] = encode(text)
	}
	if len(wanted) == 0 {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"data": wanted, "metadata": map[string]any{"resourceVersion": secret.GetResourceVersion(),
		"annotations": map[string]any{corev1.ServiceAccountNameKey: name, corev1.ServiceAccountUIDKey: string(account.GetUID())}}})
	if err != nil {
		return err
	}
	_, err = s.cluster.Patch(ctx, secrets, key, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: certifierName})
	return err
}

// accountOfSecret returns the user of a token in a Secret; the error says why it is no longer valid.
func (s *Server) accountOfSecret(r *http.Request, token string, t *tokens.Claims) (*user.DefaultInfo, *tokens.Claims, error) {
	in := t.InSecret
	stored, err := s.cluster.Shared().Get(r.Context(), secrets, types.NamespacedName{Namespace: in.Namespace, Name: in.Secret})
	if err != nil || stored.GetDeletionTimestamp() != nil {
		return nil, t, errors.New("Token has been invalidated") //nolint:staticcheck // kube-apiserver's words
	}
	held, _, _ := unstructured.NestedString(stored.Object, "data", corev1.ServiceAccountTokenKey)
	if subtle.ConstantTimeCompare([]byte(held), []byte(base64.StdEncoding.EncodeToString([]byte(token)))) == 0 {
		return nil, t, errors.New("Token does not match server's copy") //nolint:staticcheck // kube-apiserver's words
	}
	account, err := s.cluster.Shared().Get(r.Context(), accounts, types.NamespacedName{Namespace: in.Namespace, Name: in.Account})
	if err != nil || account.GetDeletionTimestamp() != nil || string(account.GetUID()) != in.UID {
		return nil, t, errInvalidated
	}
	i := serviceaccount.ServiceAccountInfo{Namespace: in.Namespace, Name: in.Account, UID: in.UID}
	u := i.UserInfo()
	return &user.DefaultInfo{Name: u.GetName(), UID: u.GetUID(), Groups: withGroup(u.GetGroups(), user.AllAuthenticated), Extra: u.GetExtra()}, t, nil
}
