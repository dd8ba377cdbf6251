package certificates

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
)

// An Authority signs certificates.
type Authority struct {
	Root *x509.Certificate
	Key  crypto.Signer
}

// Repeated returns an authority that is the same each time. Its key is known, so that no server must
// trust its certificates.
func Repeated() (Authority, error) {
	seed := sha256.Sum256([]byte("stagecraft: the authority of a cluster that only its own process can reach"))
	key := ed25519.NewKeyFromSeed(seed[:])
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "stagecraft"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		NotBefore: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	der, err := x509.CreateCertificate(nil, template, template, key.Public(), key)
	if err != nil {
		return Authority{}, err
	}
	root, err := x509.ParseCertificate(der)
	return Authority{root, key}, err
}

// Verifies reports whether the authority has signed the certificate of a client, which is valid at a
// time.
func (a Authority) Verifies(c *x509.Certificate, now time.Time) bool {
	isClient := slices.Contains(c.ExtKeyUsage, x509.ExtKeyUsageClientAuth) || slices.Contains(c.ExtKeyUsage, x509.ExtKeyUsageAny)
	return isClient && !now.Before(c.NotBefore) && !now.After(c.NotAfter) && c.CheckSignatureFrom(a.Root) == nil
}

// The validity of certificates, as kube-controller-manager has it without flags.
const (
	longest  = 365 * 24 * time.Hour
	shortest = 10 * time.Minute
	backdate = 5 * time.Minute // of the beginning
	short    = 8 * time.Hour   // a certificate that is valid for less than this ends with its whole time
)

// certificate returns the certificate for a request, in PEM.
func (a Authority) certificate(request *certificatesv1.CertificateSigningRequest, content *x509.CertificateRequest, now time.Time) ([]byte, error) {
	if err := content.CheckSignature(); err != nil {
		return nil, fmt.Errorf("unable to verify certificate request signature: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial(request), Subject: content.Subject, BasicConstraintsValid: true,
		DNSNames: content.DNSNames, IPAddresses: content.IPAddresses, EmailAddresses: content.EmailAddresses, URIs: content.URIs,
		NotBefore: now.Add(-backdate),
	}
	switch lasts := duration(request.Spec.ExpirationSeconds); {
	case lasts < short:
		template.NotAfter = now.Add(lasts)
	default:
		template.NotAfter = now.Add(lasts - backdate)
	}
	if err := use(template, request.Spec.Usages); err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.Root, content.PublicKey, a.Key)
	if err != nil {
		return nil, fmt.Errorf("failed to sign certificate: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}

// duration returns how long a certificate is valid.
func duration(seconds *int32) time.Duration {
	if seconds == nil {
		return longest
	}
	return min(longest, max(shortest, time.Duration(*seconds)*time.Second))
}

// serial returns a serial number that no other request has.
func serial(request *certificatesv1.CertificateSigningRequest) *big.Int {
	sum := sha256.Sum256(append([]byte(request.UID), request.Spec.Request...))
	return new(big.Int).SetBytes(sum[:16])
}

// use writes usages into a certificate.
func use(template *x509.Certificate, usages []certificatesv1.KeyUsage) error {
	for _, u := range usages {
		if usage, is := keyUsages[u]; is {
			template.KeyUsage |= usage
			continue
		}
		extended, is := extendedUsages[u]
		if !is {
			return errors.New("unrecognized usage values: [" + string(u) + "]")
		}
		template.ExtKeyUsage = append(template.ExtKeyUsage, extended)
	}
	slices.Sort(template.ExtKeyUsage)
	template.ExtKeyUsage = slices.Compact(template.ExtKeyUsage)
	return nil
}

var keyUsages = map[certificatesv1.KeyUsage]x509.KeyUsage{
	certificatesv1.UsageSigning: x509.KeyUsageDigitalSignature, certificatesv1.UsageDigitalSignature: x509.KeyUsageDigitalSignature,
	certificatesv1.UsageContentCommitment: x509.KeyUsageContentCommitment, certificatesv1.UsageKeyEncipherment: x509.KeyUsageKeyEncipherment,
	certificatesv1.UsageKeyAgreement: x509.KeyUsageKeyAgreement, certificatesv1.UsageDataEncipherment: x509.KeyUsageDataEncipherment,
	certificatesv1.UsageCertSign: x509.KeyUsageCertSign, certificatesv1.UsageCRLSign: x509.KeyUsageCRLSign,
	certificatesv1.UsageEncipherOnly: x509.KeyUsageEncipherOnly, certificatesv1.UsageDecipherOnly: x509.KeyUsageDecipherOnly,
}

var extendedUsages = map[certificatesv1.KeyUsage]x509.ExtKeyUsage{
	certificatesv1.UsageAny: x509.ExtKeyUsageAny, certificatesv1.UsageServerAuth: x509.ExtKeyUsageServerAuth, certificatesv1.UsageClientAuth: x509.ExtKeyUsageClientAuth,
	certificatesv1.UsageCodeSigning: x509.ExtKeyUsageCodeSigning, certificatesv1.UsageEmailProtection: x509.ExtKeyUsageEmailProtection,
	certificatesv1.UsageSMIME: x509.ExtKeyUsageEmailProtection, certificatesv1.UsageIPsecEndSystem: x509.ExtKeyUsageIPSECEndSystem,
	certificatesv1.UsageIPsecTunnel: x509.ExtKeyUsageIPSECTunnel, certificatesv1.UsageIPsecUser: x509.ExtKeyUsageIPSECUser,
	certificatesv1.UsageTimestamping: x509.ExtKeyUsageTimeStamping, certificatesv1.UsageOCSPSigning: x509.ExtKeyUsageOCSPSigning,
	certificatesv1.UsageMicrosoftSGC: x509.ExtKeyUsageMicrosoftServerGatedCrypto, certificatesv1.UsageNetscapeSGC: x509.ExtKeyUsageNetscapeServerGatedCrypto,
}
