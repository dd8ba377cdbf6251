package apiserver_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// A token of a ServiceAccount is known by a TokenReview until it expires.
func TestTokensOfServiceAccounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := kubernetes.NewForConfigOrDie(apiserver.Start(t, newLab(t).Cluster(), apiserver.Options{}))
		accounts := c.CoreV1().ServiceAccounts("default")
		made, err := accounts.CreateToken(t.Context(), "default", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
		require.NoError(t, err)
		require.Equal(t, int64(3600), *made.Spec.ExpirationSeconds)
		require.Equal(t, time.Now().Add(time.Hour).Unix(), made.Status.ExpirationTimestamp.Unix())
		review := func(token string) authenticationv1.TokenReviewStatus {
			r, err := c.AuthenticationV1().TokenReviews().Create(t.Context(), &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
			require.NoError(t, err)
			return r.Status
		}
		require.Equal(t, "system:serviceaccount:default:default", review(made.Status.Token).User.Username)
		require.Equal(t, "kubernetes-admin", review("another").User.Username)

		_, err = accounts.CreateToken(t.Context(), "default", &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(60))}}, metav1.CreateOptions{})
		require.True(t, apierrors.IsInvalid(err), "%v", err)
		_, err = accounts.CreateToken(t.Context(), "nobody", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
		require.True(t, apierrors.IsNotFound(err), "%v", err)
	})
}

func TestTokensExpire(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c := kubernetes.NewForConfigOrDie(apiserver.Start(t, memory.New(memory.Options{Now: func() time.Time { return now }}), apiserver.Options{}))
	made, err := c.CoreV1().ServiceAccounts("default").CreateToken(t.Context(), "default", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	require.NoError(t, err)
	now = now.Add(time.Hour)
	r, err := c.AuthenticationV1().TokenReviews().Create(t.Context(), &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: made.Status.Token}}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.False(t, r.Status.Authenticated)
	require.Contains(t, r.Status.Error, "expired")
}

func TestApproval(t *testing.T) {
	c := kubernetes.NewForConfigOrDie(apiserver.Start(t, memory.New(memory.Options{}), apiserver.Options{})).CertificatesV1().CertificateSigningRequests()
	csr, err := c.Create(t.Context(), &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: certificatesv1.CertificateSigningRequestSpec{
		Request: certificateRequest(t), SignerName: "example.com/signer", Usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth}}}, metav1.CreateOptions{})
	require.NoError(t, err)
	csr.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Test"}}
	csr, err = c.UpdateApproval(t.Context(), "a", csr, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.Len(t, csr.Status.Conditions, 1)
}

// What each namespace has comes back as it was.
func TestRootCertificateIsKept(t *testing.T) {
	cluster := memory.New(memory.Options{})
	listener, err := apiserver.Listen(cluster, apiserver.ListenOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, listener.Close()) })
	c := kubernetes.NewForConfigOrDie(listener.Config()).CoreV1().ConfigMaps("default")
	before, err := c.Get(t.Context(), "kube-root-ca.crt", metav1.GetOptions{})
	require.NoError(t, err)
	require.Contains(t, before.Data["ca.crt"], "BEGIN CERTIFICATE")

	_, err = c.Patch(t.Context(), "kube-root-ca.crt", types.MergePatchType, []byte(`{"data":{"ca.crt":"","other":"x"}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	after, err := c.Get(t.Context(), "kube-root-ca.crt", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, before.Data, after.Data)
	require.NoError(t, c.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
	_, err = c.Get(t.Context(), "kube-root-ca.crt", metav1.GetOptions{})
	require.NoError(t, err)
}

// Reviews have no Tables.
func TestReviewsAsTables(t *testing.T) {
	c := kubernetes.NewForConfigOrDie(apiserver.Start(t, memory.New(memory.Options{}), apiserver.Options{}))
	err := c.AuthorizationV1().RESTClient().Post().Resource("selfsubjectaccessreviews").SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").
		Body(&authorizationv1.SelfSubjectAccessReview{}).Do(t.Context()).Error()
	require.True(t, apierrors.ReasonForError(err) == metav1.StatusReasonNotAcceptable, "%v", err)
}

// certificateRequest is a request for a certificate.
func certificateRequest(t *testing.T) []byte {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "me"}}, key)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}

// TestTokensInSecrets checks that a Secret for a token gets one, which is a credential until the Secret
// or its ServiceAccount is gone, and that the Secret goes with its ServiceAccount.
func TestTokensInSecrets(t *testing.T) {
	listener, err := apiserver.Listen(memory.New(memory.Options{}), apiserver.ListenOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, listener.Close()) })
	c := kubernetes.NewForConfigOrDie(listener.Config()).CoreV1()
	account, err := c.ServiceAccounts("default").Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "bob"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	create := func(name, account string) (*corev1.Secret, error) {
		_, err := c.Secrets("default").Create(t.Context(), &corev1.Secret{Type: corev1.SecretTypeServiceAccountToken,
			ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{corev1.ServiceAccountNameKey: account}}}, metav1.CreateOptions{})
		require.NoError(t, err)
		return c.Secrets("default").Get(t.Context(), name, metav1.GetOptions{})
	}
	secret, err := create("a", "bob")
	require.NoError(t, err)
	require.Equal(t, string(account.UID), secret.Annotations[corev1.ServiceAccountUIDKey])
	require.Equal(t, "default", string(secret.Data["namespace"]))
	require.Contains(t, string(secret.Data["ca.crt"]), "BEGIN CERTIFICATE")
	config := rest.AnonymousClientConfig(listener.Config())
	config.BearerToken = string(secret.Data["token"])
	asks := func() (string, error) {
		review, err := kubernetes.NewForConfigOrDie(config).AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
		if err != nil {
			return "", err
		}
		return review.Status.UserInfo.Username, nil
	}
	name, err := asks()
	require.NoError(t, err)
	require.Equal(t, "system:serviceaccount:default:bob", name)

	_, err = c.Secrets("default").Patch(t.Context(), "a", types.MergePatchType, []byte(`{"data": {"token": "eA=="}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	_, err = asks()
	require.True(t, apierrors.IsUnauthorized(err), "the Secret has another token: %v", err)
	_, err = create("lonely", "nobody")
	require.True(t, apierrors.IsNotFound(err), "without its ServiceAccount it is deleted: %v", err)
	secret, err = create("b", "bob")
	require.NoError(t, err)
	config.BearerToken = string(secret.Data["token"])
	_, err = asks()
	require.NoError(t, err)
	require.NoError(t, c.ServiceAccounts("default").Delete(t.Context(), "bob", metav1.DeleteOptions{}))
	_, err = c.Secrets("default").Get(t.Context(), "b", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), "%v", err)
	_, err = asks()
	require.True(t, apierrors.IsUnauthorized(err), "%v", err)
}
