package apiserver

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"time"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver/internal/certificates"
)

// An authority signs certificates. Its own certificate signs itself.
type authority struct {
	certificates.Authority
	pair tls.Certificate
}

// newAuthority returns an authority whose certificate is also that of a server at an address.
func newAuthority(address net.Addr) (authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return authority{}, err
	}
	template := newTemplate(pkix.Name{CommonName: "stagecraft"}, time.Now())
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage |= x509.KeyUsageCertSign
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	template.DNSNames = []string{"localhost"}
	if tcp, ok := address.(*net.TCPAddr); ok {
		template.IPAddresses = []net.IP{tcp.IP, net.IPv4(127, 0, 0, 1)}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return authority{}, err
	}
	root, err := x509.ParseCertificate(der)
	return authority{certificates.Authority{Root: root, Key: key}, tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}}, err
}

// newTemplate returns a certificate to sign, valid for a year.
func newTemplate(subject pkix.Name, now time.Time) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: subject,
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(1, 0, 0), KeyUsage: x509.KeyUsageDigitalSignature,
	}
}

// sign returns the certificate and the key of a user, in PEM.
func (a authority) sign(name string, groups []string, now time.Time) (certificate, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template := newTemplate(pkix.Name{CommonName: name, Organization: groups}, now)
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	der, err := x509.CreateCertificate(rand.Reader, template, a.Root, private.Public(), a.Key)
	if err != nil {
		return nil, nil, err
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	return inPEM("CERTIFICATE", der), inPEM("PRIVATE KEY", encoded), err
}

// clientCA returns the certificates that sign those of clients, in PEM.
func clientCA(own authority, others []*x509.Certificate) string {
	text := inPEM("CERTIFICATE", own.Root.Raw)
	for _, c := range others {
		text = append(text, inPEM("CERTIFICATE", c.Raw)...)
	}
	return string(text)
}

// poolOf returns a pool of certificates.
func poolOf(all []*x509.Certificate) *x509.CertPool {
	pool := x509.NewCertPool()
	for _, c := range all {
		pool.AddCert(c)
	}
	return pool
}

func inPEM(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
