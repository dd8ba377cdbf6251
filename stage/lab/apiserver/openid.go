package apiserver

import (
	"net/http"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver/internal/tokens"
)

const keysPath = "/openid/v1/jwks"

// serveIssuer answers how the tokens of ServiceAccounts are verified, as OpenID Connect has it.
func serveIssuer(_ *Server, w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "public, max-age=3600")
	writeJSON(w, http.StatusOK, struct {
		Issuer     string   `json:"issuer"`
		Keys       string   `json:"jwks_uri"`
		Responses  []string `json:"response_types_supported"`
		Subjects   []string `json:"subject_types_supported"`
		Algorithms []string `json:"id_token_signing_alg_values_supported"`
	}{tokens.Issuer, "https://" + r.Host + keysPath, []string{"id_token"}, []string{"public"}, []string{tokens.Algorithm}})
}

// serveKeys answers with the public keys of the tokens.
func serveKeys(s *Server, w http.ResponseWriter, r *http.Request) {
	data, err := s.signer.Keys()
	if err != nil {
		writeError(w, r, err)
		return
	}
	w.Header().Set("Cache-Control", "public, max-age=3600")
	writeBytes(w, http.StatusOK, tokens.KeysType, data)
}
