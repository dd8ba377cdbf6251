package kstatus

// cert-manager: a Certificate that is being issued is on the way, even if the last attempt failed; Orders and Challenges speak ACME.
var certManager = catalogue{
	"Certificate.cert-manager.io":                     either(when("Issuing", "True", InProgress), issued),
	"Certificate.certmanager.k8s.io":                  issued,
	"Issuer,ClusterIssuer.cert-manager.io":            readyOrFailed,
	"Issuer,ClusterIssuer.certmanager.k8s.io":         readyOrFailed,
	"CertificateRequest.cert-manager.io":              either(certificateRequest, needs("Ready")),
	"Order,Challenge.acme.cert-manager.io":            acmeState,
	"Order,Challenge.certmanager.k8s.io":              acmeState,
	"Bundle.trust.cert-manager.io":                    either(needs("Synced"), falseFails("Synced")),
	"CertificateRequestPolicy.policy.cert-manager.io": needs("Ready"),
}

var acmeState = vocabulary{inProgress: "pending, processing, ready", current: "valid", fatal: "invalid, expired, errored", empty: InProgress}.
	says("status", "state")

// issued tells a certificate that is not there yet from one that could not be had.
func issued(o Object) (Result, bool) {
	c, ok := o.fresh("Ready")
	if !ok {
		return o.missing("Ready", c, ok), true
	}
	switch {
	case c.status == "True":
		return Current.From(c.condition()), true
	case c.status == "False" && !issuing[c.reason()]:
		return Failed.From(c.condition()), true
	}
	return InProgress.From(c.condition()), true
}

// issuing are the reasons for which a Certificate is not Ready yet.
var issuing = set("DoesNotExist InProgress Pending TemporaryCertificate")

// certificateRequest is decided once: it is Failed or Denied for good.
func certificateRequest(o Object) (Result, bool) {
	for _, kind := range [...]string{"InvalidRequest", "Denied"} {
		if c, ok := o.find(kind, "True", ""); ok {
			r := Failed.From(c)
			r.Terminal = true
			return r, true
		}
	}
	if c, ok := o.find("Ready", "False", "Failed"); ok {
		r := Failed.From(c)
		r.Terminal = true
		return r, true
	}
	return Result{}, false
}
