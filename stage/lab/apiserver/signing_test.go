package apiserver_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	certificatesclient "k8s.io/client-go/kubernetes/typed/certificates/v1"
	"k8s.io/client-go/rest"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// newRequest returns a request for a certificate, and its key, in PEM.
func newRequest(t *testing.T, name, signer string, subject pkix.Name, usages ...certificatesv1.KeyUsage) (*certificatesv1.CertificateSigningRequest, []byte) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: subject}, key)
	require.NoError(t, err)
	encoded, err := x509.MarshalECPrivateKey(key)
	require.NoError(t, err)
	return &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: certificatesv1.CertificateSigningRequestSpec{
		Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
		SignerName: signer, Usages: usages, ExpirationSeconds: new(int32(3600)), Username: "somebody-else",
	}}, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded})
}

// createRequest creates a request, and approves it with its own client if the test says so.
func createRequest(t *testing.T, c certificatesclient.CertificateSigningRequestInterface, r *certificatesv1.CertificateSigningRequest, approves bool) *certificatesv1.CertificateSigningRequest {
	made, err := c.Create(t.Context(), r, metav1.CreateOptions{})
	require.NoError(t, err)
	if approves {
		made.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Test"}}
		_, err = c.UpdateApproval(t.Context(), r.Name, made, metav1.UpdateOptions{})
		require.NoError(t, err)
	}
	made, err = c.Get(t.Context(), r.Name, metav1.GetOptions{})
	require.NoError(t, err)
	return made
}

// TestCertificatesAreSigned checks that an approved request gets a certificate, which is a credential of
// the server, by the clock of the cluster.
func TestCertificatesAreSigned(t *testing.T) {
	now := time.Date(2006, 1, 2, 15, 4, 5, 0, time.UTC)
	listener, err := apiserver.Listen(memory.New(memory.Options{Now: func() time.Time { return now }}), apiserver.ListenOptions{Options: apiserver.Options{RBAC: true}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, listener.Close()) })
	admin := kubernetes.NewForConfigOrDie(listener.Config())
	asked, key := newRequest(t, "a", certificatesv1.KubeAPIServerClientSignerName, pkix.Name{CommonName: "tester"}, "digital signature", "key encipherment", "client auth")
	signed := createRequest(t, admin.CertificatesV1().CertificateSigningRequests(), asked, true)
	require.Equal(t, "kubernetes-admin", signed.Spec.Username)
	require.Equal(t, now, signed.Status.Conditions[0].LastUpdateTime.UTC())
	require.Equal(t, now, signed.Status.Conditions[0].LastTransitionTime.UTC())
	block, _ := pem.Decode(signed.Status.Certificate)
	certificate, err := x509.ParseCertificate(block.Bytes)
	require.NoError(t, err)
	require.Equal(t, "tester", certificate.Subject.CommonName)
	require.Equal(t, x509.KeyUsageDigitalSignature|x509.KeyUsageKeyEncipherment, certificate.KeyUsage)
	require.Equal(t, []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, certificate.ExtKeyUsage)
	require.Equal(t, now.Add(-5*time.Minute), certificate.NotBefore)
	require.Equal(t, now.Add(time.Hour), certificate.NotAfter)

	_, err = admin.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "tester"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "tester"}}}, metav1.CreateOptions{})
	require.NoError(t, err)
	config := rest.AnonymousClientConfig(listener.Config())
	config.CertData, config.KeyData = signed.Status.Certificate, key
	next, _ := newRequest(t, "b", "example.com/signer", pkix.Name{CommonName: "x"}, "client auth")
	require.Equal(t, "tester", createRequest(t, kubernetes.NewForConfigOrDie(config).CertificatesV1().CertificateSigningRequests(), next, false).Spec.Username)

	now = now.Add(2 * time.Hour)
	config.ServerName = "localhost" // so that client-go has another connection
	_, err = kubernetes.NewForConfigOrDie(config).CertificatesV1().CertificateSigningRequests().Get(t.Context(), "b", metav1.GetOptions{})
	require.True(t, apierrors.IsForbidden(err), "the certificate has expired, so that the user is anonymous: %v", err)
}

