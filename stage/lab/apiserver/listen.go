package apiserver

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// ListenOptions of [Listen]. The zero value is the default.
type ListenOptions struct {
	Options
	// Address is where to listen. Default 127.0.0.1:0, which is a free port of loopback.
	Address string
}

// A Listener serves a cluster over TLS to those who have its token. It is safe for concurrent use.
type Listener struct {
	server *http.Server
	closes func() // connections with containers
	done   chan error
	url    string
	token  string
	ca     []byte // PEM
}

// Listen serves a cluster until Close, for programs: kubectl, helm and others. It takes requests
// with its token only, which is made anew each time, as is its certificate.
func Listen(c *memory.Cluster, o ListenOptions) (*Listener, error) {
	if o.Address == "" {
		o.Address = "127.0.0.1:0"
	}
	socket, err := net.Listen("tcp", o.Address)
	if err != nil {
		return nil, fmt.Errorf("apiserver: %w", err)
	}
	certificate, ca, err := newCertificate(socket.Addr())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("apiserver: %w", err), socket.Close())
	}
	o.ca, o.maxTime = string(ca), maxTime
	handler, err := New(c, o.Options)
	if err != nil {
		return nil, errors.Join(err, socket.Close())
	}
	secret := make([]byte, 16)
	_, _ = rand.Read(secret) // it never fails
	l := &Listener{closes: handler.connections.close, url: "https://" + socket.Addr().String(), token: hex.EncodeToString(secret), ca: ca, done: make(chan error, 1)}
	l.server = newServer(l.authenticated(handler))
	l.server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	go func() { l.done <- l.server.ServeTLS(socket, "", "") }()
	return l, nil
}

// newServer returns a server that does not wait for clients without end.
func newServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler: handler, MaxHeaderBytes: 1 << 20,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       maxTime, // of the whole request; a watch ends it once it has begun
		WriteTimeout:      2 * maxTime,
		IdleTimeout:       3 * time.Minute, // as in kube-apiserver
	}
}

// authenticated refuses requests without the token.
func (l *Listener) authenticated(next http.Handler) http.Handler {
	want := []byte("Bearer " + l.token)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), want) != 1 {
			writeError(w, r, apierrors.NewUnauthorized("Unauthorized"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Config returns a configuration with all permissions and no rate limit.
func (l *Listener) Config() *rest.Config {
	return &rest.Config{Host: l.url, BearerToken: l.token, TLSClientConfig: rest.TLSClientConfig{CAData: l.ca}, QPS: -1}
}

// Kubeconfig returns the configuration as a file for programs.
func (l *Listener) Kubeconfig() ([]byte, error) {
	const name = "stagecraft"
	return clientcmd.Write(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{name: {Server: l.url, CertificateAuthorityData: l.ca}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{name: {Token: l.token}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name, Namespace: "default"}},
		CurrentContext: name,
	})
}

// URL returns where the server is, such as https://127.0.0.1:34567.
func (l *Listener) URL() string { return l.url }

// Close ends all requests, watches too, and returns when nothing listens any more.
func (l *Listener) Close() error {
	err := l.server.Close()
	l.closes()
	if ended := <-l.done; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	l.done <- http.ErrServerClosed // for another Close
	return err
}

// newCertificate returns a certificate that signs itself, and its text.
func newCertificate(address net.Addr) (tls.Certificate, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "stagecraft"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(1, 0, 0), IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, DNSNames: []string{"localhost"},
	}
	if tcp, ok := address.(*net.TCPAddr); ok {
		template.IPAddresses = []net.IP{tcp.IP, net.IPv4(127, 0, 0, 1)}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}
