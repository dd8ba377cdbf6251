// Package tokens signs and reads the tokens of ServiceAccounts, which are JSON Web Tokens as
// kube-apiserver's. The same key and claims give the same token, so that virtual time repeats.
//
// # Concurrency
//
// A Signer is safe for concurrent use.
package tokens

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"sync"
)

// Issuer is who issues the tokens. It is also the audience of requests.
const Issuer = "https://kubernetes.default.svc.cluster.local"

// Claims are what a token says.
type Claims struct {
	Audience   []string   `json:"aud"`
	Expires    int64      `json:"exp"`
	Issued     int64      `json:"iat"`
	Issuer     string     `json:"iss"`
	ID         string     `json:"jti"`
	Kubernetes Kubernetes `json:"kubernetes.io"`
	NotBefore  int64      `json:"nbf"`
	Subject    string     `json:"sub"`

	InSecret *InSecret `json:"-"` // nil unless the token is one of a Secret, whose claims these are
}

// Kubernetes names the objects of a token: its ServiceAccount, and those with which it ends.
type Kubernetes struct {
	Namespace string     `json:"namespace"`
	Node      *Reference `json:"node,omitempty"`
	Pod       *Reference `json:"pod,omitempty"`
	Secret    *Reference `json:"secret,omitempty"`
	Account   Reference  `json:"serviceaccount"`
}

// A Reference names an object.
type Reference struct {
	Name string `json:"name"`
	UID  string `json:"uid,omitempty"`
}

// A Signer signs tokens, and knows its own.
type Signer struct {
	key    *ecdsa.PrivateKey
	header string // encoded

	mu    sync.Mutex
	known map[string]Claims // tokens whose signature was checked
}

// mostKnown is how many tokens a Signer remembers.
const mostKnown = 1000

// New returns a signer with a new key, or with the same key each time.
func New(isRepeated bool) (*Signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if isRepeated {
		seed := sha256.Sum256([]byte("stagecraft: a cluster that only its own process can reach"))
		key, err = ecdsa.ParseRawPrivateKey(elliptic.P256(), seed[:])
	}
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, err
	}
	id := sha256.Sum256(der)
	header := fmt.Sprintf(`{"alg":"ES256","kid":%q}`, encode(id[:]))
	return &Signer{key: key, header: encode([]byte(header)), known: map[string]Claims{}}, nil
}

var encode = base64.RawURLEncoding.EncodeToString

// signature has the two numbers of a signature, as ASN.1 has them.
type signature struct{ R, S *big.Int }

// half is the number of bytes of one of the two numbers in a token.
const half = 32

// Sign returns a token.
func (s *Signer) Sign(c Claims) (string, error) { return s.sign(c) }

func (s *Signer) sign(claims any) (string, error) {
	body, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	text := s.header + "." + encode(body)
	digest := sha256.Sum256([]byte(text))
	der, err := s.key.Sign(nil, digest[:], crypto.SHA256) // without a source of random numbers it is the same each time
	if err != nil {
		return "", err
	}
	var made signature
	if _, err := asn1.Unmarshal(der, &made); err != nil {
		return "", err
	}
	raw := make([]byte, 2*half)
	made.R.FillBytes(raw[:half])
	made.S.FillBytes(raw[half:])
	return text + "." + encode(raw), nil
}

// Read returns the claims of a token that the signer has signed; false for any other text. The token can
// have expired.
func (s *Signer) Read(token string) (Claims, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, known := s.known[token]; known {
		return c, true
	}
	c, ok := s.check(token)
	if ok {
		if len(s.known) >= mostKnown {
			clear(s.known)
		}
		s.known[token] = c
	}
	return c, ok
}

func (s *Signer) check(token string) (c Claims, ok bool) {
	text, ok := strings.CutPrefix(token, s.header+".")
	body, signed, found := strings.Cut(text, ".")
	if !ok || !found {
		return c, false
	}
	raw, err := base64.RawURLEncoding.DecodeString(signed)
	if err != nil || len(raw) != 2*half {
		return c, false
	}
	digest := sha256.Sum256([]byte(token[:len(s.header)+1+len(body)]))
	if !ecdsa.Verify(&s.key.PublicKey, digest[:], new(big.Int).SetBytes(raw[:half]), new(big.Int).SetBytes(raw[half:])) {
		return c, false
	}
	data, err := base64.RawURLEncoding.DecodeString(body)
	if err != nil {
		return c, false
	}
	return read(data)
}
