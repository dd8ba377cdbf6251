package certificates

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Controllers do what csrapproving and csrsigning of kube-controller-manager do.
type Controllers struct {
	Authority
	// May reports whether the user of a request may create a subresource of
	// certificatesigningrequests, such as nodeclient.
	May func(request *certificatesv1.CertificateSigningRequest, subresource string) bool
	Now func() time.Time
}

// Next returns the next state of a request, and the subresource that the state is written to; nil if
// the request stays as it is.
func (c Controllers) Next(request *certificatesv1.CertificateSigningRequest) (next *certificatesv1.CertificateSigningRequest, subresource string, err error) {
	if len(request.Status.Certificate) > 0 {
		return nil, "", nil
	}
	content, err := parse(request.Spec.Request)
	if err != nil {
		return nil, "", fmt.Errorf("unable to parse csr %q: %w", request.Name, err)
	}
	next = request.DeepCopy()
	if !has(request, approved) && !has(request, denied) {
		if !c.approve(next, content) {
			return nil, "", nil
		}
		return next, "approval", nil
	}
	if !has(request, approved) || has(request, failed) {
		return nil, "", nil
	}
	if err := c.sign(next, content); err != nil || reflect.DeepEqual(next, request) {
		return nil, "", err
	}
	return next, "status", nil
}

// parse reads a request for a certificate.
func parse(data []byte) (*x509.CertificateRequest, error) {
	block, _ := pem.Decode(data)
	if block == nil || block.Type != "CERTIFICATE REQUEST" {
		return nil, errors.New("PEM block type must be CERTIFICATE REQUEST")
	}
	return x509.ParseCertificateRequest(block.Bytes)
}

func has(request *certificatesv1.CertificateSigningRequest, kind certificatesv1.RequestConditionType) bool {
	return slices.ContainsFunc(request.Status.Conditions, func(c certificatesv1.CertificateSigningRequestCondition) bool { return c.Type == kind })
}

// approve approves the request of a kubelet for a certificate as a client, if its user may have one.
func (c Controllers) approve(request *certificatesv1.CertificateSigningRequest, content *x509.CertificateRequest) bool {
	if request.Spec.SignerName != certificatesv1.KubeAPIServerClientKubeletSignerName || faultOfKubelet(content, request.Spec.Usages, certificatesv1.UsageClientAuth) != nil {
		return false
	}
	message := ""
	switch {
	case request.Spec.Username == content.Subject.CommonName && c.May(request, "selfnodeclient"):
		message = "Auto approving self kubelet client certificate after SubjectAccessReview."
	case c.May(request, "nodeclient"):
		message = "Auto approving kubelet client certificate after SubjectAccessReview."
	default:
		return false
	}
	request.Status.Conditions = append(request.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "AutoApproved", Message: message,
	})
	return true
}

// sign gives a request its certificate, or the condition that it does not fit its signer. It changes
// nothing in a request for a signer that is not one of Kubernetes.
func (c Controllers) sign(request *certificatesv1.CertificateSigningRequest, content *x509.CertificateRequest) error {
	fault, isSigner := faults[request.Spec.SignerName]
	if !isSigner {
		return nil
	}
	if err := fault(content, request.Spec.Usages); err != nil {
		request.Status.Conditions = append(request.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
			Type: certificatesv1.CertificateFailed, Status: corev1.ConditionTrue, Reason: "SignerValidationFailure", Message: err.Error(), LastUpdateTime: metav1.NewTime(c.Now()),
		})
		return nil
	}
	data, err := c.certificate(request, content, c.Now())
	request.Status.Certificate = data
	return err
}

// faults are the rules of the signers of Kubernetes.
var faults = map[string]func(*x509.CertificateRequest, []certificatesv1.KeyUsage) error{
	certificatesv1.KubeAPIServerClientSignerName: func(_ *x509.CertificateRequest, usages []certificatesv1.KeyUsage) error { return faultOfClient(usages) },
	certificatesv1.KubeAPIServerClientKubeletSignerName: func(r *x509.CertificateRequest, usages []certificatesv1.KeyUsage) error {
		return faultOfKubelet(r, usages, certificatesv1.UsageClientAuth)
	},
	certificatesv1.KubeletServingSignerName: func(r *x509.CertificateRequest, usages []certificatesv1.KeyUsage) error {
		return faultOfKubelet(r, usages, certificatesv1.UsageServerAuth)
	},
}

// faultOfClient says why usages are not those of a client.
func faultOfClient(usages []certificatesv1.KeyUsage) error {
	for _, u := range usages {
		if u != certificatesv1.UsageDigitalSignature && u != certificatesv1.UsageKeyEncipherment && u != certificatesv1.UsageClientAuth {
			return fmt.Errorf("invalid usage for client certificate: %s", u)
		}
	}
	if !slices.Contains(usages, certificatesv1.UsageClientAuth) {
		return fmt.Errorf("missing required usage for client certificate: %s", certificatesv1.UsageClientAuth)
	}
	return nil
}

// faultOfKubelet says why a request is not that of a kubelet, as a client or as a server.
func faultOfKubelet(r *x509.CertificateRequest, usages []certificatesv1.KeyUsage, as certificatesv1.KeyUsage) error {
	if !slices.Equal(r.Subject.Organization, []string{"system:nodes"}) {
		return errors.New("subject organization is not system:nodes")
	}
	if err := faultOfNames(r, as); err != nil {
		return err
	}
	if !isOf(usages, as) {
		sorted := []string{string(certificatesv1.UsageDigitalSignature), string(certificatesv1.UsageKeyEncipherment), string(as)}
		slices.Sort(sorted)
		return fmt.Errorf("usages did not match %v", sorted)
	}
	if !strings.HasPrefix(r.Subject.CommonName, "system:node:") {
		return errors.New("subject common name does not begin with system:node:")
	}
	return nil
}

// faultOfNames says why the alternative names are not those of a kubelet: a server has addresses, a
// client none.
func faultOfNames(r *x509.CertificateRequest, as certificatesv1.KeyUsage) error {
	isServer := as == certificatesv1.UsageServerAuth
	switch {
	case isServer && len(r.DNSNames)+len(r.IPAddresses) == 0:
		return errors.New("DNS or IP subjectAltName is required")
	case !isServer && len(r.DNSNames) > 0:
		return errors.New("DNS subjectAltNames are not allowed")
	case len(r.EmailAddresses) > 0:
		return errors.New("Email subjectAltNames are not allowed") //nolint:staticcheck // kube-controller-manager's words
	case !isServer && len(r.IPAddresses) > 0:
		return errors.New("IP subjectAltNames are not allowed")
	case len(r.URIs) > 0:
		return errors.New("URI subjectAltNames are not allowed")
	}
	return nil
}

// isOf reports whether usages are those of a kubelet. A key that is not for RSA enciphers no keys.
func isOf(usages []certificatesv1.KeyUsage, as certificatesv1.KeyUsage) bool {
	given := map[certificatesv1.KeyUsage]bool{}
	for _, u := range usages {
		given[u] = true
	}
	delete(given, certificatesv1.UsageKeyEncipherment)
	return len(given) == 2 && given[certificatesv1.UsageDigitalSignature] && given[as]
}
