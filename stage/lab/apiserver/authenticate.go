package apiserver

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/x509"
	"encoding/hex"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver/internal/certificates"
	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver/internal/tokens"
)

// admin is the user of requests that need no credentials, and of the listener's token. It is shared,
// so nothing changes it.
var admin = &user.DefaultInfo{Name: "kubernetes-admin", Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated}}

// credentials are what a listener knows its clients by.
type credentials struct {
	secret    []byte                 // the header Authorization of the administrator; nil: requests without credentials are the administrator's
	authority certificates.Authority // signs the certificates of clients; zero: no certificate is a credential
	others    *x509.CertPool         // sign them too
	now       func() time.Time       // of the cluster
}

// identify returns the user of a request, before impersonation.
func (s *Server) identify(r *http.Request) (*user.DefaultInfo, error) {
	known := &s.credentials
	if known.secret != nil && subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), known.secret) == 1 {
		return admin, nil
	}
	if client := known.client(r); client != nil {
		return client, nil
	}
	token := bearer(r)
	if token != "" {
		account, t, err := s.account(r, token)
		switch {
		case err != nil || t != nil && !slices.Contains(t.Audience, tokens.Issuer):
			return nil, apierrors.NewUnauthorized("Unauthorized")
		case account != nil:
			return account, nil
		}
	}
	switch {
	case known.secret == nil:
		return admin, nil
	case token == "" && (s.roles != nil || isHealth(r.URL.Path)):
		return anonymous, nil
	}
	return nil, apierrors.NewUnauthorized("Unauthorized")
}

var anonymous = &user.DefaultInfo{Name: user.Anonymous, Groups: []string{user.AllUnauthenticated}}

// isHealth reports whether a path is a check of health, which needs no credentials.
func isHealth(path string) bool {
	first, _, _ := strings.Cut(strings.Trim(path, "/"), "/")
	return first == "healthz" || first == "livez" || first == "readyz"
}

// A connection remembers the user of its client's certificate, which is verified once.
type connection struct {
	once sync.Once
	user *user.DefaultInfo // nil: it has no certificate that is a credential
}

type connectionKey struct{}

// withConnection is the ConnContext of a listener.
func withConnection(ctx context.Context, _ net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, &connection{})
}

// client returns the user of the certificate of a request; nil without a valid one.
func (c *credentials) client(r *http.Request) *user.DefaultInfo {
	if c.authority.Root == nil || r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return nil
	}
	known, _ := r.Context().Value(connectionKey{}).(*connection)
	if known == nil {
		return c.verify(r.TLS.PeerCertificates)
	}
	known.once.Do(func() { known.user = c.verify(r.TLS.PeerCertificates) })
	return known.user
}

// verify returns the user that a certificate names: its common name, with its organizations as groups.
// A certificate that is not valid is no credential, as in kube-apiserver. Those that the server signs
// are valid by the clock of the cluster, which a lab can begin at any time.
func (c *credentials) verify(chain []*x509.Certificate) *user.DefaultInfo {
	leaf := chain[0]
	if leaf.Subject.CommonName == "" || !c.authority.Verifies(leaf, c.now()) && !c.isOfOthers(chain) {
		return nil
	}
	print := sha256.Sum256(leaf.Raw)
	return &user.DefaultInfo{Name: leaf.Subject.CommonName, Groups: withGroup(leaf.Subject.Organization, user.AllAuthenticated),
		Extra: map[string][]string{user.CredentialIDKey: {"X509SHA256=" + hex.EncodeToString(print[:])}}}
}

// isOfOthers reports whether another authority has signed a certificate of a client, by the clock of the
// machine.
func (c *credentials) isOfOthers(chain []*x509.Certificate) bool {
	o := x509.VerifyOptions{Roots: c.others, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, Intermediates: x509.NewCertPool()}
	for _, intermediate := range chain[1:] {
		o.Intermediates.AddCert(intermediate)
	}
	_, err := chain[0].Verify(o)
	return err == nil
}