// TestCertificatesOfKubelets checks that the request of a kubelet is approved if its user has the right,
// and then signed.
func TestCertificatesOfKubelets(t *testing.T) {
	r := startRuled(t)
	r.role("asker", rbacv1.PolicyRule{Verbs: []string{"create", "get"}, APIGroups: []string{certificatesv1.GroupName}, Resources: []string{"certificatesigningrequests"}})
	r.role("selfnodeclient", rbacv1.PolicyRule{Verbs: []string{"create"}, APIGroups: []string{certificatesv1.GroupName}, Resources: []string{"certificatesigningrequests/selfnodeclient"}})
	for _, user := range []string{"bootstrapper", "other", "system:node:a"} {
		r.bind(user, "asker", true)
	}
	r.bind("bootstrapper", "system:certificates.k8s.io:certificatesigningrequests:nodeclient", true)
	r.bind("system:node:a", "selfnodeclient", true)
	asks := func(user, name, signer string, usage certificatesv1.KeyUsage) certificatesv1.CertificateSigningRequestStatus {
		asked, _ := newRequest(t, name, signer, pkix.Name{CommonName: "system:node:a", Organization: []string{"system:nodes"}}, "digital signature", usage)
		return createRequest(t, r.as(user).CertificatesV1().CertificateSigningRequests(), asked, false).Status
	}
	const client, serving = certificatesv1.KubeAPIServerClientKubeletSignerName, certificatesv1.KubeletServingSignerName
	got := asks("bootstrapper", "a", client, "client auth")
	require.Equal(t, "AutoApproved: Auto approving kubelet client certificate after SubjectAccessReview.", got.Conditions[0].Reason+": "+got.Conditions[0].Message)
	require.NotEmpty(t, got.Certificate)
	got = asks("system:node:a", "b", client, "client auth")
	require.Equal(t, "Auto approving self kubelet client certificate after SubjectAccessReview.", got.Conditions[0].Message)
	require.NotEmpty(t, got.Certificate)
	require.Empty(t, asks("other", "c", client, "client auth"), "no right")
	require.Empty(t, asks("bootstrapper", "d", client, "server auth"), "another usage")
	require.Empty(t, asks("bootstrapper", "e", serving, "server auth"), "another signer")
}

// TestCertificatesThatAreNotSigned checks requests that do not fit their signer, that no signer of
// Kubernetes is for, and those of a bare server.
func TestCertificatesThatAreNotSigned(t *testing.T) {
	requests := func(o apiserver.Options) certificatesclient.CertificateSigningRequestInterface {
		return kubernetes.NewForConfigOrDie(apiserver.Start(t, memory.New(memory.Options{}), o)).CertificatesV1().CertificateSigningRequests()
	}
	c := requests(apiserver.Options{})
	node := pkix.Name{CommonName: "system:node:a", Organization: []string{"system:nodes"}}
	for name, wrong := range map[string]struct {
		signer  string
		subject pkix.Name
		usages  []certificatesv1.KeyUsage
		fault   string
	}{
		"usage":    {certificatesv1.KubeAPIServerClientSignerName, pkix.Name{CommonName: "a"}, []certificatesv1.KeyUsage{"client auth", "server auth"}, "invalid usage for client certificate: server auth"},
		"no-usage": {certificatesv1.KubeAPIServerClientSignerName, pkix.Name{CommonName: "a"}, []certificatesv1.KeyUsage{"digital signature"}, "missing required usage for client certificate: client auth"},
		"group":    {certificatesv1.KubeletServingSignerName, pkix.Name{CommonName: "a"}, []certificatesv1.KeyUsage{"digital signature", "server auth"}, "subject organization is not system:nodes"},
		"address":  {certificatesv1.KubeletServingSignerName, node, []certificatesv1.KeyUsage{"digital signature", "server auth"}, "DNS or IP subjectAltName is required"},
		"usages":   {certificatesv1.KubeAPIServerClientKubeletSignerName, node, []certificatesv1.KeyUsage{"client auth"}, "usages did not match [client auth digital signature key encipherment]"},
	} {
		asked, _ := newRequest(t, name, wrong.signer, wrong.subject, wrong.usages...)
		got := createRequest(t, c, asked, true).Status
		require.Empty(t, got.Certificate)
		require.Len(t, got.Conditions, 2, name)
		require.Equal(t, certificatesv1.CertificateFailed, got.Conditions[1].Type)
		require.Equal(t, "SignerValidationFailure: "+wrong.fault, got.Conditions[1].Reason+": "+got.Conditions[1].Message)
	}
	asked, _ := newRequest(t, "other", "example.com/signer", pkix.Name{CommonName: "a"}, "client auth")
	require.Len(t, createRequest(t, c, asked, true).Status.Conditions, 1)
	asked, _ = newRequest(t, "bare", certificatesv1.KubeAPIServerClientSignerName, pkix.Name{CommonName: "a"}, "client auth")
	require.Empty(t, createRequest(t, requests(apiserver.Options{Bare: true}), asked, true).Status.Certificate)
}

