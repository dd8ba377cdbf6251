package kstatus

import "strings"

// platform has the rules for secrets, monitoring and other platform services.
var platform = kindTable{
	"ExternalSecret.external-secrets.io":                                              externalSecret,
	"SecretStore,ClusterSecretStore,PushSecret,ClusterPushSecret.external-secrets.io": readyOrFailed,
	"SealedSecret.bitnami.com":                                                        falseFails("Synced"),

	"Prometheus,PrometheusAgent,Alertmanager,ThanosRuler.monitoring.coreos.com": either(
		suspendedWhen("spec", "paused"),
		falseFails("Reconciled", "Available"),
		needs("Reconciled", "Available"),
	),
	"*.operator.victoriametrics.com": phaseTable{
		inProgress: "expanding",
		current:    "operational",
		suspended:  "paused",
		failed:     "failed",
		empty:      InProgress,
	}.at("status", "updateStatus"),
	"VMUser,VMRule,VMServiceScrape,VMPodScrape,VMNodeScrape,VMStaticScrape,VMProbe,VMScrapeConfig,VMAlertmanagerConfig.operator.victoriametrics.com": phaseTable{
		inProgress: "expanding",
		current:    "operational",
		suspended:  "paused",
		failed:     "failed",
		empty:      Current,
	}.at("status", "updateStatus"),

	"GrafanaDatasource,GrafanaDashboard,GrafanaFolder,GrafanaAlertRuleGroup,GrafanaContactPoint.grafana.integreatly.org": grafanaMatch,
	"Grafana.grafana.integreatly.org": grafanaStage,
	"HelmChart.helm.cattle.io": either(
		when("Failed", "True", Failed),
		when("JobCreated", "True", Current),
	),
	"OpenTelemetryCollector.opentelemetry.io": collector,
	"KeptnMetric.metrics.keptn.sh":            keptnMetric,
}

// externalSecret is in progress while the secret cannot be read: the controller tries again, the
// store may be later than the secret (external-secrets, apis/externalsecrets/v1, ExternalSecret
// conditions; its reconciler returns the error, so that it is called again).
func externalSecret(o Object) (Result, bool) {
	if c, ok := o.fresh("Ready"); ok && c.status == "False" {
		return InProgress.From(c.condition()), true
	}
	return ready(o)
}

// grafanaMatch is Failed if no Grafana instance uses the object. Before version 5.10, a hash says
// that one does.
func grafanaMatch(o Object) (Result, bool) {
	switch {
	case o.Bool("status", "NoMatchingInstances"):
		return Failed.Because("NoMatchingInstances", "No Grafana instance matches").At("status.NoMatchingInstances"), true
	case len(o.conditions) == 0 && o.Text("status", "hash") != "":
		return Current.Because("", "Taken over by Grafana").At("status.hash"), true
	}
	return Result{}, false
}

// grafanaStage is Current once the last stage, named complete, has succeeded.
func grafanaStage(o Object) (Result, bool) {
	stage, status := o.Text("status", "stage"), o.Text("status", "stageStatus")
	switch {
	case status == "failed":
		return Failed.because("StageFailed", withWords("Failed at stage %s", stage)).At("status.stageStatus"), true
	case stage == "complete" && status == "success":
		return Current.Because("", "All stages are complete").At("status.stageStatus"), true
	}
	return inProgress("StageInProgress", withWords("At stage %s", stage), "status.stageStatus"), true
}

// collector reads the replicas from one text, such as "1/2".
func collector(o Object) (Result, bool) {
	ready, wanted, ok := strings.Cut(o.Text("status", "scale", "statusReplicas"), "/")
	switch {
	case !ok:
		// The operator writes the version together with the replicas, if it runs any; as a sidecar it
		// runs none (opentelemetry-operator, internal/status/collector: an error comes before both).
		return Current.Because("", "Nothing is to run").At("status.version"), o.Text("status", "version") != ""
	case ready != wanted:
		return inProgress("LessReady", withWords("Ready: %s/%s", ready, wanted), "status.scale.statusReplicas"), true
	}
	return Current.because("", withWords("Ready: %s/%s", ready, wanted)).At("status.scale.statusReplicas"), true
}

func keptnMetric(o Object) (Result, bool) {
	if hasValue(o.Value("status", "value")) && o.Text("status", "errMsg") == "" {
		return Current.Because("", "The metric has a value").At("status.value"), true
	}
	return Result{}, false
}

// certManager has the rules for cert-manager. A Certificate that is being issued is in progress,
// even if the last attempt failed. Orders and Challenges have the states of ACME.
var certManager = kindTable{
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

var acmeState = phaseTable{
	inProgress: "pending, processing, ready",
	current:    "valid",
	fatal:      "invalid, expired, errored",
	empty:      InProgress,
}.at("status", "state")

// issued distinguishes a certificate that is not issued yet from one that could not be issued.
func issued(o Object) (Result, bool) {
	c, ok := o.fresh("Ready")
	if !ok {
		return notYet("Ready", c, ok), true
	}
	switch {
	case c.status == "True":
		return Current.From(c.condition()), true
	case c.status == "False" && !issuing[c.reason()]:
		return Failed.From(c.condition()), true
	}
	return InProgress.From(c.condition()), true
}

// issuing are the reasons of a Certificate that is not Ready yet, but has no error.
var issuing = map[string]bool{
	"DoesNotExist": true, "InProgress": true, "Pending": true, "TemporaryCertificate": true,
}

// certificateRequest is Terminal when it is Failed or Denied: it is not tried again.
func certificateRequest(o Object) (Result, bool) {
	for _, kind := range [...]string{"InvalidRequest", "Denied"} {
		if c, ok := o.find(kind, "True", ""); ok {
			return Failed.From(c).terminal(), true
		}
	}
	if c, ok := o.find("Ready", "False", "Failed"); ok {
		return Failed.From(c).terminal(), true
	}
	return Result{}, false
}
