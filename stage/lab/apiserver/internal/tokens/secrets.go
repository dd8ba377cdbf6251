package tokens

import "encoding/json"

// SecretIssuer is who issues the tokens in Secrets.
const SecretIssuer = "kubernetes/serviceaccount"

// InSecret are the claims of a token in a Secret, which does not expire.
type InSecret struct {
	Issuer    string `json:"iss"`
	Namespace string `json:"kubernetes.io/serviceaccount/namespace"`
	Secret    string `json:"kubernetes.io/serviceaccount/secret.name"`
	Account   string `json:"kubernetes.io/serviceaccount/service-account.name"`
	UID       string `json:"kubernetes.io/serviceaccount/service-account.uid"`
	Subject   string `json:"sub"`
}

// SignInSecret returns a token for a Secret.
func (s *Signer) SignInSecret(c InSecret) (string, error) { return s.sign(c) }

// read reads the claims of a token of either kind. A token in a Secret is for the requests of a server.
func read(data []byte) (c Claims, ok bool) {
	if json.Unmarshal(data, &c) != nil {
		return c, false
	}
	if c.Issuer != SecretIssuer {
		return c, true
	}
	c.InSecret, c.Audience = &InSecret{}, []string{Issuer}
	return c, json.Unmarshal(data, c.InSecret) == nil
}
