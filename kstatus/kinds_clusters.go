package kstatus

import (
	"github.com/stagecraft-go/stagecraft/internal/object"
)

// clusters has the rules for machines and clusters: Cluster API, Karpenter, Karmada, Open Cluster
// Management, OLM, OpenShift and nmstate.
var clusters = kindTable{
	"*.cluster.x-k8s.io":       clusterAPI,
	"Cluster.cluster.x-k8s.io": either(clusterAPI, suspension, clusterReady),
	"*.*.cluster.x-k8s.io":     clusterAPI,
	"NodeClaim.karpenter.sh": either(
		pausedBy("Disrupting"),
		falseFails("Ready"),
		needs("Launched", "Registered", "Initialized", "Ready"),
		when("Ready", "True", Current),
	),
	"NodePool.karpenter.sh": readyOrFailed,
	"*.karpenter.k8s.aws":   readyOrFailed,
	"*.karpenter.azure.com": readyOrFailed,

	"ResourceBinding,ClusterResourceBinding.work.karmada.io": either(karmadaBinding, needs("FullyApplied")),
	"Work.work.karmada.io": needs("Applied"),
	"PropagationPolicy,ClusterPropagationPolicy,OverridePolicy,ClusterOverridePolicy.policy.karmada.io": exists,

	"ManifestWork.work.open-cluster-management.io": needs("Applied", "Available"),
	"ManagedCluster.cluster.open-cluster-management.io": needs("HubAcceptedManagedCluster",
		"ManagedClusterJoined", "ManagedClusterConditionAvailable"),
	"ManagedClusterAddOn.addon.open-cluster-management.io": needs("Available"),
	"Policy.policy.open-cluster-management.io": either(
		suspendedWhen("spec", "disabled"),
		policyWithoutClusters,
		compliance,
	),
	"ConfigurationPolicy,CertificatePolicy.policy.open-cluster-management.io": either(
		suspendedWhen("spec", "disabled"),
		policyNotEvaluated,
		compliance,
	),
	"OperatorPolicy.policy.open-cluster-management.io": either(
		falseFails("Compliant"),
		needs("Compliant"),
		compliance,
	),

	"Subscription.operators.coreos.com": olmSubscription,
	"ClusterServiceVersion.operators.coreos.com": phaseTable{
		inProgress: "None, Pending, InstallReady, Installing, Replacing, Deleting, Unknown",
		current:    "Succeeded",
		failed:     "Failed",
		empty:      InProgress,
	}.at("status", "phase"),
	"InstallPlan.operators.coreos.com": phaseTable{
		inProgress: "None, Planning, Installing",
		current:    "Complete",
		suspended:  "RequiresApproval",
		fatal:      "Failed",
		empty:      InProgress,
	}.at("status", "phase"),
	"CatalogSource.operators.coreos.com": phaseTable{
		inProgress: "CONNECTING, IDLE",
		current:    "READY",
		failed:     "TRANSIENT_FAILURE, SHUTDOWN",
		empty:      InProgress,
	}.at("status", "connectionState", "lastObservedState"),
	"OperatorGroup.operators.coreos.com": exists,

	"DeploymentConfig.apps.openshift.io": either(deploymentConfig, needs("Available", "Progressing")),
	"MachineConfigPool.machineconfiguration.openshift.io": either(
		suspendedWhen("spec", "paused"),
		when("Degraded", "True", Failed),
		when("NodeDegraded", "True", Failed),
		when("RenderDegraded", "True", Failed),
		when("Updating", "True", InProgress),
		when("Updated", "True", Current),
	),
	"ClusterVersion.config.openshift.io": either(when("Failing", "True", Failed), needs("Available")),
	"ImageStream.image.openshift.io":     exists,
	"Build.build.openshift.io": phaseTable{
		inProgress: "New, Pending, Running",
		current:    "Complete",
		fatal:      "Failed, Error, Cancelled",
		empty:      InProgress,
	}.at("status", "phase"),

	"NodeNetworkConfigurationPolicy.nmstate.io": pausedBy("Ignored"),

	"Shoot.core.gardener.cloud": shootLabel,
}

var clusterAPIPaused = annotated("cluster.x-k8s.io/paused", "")

func clusterReady(o Object) (Result, bool) {
	if r, ok := statusFields(o); ok && (r.Status != Current || r.Suspended) {
		return r, true
	}
	return clusterPhase(o)
}

// clusterPhase: Ready is also True for a cluster that is being provisioned, if its parts are ready.
// The phases are those of cluster-api, api/core/v1beta2/cluster_phase_types.go.
var clusterPhase = phaseTable{inProgress: "Pending, Provisioning, Deleting", failed: "Failed"}.at("status", "phase")

// clusterAPI leaves conditions, phases and counts to the general rules. An object with a
// failureReason does not recover.
func clusterAPI(o Object) (Result, bool) {
	if r, ok := clusterAPIPaused(o); ok {
		return r, true
	}
	if r, ok := errorField(&o); ok {
		r.Terminal = true
		return r, true
	}
	return Result{}, false
}

