package apiserver

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

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
	// Certificate is the certificate of the server. Its chain ends with the certificate that clients
	// trust. Default: a new one that signs itself, and with which the listener also signs the
	// certificates of users, see [Listener.User].
	Certificate *tls.Certificate
	// ClientCAs sign the certificates of clients, in addition to those of [Listener.User]: the common
	// name is the user, the organizations are the groups. Default: none.
	ClientCAs []*x509.Certificate
}

// A Listener serves a cluster over TLS to clients with credentials. It is safe for concurrent use.
type Listener struct {
	server *http.Server
	closes func() error // connections with containers
	done   chan error
	url    string
	token  string
	ca     []byte // PEM
	signer authority
	now    func() time.Time // of the cluster
}

// Listen serves a cluster until Close, for programs: kubectl, helm and others. Its credentials are its
// token, which is new each time and may do everything, and the certificates of clients. Checks of
// health need none.
func Listen(c *memory.Cluster, o ListenOptions) (*Listener, error) {
	if o.Address == "" {
		o.Address = "127.0.0.1:0"
	}
	socket, err := net.Listen("tcp", o.Address)
	if err != nil {
		return nil, fmt.Errorf("apiserver: %w", err)
	}
	signer, err := newAuthority(socket.Addr())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("apiserver: %w", err), socket.Close())
	}
	l := &Listener{url: "https://" + reachable(socket.Addr()), token: rand.Text(), signer: signer, now: c.Now, done: make(chan error, 1)}
	certificate := signer.pair
	if o.Certificate != nil {
		certificate = *o.Certificate
	}
	l.ca = inPEM("CERTIFICATE", certificate.Certificate[len(certificate.Certificate)-1])
	o.clientCA, o.endpoint = clientCA(signer, o.ClientCAs), endpointAt(socket.Addr())
	o.ca, o.maxTime, o.turns, o.credentials = string(l.ca), maxTime, newTurns(), credentials{secret: []byte("Bearer " + l.token), authority: signer.Authority, others: poolOf(o.ClientCAs)}
	handler, err := New(c, o.Options)
	if err != nil {
		return nil, errors.Join(err, socket.Close())
	}
	l.closes = handler.connections.close
	l.server = newServer(handler)
	l.server.ConnContext = withConnection
	l.server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificate}, ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	go func() { l.done <- l.server.ServeTLS(fairListener{socket, o.turns}, "", "") }()
	return l, nil
}

// reachable returns an address at which a client of this machine reaches a server: one that listens on
// all addresses is on loopback.
func reachable(address net.Addr) string {
	tcp, is := address.(*net.TCPAddr)
	if !is || !tcp.IP.IsUnspecified() {
		return address.String()
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port))
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

// Config returns a configuration with all permissions and no rate limit.
func (l *Listener) Config() *rest.Config {
	return &rest.Config{Host: l.url, BearerToken: l.token, TLSClientConfig: rest.TLSClientConfig{CAData: l.ca}, QPS: -1}
}

// User returns a configuration with the certificate of a user and its groups, which is valid for a
// year of the cluster's time. It has no rate limit.
func (l *Listener) User(name string, groups ...string) (*rest.Config, error) {
	certificate, key, err := l.signer.sign(name, groups, l.now())
	if err != nil {
		return nil, fmt.Errorf("apiserver: the certificate of user %q: %w", name, err)
	}
	return &rest.Config{Host: l.url, TLSClientConfig: rest.TLSClientConfig{CAData: l.ca, CertData: certificate, KeyData: key}, QPS: -1}, nil
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

// Close ends all requests, watches too, and returns when nothing listens any more. The error names a
// function of containers.Options that goes on ten seconds after its context has ended.
func (l *Listener) Close() error {
	err := errors.Join(l.server.Close(), l.closes())
	if ended := <-l.done; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	l.done <- http.ErrServerClosed // for another Close
	return err
}
