package kstatus

// Machines and clusters: Cluster API, Karpenter, Karmada, Open Cluster Management, OLM, OpenShift, nmstate.
var clusters = catalogue{
	"*.cluster.x-k8s.io":   clusterAPI,
	"*.*.cluster.x-k8s.io": clusterAPI,
	"NodeClaim.karpenter.sh": either(pausedBy("Disrupting"), falseFails("Ready"),
		needs("Launched", "Registered", "Initialized", "Ready"), when("Ready", "True", Current)),
	"NodePool.karpenter.sh": readyOrFailed,
	"*.karpenter.k8s.aws":   readyOrFailed,
	"*.karpenter.azure.com": readyOrFailed,

	"ResourceBinding,ClusterResourceBinding.work.karmada.io": either(karmadaBinding, needs("FullyApplied")),
	"Work.work.karmada.io": needs("Applied"),
	"PropagationPolicy,ClusterPropagationPolicy,OverridePolicy,ClusterOverridePolicy.policy.karmada.io": exists,

	"ManifestWork.work.open-cluster-management.io": needs("Applied", "Available"),
	"ManagedCluster.cluster.open-cluster-management.io": needs("HubAcceptedManagedCluster",
		"ManagedClusterJoined", "ManagedClusterConditionAvailable"),
	"ManagedClusterAddOn.addon.open-cluster-management.io":                           needs("Available"),
	"Policy,ConfigurationPolicy,CertificatePolicy.policy.open-cluster-management.io": either(suspendedWhen("spec", "disabled"), compliance),
	"OperatorPolicy.policy.open-cluster-management.io":                               either(falseFails("Compliant"), needs("Compliant"), compliance),

	"Subscription.operators.coreos.com": olmSubscription,
	"ClusterServiceVersion.operators.coreos.com": vocabulary{
		inProgress: "None, Pending, InstallReady, Installing, Replacing, Deleting, Unknown", current: "Succeeded", failed: "Failed", empty: InProgress,
	}.says("status", "phase"),
	"InstallPlan.operators.coreos.com": vocabulary{
		inProgress: "None, Planning, Installing", current: "Complete", suspended: "RequiresApproval", fatal: "Failed", empty: InProgress,
	}.says("status", "phase"),
	"CatalogSource.operators.coreos.com": vocabulary{
		inProgress: "CONNECTING, IDLE", current: "READY", failed: "TRANSIENT_FAILURE, SHUTDOWN", empty: InProgress,
	}.says("status", "connectionState", "lastObservedState"),
	"OperatorGroup.operators.coreos.com": exists,

	"DeploymentConfig.apps.openshift.io": either(deploymentConfig, needs("Available", "Progressing")),
	"MachineConfigPool.machineconfiguration.openshift.io": either(suspendedWhen("spec", "paused"), when("Degraded", "True", Failed),
		when("NodeDegraded", "True", Failed), when("RenderDegraded", "True", Failed), when("Updating", "True", InProgress), when("Updated", "True", Current)),
	"ClusterVersion.config.openshift.io": either(when("Failing", "True", Failed), needs("Available")),
	"ImageStream.image.openshift.io":     exists,
	"Build.build.openshift.io": vocabulary{
		inProgress: "New, Pending, Running", current: "Complete", fatal: "Failed, Error, Cancelled", empty: InProgress,
	}.says("status", "phase"),

	"NodeNetworkConfigurationPolicy.nmstate.io": pausedBy("Ignored"),
}

var clusterAPIPaused = annotated("cluster.x-k8s.io/paused", "")

// clusterAPI leaves conditions, phases and counts to the generic layer. A failureReason is for good: only a new Machine helps.
func clusterAPI(o Object) (Result, bool) {
	if r, ok := clusterAPIPaused(o); ok {
		return r, true
	}
	if r, ok := faults(&o); ok {
		r.Terminal = true
		return r, true
	}
	return Result{}, false
}

// compliance is the verdict of a policy about what it is applied to.
var compliance = vocabulary{
	inProgress: "Pending, UnknownCompliancy, Terminating", failed: "NonCompliant", current: "Compliant", empty: InProgress,
}.says("status", "compliant")

// deploymentConfig has no conditions' reasons that tell an error from a first start.
func deploymentConfig(o Object) (Result, bool) {
	if o.Bool("spec", "paused") {
		return suspended("spec", "paused"), true
	}
	if c, ok := o.Condition("Progressing"); ok && c.Status == "False" {
		return Failed.From(c), true
	}
	return Result{}, false
}

// olmSubscription: an upgrade that someone must approve is waited for by nobody else.
func olmSubscription(o Object) (Result, bool) {
	for c := range o.Conditions() {
		if c.Status != "True" {
			continue
		}
		switch c.Type {
		case "InstallPlanFailed", "ResolutionFailed", "BundleUnpackFailed", "CatalogSourcesUnhealthy":
			return Failed.From(c), true
		case "InstallPlanPending":
			if c.Reason == "RequiresApproval" && o.Text("spec", "installPlanApproval") == "Manual" {
				return pausedResult(c), true
			}
			return InProgress.From(c), true
		}
	}
	return olmState(o)
}

var olmState = vocabulary{
	inProgress: "UpgradePending", current: "AtLatestKnown, UpgradeAvailable", failed: "UpgradeFailed", empty: InProgress,
}.says("status", "state")
