package kstatus

import "strings"

// Secrets, monitoring and other platform services.
var platform = catalogue{
	"ExternalSecret,SecretStore,ClusterSecretStore,PushSecret,ClusterPushSecret.external-secrets.io": readyOrFailed,
	"SealedSecret.bitnami.com": falseFails("Synced"),

	"Prometheus,PrometheusAgent,Alertmanager,ThanosRuler.monitoring.coreos.com": either(suspendedWhen("spec", "paused"),
		falseFails("Reconciled", "Available"), needs("Reconciled", "Available")),
	"*.operator.victoriametrics.com": vocabulary{
		inProgress: "expanding", current: "operational", suspended: "paused", failed: "failed", empty: InProgress,
	}.says("status", "updateStatus"),
	"VMUser,VMRule,VMServiceScrape,VMPodScrape,VMNodeScrape,VMStaticScrape,VMProbe,VMScrapeConfig,VMAlertmanagerConfig.operator.victoriametrics.com": vocabulary{
		inProgress: "expanding", current: "operational", suspended: "paused", failed: "failed", empty: Current,
	}.says("status", "updateStatus"),

	"GrafanaDatasource,GrafanaDashboard,GrafanaFolder,GrafanaAlertRuleGroup,GrafanaContactPoint.grafana.integreatly.org": grafanaMatch,
	"Grafana.grafana.integreatly.org":         grafanaStage,
	"HelmChart.helm.cattle.io":                either(when("Failed", "True", Failed), when("JobCreated", "True", Current)),
	"OpenTelemetryCollector.opentelemetry.io": collector,
	"KeptnMetric.metrics.keptn.sh":            keptnMetric,
}

// grafanaMatch: what no instance takes is of no use; before version 5.10 a hash tells what was taken.
func grafanaMatch(o Object) (Result, bool) {
	switch {
	case o.Bool("status", "NoMatchingInstances"):
		return Failed.Because("NoMatchingInstances", "No Grafana instance matches").At("status.NoMatchingInstances"), true
	case len(o.conditions) == 0 && o.Text("status", "hash") != "":
		return Current.Because("", "Taken over by Grafana").At("status.hash"), true
	}
	return Result{}, false
}

// grafanaStage: all stages must succeed; the last is called complete.
func grafanaStage(o Object) (Result, bool) {
	stage, status := o.Text("status", "stage"), o.Text("status", "stageStatus")
	switch {
	case status == "failed":
		return Failed.because("StageFailed", named("Failed at stage %s", stage)).At("status.stageStatus"), true
	case stage == "complete" && status == "success":
		return Current.Because("", "All stages are complete").At("status.stageStatus"), true
	}
	return InProgress.because("StageInProgress", named("At stage %s", stage)).At("status.stageStatus"), true
}

// collector has its replicas in one text: "1/2" are ready.
func collector(o Object) (Result, bool) {
	ready, wanted, ok := strings.Cut(o.Text("status", "scale", "statusReplicas"), "/")
	switch {
	case !ok:
		return Result{}, false
	case ready != wanted:
		return InProgress.because("LessReady", named("Ready: %s/%s", ready, wanted)).At("status.scale.statusReplicas"), true
	}
	return Current.because("", named("Ready: %s/%s", ready, wanted)).At("status.scale.statusReplicas"), true
}

func keptnMetric(o Object) (Result, bool) {
	if o.Text("status", "value") != "" && o.Text("status", "errMsg") == "" {
		return Current.Because("", "The metric has a value").At("status.value"), true
	}
	return Result{}, false
}