// TestStatusOfRequests checks what approvers and signers can write, and that nobody else's part changes.
func TestStatusOfRequests(t *testing.T) {
	c := kubernetes.NewForConfigOrDie(apiserver.Start(t, memory.New(memory.Options{}), apiserver.Options{})).CertificatesV1().CertificateSigningRequests()
	asked, _ := newRequest(t, "a", "example.com/signer", pkix.Name{CommonName: "a"}, "client auth")
	made := createRequest(t, c, asked, false)
	condition := func(kind certificatesv1.RequestConditionType, status corev1.ConditionStatus) certificatesv1.CertificateSigningRequestCondition {
		return certificatesv1.CertificateSigningRequestCondition{Type: kind, Status: status}
	}
	with := func(certificate string, conditions ...certificatesv1.CertificateSigningRequestCondition) *certificatesv1.CertificateSigningRequest {
		next := made.DeepCopy()
		next.ResourceVersion, next.Spec.SignerName = "", "example.com/another"
		next.Status.Certificate, next.Status.Conditions = []byte(certificate), conditions
		return next
	}
	const pemText = "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n"
	approves := func(next *certificatesv1.CertificateSigningRequest) (*certificatesv1.CertificateSigningRequest, error) {
		return c.UpdateApproval(t.Context(), "a", next, metav1.UpdateOptions{})
	}
	signs := func(next *certificatesv1.CertificateSigningRequest) (*certificatesv1.CertificateSigningRequest, error) {
		return c.UpdateStatus(t.Context(), next, metav1.UpdateOptions{})
	}
	const invalid = `CertificateSigningRequest.certificates.k8s.io "a" is invalid: status.conditions`
	_, err := signs(with("", condition("Approved", "True")))
	require.EqualError(t, err, invalid+`: Forbidden: updates may not add a condition of type "Approved"`)
	_, err = approves(with("", condition("Approved", "False")))
	require.EqualError(t, err, invalid+`[0].status: Unsupported value: "False": supported values: "True"`)
	_, err = approves(with("", condition("Approved", "True"), condition("Denied", "True")))
	require.EqualError(t, err, invalid+`: Invalid value: "Denied": Approved and Denied conditions are mutually exclusive`)

	got, err := approves(with(pemText, condition("Approved", "True")))
	require.NoError(t, err)
	require.Empty(t, got.Status.Certificate, "an approver does not sign")
	require.Equal(t, "example.com/signer", got.Spec.SignerName)
	_, err = approves(with(""))
	require.EqualError(t, err, invalid+`: Forbidden: updates may not remove a condition of type "Approved"`)
	changed := condition("Approved", "True")
	changed.Message = "mine"
	got, err = signs(with(pemText, changed, condition("Noted", "Unknown")))
	require.NoError(t, err)
	require.Empty(t, got.Status.Conditions[0].Message, "a signer does not approve")
	require.NotEmpty(t, got.Status.Certificate)
	_, err = signs(with("-----BEGIN CERTIFICATE-----\nMAAA\n-----END CERTIFICATE-----\n", changed, condition("Noted", "Unknown")))
	require.ErrorContains(t, err, `status.certificate: Forbidden: updates may not modify existing certificate content`)

	got, err = c.Update(t.Context(), with("", condition("Denied", "True")), metav1.UpdateOptions{})
	require.NoError(t, err)
	require.Equal(t, "example.com/signer", got.Spec.SignerName)
	require.Len(t, got.Status.Conditions, 2)
}