// shootLabel reads the label in which Gardener sums up the last operation and all conditions of a
// Shoot (gardener, docs/usage/shoot/shoot_status.md, "Status Label").
func shootLabel(o Object) (Result, bool) {
	labels, _ := object.ToMap(o.metadata["labels"])
	status, known := shootStatuses[labels["shoot.gardener.cloud/status"]]
	if !known || status == Current {
		return Result{}, false
	}
	return status.because(string(status), text("The status label is "+labels["shoot.gardener.cloud/status"].(string))).At("metadata.labels"), true
}

var shootStatuses = map[any]Status{"healthy": Current, "progressing": InProgress, "unhealthy": Failed}

// compliance is the verdict of a policy on the objects to which it applies.
var compliance = phaseTable{
	inProgress: "Pending, UnknownCompliancy, Terminating",
	failed:     "NonCompliant",
	current:    "Compliant",
	empty:      InProgress,
}.at("status", "compliant")

// policyNotEvaluated: the policy has not been evaluated since it was changed
// (config-policy-controller, api/v1/configurationpolicy_types.go, lastEvaluatedGeneration).
func policyNotEvaluated(o Object) (Result, bool) {
	evaluated, ok := o.Int("status", "lastEvaluatedGeneration")
	if !ok || evaluated >= o.generation() {
		return Result{}, false
	}
	m := withNumbers("Generation is %d, but generation %d was evaluated", o.generation(), evaluated)
	return inProgress("NotEvaluated", m, "status.lastEvaluatedGeneration"), true
}

// policyWithoutClusters: the policy has placements, and none of them selects a cluster.
func policyWithoutClusters(o Object) (Result, bool) {
	placements := o.List("status", "placement")
	for _, item := range placements {
		if p, _ := object.ToMap(item); p["decisions"] != nil {
			return Result{}, false
		}
	}
	none := len(placements) > 0 && o.Text("status", "compliant") == "" && len(o.List("status", "status")) == 0
	return Current.Because("", "No cluster is selected").At("status.placement"), none
}

// deploymentConfig does not use reasons: they do not distinguish an error from the first start.
func deploymentConfig(o Object) (Result, bool) {
	if o.Bool("spec", "paused") {
		return suspendedBy("spec", "paused"), true
	}
	if c, ok := o.Condition("Progressing"); ok && c.Status == "False" {
		return Failed.From(c), true
	}
	return Result{}, false
}

// olmSubscription is suspended while an upgrade must be approved by hand. It is in progress if
// nothing is installed yet.
func olmSubscription(o Object) (Result, bool) {
	for _, kind := range [...]string{"InstallPlanFailed", "ResolutionFailed", "BundleUnpackFailed", "CatalogSourcesUnhealthy"} {
		if c, ok := o.find(kind, "True", ""); ok {
			return Failed.From(c), true
		}
	}
	c, pending := o.find("InstallPlanPending", "True", "")
	switch {
	case !pending:
		return olmState(o)
	case c.Reason == "RequiresApproval" && o.Text("spec", "installPlanApproval") == "Manual" && o.Text("status", "installedCSV") != "":
		return Current.From(c).suspended(), true
	}
	return InProgress.From(c), true
}

var olmState = phaseTable{
	inProgress: "UpgradePending",
	current:    "AtLatestKnown, UpgradeAvailable",
	failed:     "UpgradeFailed",
	empty:      InProgress,
}.at("status", "state")

// karmadaBinding reads the health of the bound object in each cluster.
func karmadaBinding(o Object) (Result, bool) {
	if c, ok := o.find("Scheduled", "False", ""); ok {
		return InProgress.From(c), true
	}
	wanted, reported := len(o.List("spec", "clusters")), o.List("status", "aggregatedStatus")
	for _, item := range reported {
		cluster, _ := object.ToMap(item)
		if r, found := clusterProblem(cluster); found {
			return r, true
		}
	}
	if len(reported) < wanted {
		return inProgress("LessReported", withNumbers("Clusters: %d/%d", int64(len(reported)), int64(wanted)), "status.aggregatedStatus"), true
	}
	return Result{}, false
}

func clusterProblem(cluster map[string]any) (Result, bool) {
	name, _ := cluster["clusterName"].(string)
	switch {
	case cluster["applied"] == false:
		return Failed.because("NotApplied", withWords("Not applied in %s", name)).At("status.aggregatedStatus"), true
	case cluster["health"] == "Unhealthy":
		return Failed.because("Unhealthy", withWords("Not healthy in %s", name)).At("status.aggregatedStatus"), true
	}
	return Result{}, false
}

