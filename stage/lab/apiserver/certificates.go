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
)

// An authority signs certificates. Its own certificate signs itself.
type authority struct {
	pair tls.Certificate
	root *x509.Certificate
}

// newAuthority returns an authority whose certificate is also that of a server at an address.
func newAuthority(address net.Addr) (authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return authority{}, err
	}
	template := newTemplate(pkix.Name{CommonName: "stagecraft"})
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
	return authority{tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, root}, err
}

// newTemplate returns a certificate to sign, valid for a year.
func newTemplate(subject pkix.Name) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: subject,
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(1, 0, 0), KeyUsage: x509.KeyUsageDigitalSignature,
	}
}

// sign returns the certificate and the key of a user, in PEM.
func (a authority) sign(name string, groups []string) (certificate, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template := newTemplate(pkix.Name{CommonName: name, Organization: groups})
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	der, err := x509.CreateCertificate(rand.Reader, template, a.root, private.Public(), a.pair.PrivateKey)
	if err != nil {
		return nil, nil, err
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	return inPEM("CERTIFICATE", der), inPEM("PRIVATE KEY", encoded), err
}

// with returns a pool of the authority's certificate and others.
func (a authority) with(others []*x509.Certificate) *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.root)
	for _, c := range others {
		pool.AddCert(c)
	}
	return pool
}

func inPEM(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
