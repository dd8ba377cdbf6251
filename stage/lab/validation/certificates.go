package validation

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// keyUsages are the possible usages of a certificate, in the order of the server's message.
var keyUsages = []string{
	"any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment", "decipher only", "digital signature", "email protection", "encipher only",
	"ipsec end system", "ipsec tunnel", "ipsec user", "key agreement", "key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime", "server auth", "signing", "timestamping",
}

// signingRequest are the rules of validateCertificateSigningRequest of certificates/validation.
var signingRequest = rules{of("spec", always(rules{
	of("request", pemRequest), of("usages", required, elements(mustBe(keyUsages...)), distinct), of("signerName", signer),
	given("expirationSeconds", between(600, 1<<62, "may not specify a duration less than 600 seconds (10 minutes)")),
}))}

func pemRequest(f fieldOf) {
	decoded, err := base64.StdEncoding.DecodeString(text(f.value))
	if err != nil {
		return // the schema refuses it
	}
	if err := faultOfRequest(decoded); err != nil {
		f.add(field.Invalid(f.path(), f.value, err.Error()))
	}
}

func faultOfRequest(data []byte) error {
	block, _ := pem.Decode(data)
	if block == nil || block.Type != "CERTIFICATE REQUEST" {
		return errors.New("PEM block type must be CERTIFICATE REQUEST")
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return err
	}
	return request.CheckSignature()
}

// signer is ValidateSignerName of core/validation.
func signer(f fieldOf) {
	name := text(f.value)
	domain, path, _ := strings.Cut(name, "/")
	switch {
	case name == "":
		f.add(field.Required(f.path(), ""))
		return
	case name == "kubernetes.io/legacy-unknown":
		f.add(field.Invalid(f.path(), name, "the legacy signerName is not allowed via this API version"))
		return
	case strings.Count(name, "/") != 1:
		f.add(field.Invalid(f.path(), name, "must be a fully qualified domain and path of the form 'example.com/signer-name'"))
		return
	}
	partsOf(f, domain, validation.IsDNS1123Label)
	if !strings.Contains(domain, ".") {
		f.add(field.Invalid(f.path(), domain, "should be a domain with at least two segments separated by dots"))
	}
	partsOf(f, path, validation.IsDNS1123Subdomain)
}

// partsOf checks the parts between dots, up to the first wrong part.
func partsOf(f fieldOf, s string, faultsOf func(string) []string) {
	for part := range strings.SplitSeq(s, ".") {
		faults := faultsOf(part)
		for _, message := range faults {
			f.add(field.Invalid(f.path(), s, fmt.Sprintf("validating label %q: %s", part, message)))
		}
		if len(faults) > 0 {
			return
		}
	}
}