// cloud has the rules for cloud resources: Crossplane, Config Connector, ACK, Azure Service
// Operator, Pulumi and Terraform.
var cloud = kindTable{
	"*.*.crossplane.io":                              crossplane,
	"Operation.ops.crossplane.io":                    crossplaneOperation,
	"CronOperation,WatchOperation.ops.crossplane.io": needs("Synced"),
	"*.*.upbound.io":                                 crossplane,
	"Provider,Configuration,Function.pkg.crossplane.io": either(
		falseFails("Installed"),
		needs("Installed", "Healthy"),
		statusFields,
	),
	"ProviderRevision,ConfigurationRevision,FunctionRevision.pkg.crossplane.io": either(
		crossplaneRevision,
		revisionHealthy,
		statusFields,
	),
	"DeploymentRuntimeConfig,ControllerConfig,ImageConfig,Lock.pkg.crossplane.io":   exists,
	"Composition,CompositionRevision,EnvironmentConfig.apiextensions.crossplane.io": exists,
	"CompositeResourceDefinition.apiextensions.crossplane.io": either(
		needs("Established"),
		statusFields,
	),
	"*.*.cnrm.cloud.google.com":                                         configConnector,
	"ConfigConnector,ConfigConnectorContext.core.cnrm.cloud.google.com": configConnectorHealth,
	"*.*.services.k8s.aws":                                              ack,
	"*.*.azure.com":                                                     needs("Ready"),
	"Stack.pulumi.com":                                                  needs("Ready"),
	"Terraform.infra.contrib.fluxcd.io":                                 either(suspendedWhen("spec", "suspend"), fluxReady),
}

var crossplanePaused = annotated("crossplane.io/paused", "true")

// crossplane is the rule for managed resources. The configurations of their providers are in the
// same groups and have no conditions.
func crossplane(o Object) (Result, bool) {
	switch o.kind {
	case "ProviderConfig", "ClusterProviderConfig", "ProviderConfigUsage", "ClusterProviderConfigUsage", "StoreConfig":
		return exists(o)
	}
	if r, ok := crossplanePaused(o); ok {
		return r, ok
	}
	if _, nested := o.status["conditionedStatus"]; nested {
		return Result{}, false // the old form of Crossplane stacks
	}
	return ready(o)
}

// revisionHealthy reads Healthy, or RevisionHealthy and, for what runs, RuntimeHealthy of Crossplane
// 2 (crossplane/v2, apis/pkg/v1/conditions.go).
func revisionHealthy(o Object) (Result, bool) {
	if _, v2 := o.Condition("RevisionHealthy"); !v2 {
		return needs("Healthy")(o)
	}
	if o.kind == "ConfigurationRevision" {
		return needs("RevisionHealthy")(o)
	}
	return needs("RevisionHealthy", "RuntimeHealthy")(o)
}

// crossplaneOperation ends, so that it has no Ready (crossplane/v2, apis/ops/v1alpha1: Succeeded).
func crossplaneOperation(o Object) (Result, bool) {
	c, ok := o.fresh("Succeeded")
	switch {
	case ok && c.status == "True":
		return Current.From(c.condition()), true
	case ok && c.status == "False":
		return Failed.From(c.condition()).terminal(), true
	}
	return notYet("Succeeded", c, ok), true
}

// crossplaneRevision is suspended if the revision is inactive: it is kept, but does not run.
func crossplaneRevision(o Object) (Result, bool) {
	if o.Text("spec", "desiredState") == "Inactive" {
		return suspendedBy("spec", "desiredState"), true
	}
	return Result{}, false
}

// configConnector reads from the reason of Ready=False whether the controller still works on the
// object.
func configConnector(o Object) (Result, bool) {
	c, ok := o.fresh("Ready")
	switch {
	case !ok:
		return InProgress.because("ConditionMissing", text("Waiting for condition Ready")).onCondition("Ready"), true
	case c.status != "False":
		return Result{}, false
	}
	switch c.reason() {
	case "Creating", "Updating", "Deleting", "DependencyNotReady", "Unmanaged":
		return InProgress.From(c.condition()), true
	}
	return Failed.From(c.condition()), true
}

func configConnectorHealth(o Object) (Result, bool) {
	healthy, told := o.status["healthy"].(bool)
	switch {
	case !told:
		return Result{}, false
	case healthy:
		return Current.Because("", "Healthy").atItem("status", "healthy"), true
	}
	return Failed.Because("Unhealthy", "Not healthy").atItem("status", "healthy"), true
}

var ackTerminal, ackRecoverable = when("ACK.Terminal", "True", Failed), when("ACK.Recoverable", "True", InProgress)

// ack distinguishes terminal errors, which need a change of the spec, from recoverable ones, which
// the controller tries again (aws-controllers-k8s/runtime, apis/core/v1alpha1/conditions.go). An object that is not synced yet is in progress.
func ack(o Object) (Result, bool) {
	if r, ok := ackTerminal(o); ok {
		r.Terminal = true
		return r, true
	}
	if r, ok := ackRecoverable(o); ok {
		return r, true
	}
	c, ok := o.fresh("ACK.ResourceSynced")
	switch {
	case !ok:
		return InProgress.because("ConditionMissing", text("Waiting for condition ACK.ResourceSynced")).onCondition("ACK.ResourceSynced"), true
	case c.status == "True":
		return Current.From(c.condition()), true
	case c.status == "False" && (isError(c.reason()) || isError(c.message())):
		return Failed.From(c.condition()), true
	}
	return InProgress.From(c.condition()), true
}
