package certificates_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/clustertest"
)

// TestOldRequestsAreDeleted checks how long requests for certificates stay.
func TestOldRequestsAreDeleted(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{})
	soon := base64.StdEncoding.EncodeToString(certificate(t, c.Now().Add(30*time.Minute)))
	later := base64.StdEncoding.EncodeToString(certificate(t, c.Now().Add(48*time.Hour)))
	written := c.Now().Format(time.RFC3339)
	for name, status := range map[string]string{
		"new":      `{}`,
		"denied":   `{conditions: [{type: Denied, status: "True", lastUpdateTime: "` + written + `"}]}`,
		"failed":   `{conditions: [{type: Failed, status: "True", lastUpdateTime: "` + written + `"}]}`,
		"issued":   `{certificate: ` + later + `, conditions: [{type: Approved, status: "True", lastUpdateTime: "` + written + `"}]}`,
		"expired":  `{certificate: ` + soon + `, conditions: [{type: Approved, status: "True", lastUpdateTime: "` + written + `"}]}`,
		"approved": `{conditions: [{type: Approved, status: "True", lastUpdateTime: "` + written + `"}]}`,
		"noted":    `{conditions: [{type: Noted, status: "True"}]}`,
	} {
		c.Load(`{apiVersion: certificates.k8s.io/v1, kind: CertificateSigningRequest, metadata: {name: ` + name + `}, spec: {signerName: example.com/a}, status: ` + status + `}`)
	}
	kind := "CertificateSigningRequest"
	c.Advance(30 * time.Minute)
	require.Len(t, c.List(kind, ""), 7)
	c.Advance(time.Second)
	require.Equal(t, []string{"approved", "denied", "failed", "issued", "new", "noted"}, c.Names(kind, ""))
	c.Advance(time.Hour)
	require.Equal(t, []string{"approved", "new", "noted"}, c.Names(kind, ""))
	c.Advance(24 * time.Hour)
	require.Equal(t, []string{"noted"}, c.Names(kind, ""))
}

// certificate returns a certificate that ends at a time, in PEM.
func certificate(t *testing.T, end time.Time) []byte {
	public, key, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: end}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, key)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
