package tokens

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
)

// Algorithm is that of the signatures.
const Algorithm = "ES256"

// KeysType is the type of Keys.
const KeysType = "application/jwk-set+json"

// A key is the public key of a signer, as JSON Web Keys have it.
type key struct {
	Use       string `json:"use"`
	Type      string `json:"kty"`
	ID        string `json:"kid"`
	Curve     string `json:"crv"`
	Algorithm string `json:"alg"`
	X         string `json:"x"`
	Y         string `json:"y"`
}

// Keys returns the set of the public keys that verify the tokens, as /openid/v1/jwks answers.
func (s *Signer) Keys() ([]byte, error) {
	public := &s.key.PublicKey
	point, err := public.Bytes() // 4, then the two numbers
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return nil, err
	}
	id := sha256.Sum256(der)
	return json.Marshal(map[string][]key{"keys": {{
		Use: "sig", Type: "EC", ID: encode(id[:]), Curve: "P-256", Algorithm: Algorithm, X: encode(point[1 : 1+half]), Y: encode(point[1+half:]),
	}}})
}
