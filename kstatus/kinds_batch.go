package kstatus

// batch has the rules for Kueue, JobSet, LeaderWorkerSet and KubeRay.
var batch = kindTable{
	"Workload.kueue.x-k8s.io":                         kueueWorkload,
	"ClusterQueue,LocalQueue.kueue.x-k8s.io":          either(kueueStopped, kueueActive),
	"AdmissionCheck,MultiKueueCluster.kueue.x-k8s.io": kueueActive,
	"JobSet.jobset.x-k8s.io":                          jobSet,
	"LeaderWorkerSet.leaderworkerset.x-k8s.io": either(
		when("UpdateInProgress", "True", InProgress),
		leaderWorkerSet,
	),
	"RayCluster.ray.io": rayCluster,
	"RayJob.ray.io":     either(rayJobOutcome, rayJob),
	"RayService.ray.io": either(
		when("UpgradeInProgress", "True", InProgress),
		rayService,
		rayServiceStatus,
	),
	"ResourceFlavor,WorkloadPriorityClass,Topology.kueue.x-k8s.io":     exists,
	"MultiKueueConfig,ProvisioningRequestConfig,Cohort.kueue.x-k8s.io": exists,
}

var kueueActive = either(falseFails("Active"), needs("Active"), when("Active", "True", Current))

// kueueWorkload is Current once it is admitted and, if Kueue waits for its Pods, these are ready.
// The job that runs in it has its own status.
func kueueWorkload(o Object) (Result, bool) {
	if c, ok := o.find("Finished", "True", ""); ok {
		return workloadFinished(c), true
	}
	if active, set := o.Value("spec", "active").(bool); set && !active {
		return workloadInactive(&o), true
	}
	if c, ok := o.find("Evicted", "True", ""); ok {
		return InProgress.From(c), true
	}
	if c, ok := o.find("PodsReady", "False", ""); ok {
		return InProgress.From(c), true
	}
	if c, ok := o.find("Admitted", "True", ""); ok {
		return Current.From(c), true
	}
	if c, ok := o.Condition("QuotaReserved"); ok {
		return InProgress.From(c), true
	}
	return InProgress.Because("Pending", "Waiting for quota").onCondition("QuotaReserved"), true
}

func workloadFinished(c Condition) Result {
	switch c.Reason {
	case "Succeeded", "JobFinished", "AdmissionChecksSkipped":
		return Current.From(c)
	}
	r := Current.From(c)
	if isError(c.Reason) || c.Reason == "OutOfSync" || c.Reason == "OwnerNotFound" {
		r = Failed.From(c)
		r.Terminal = true
	}
	return r
}

// workloadInactive distinguishes a workload that someone deactivated from one that Kueue gave up.
func workloadInactive(o *Object) Result {
	c, ok := o.find("Evicted", "True", "")
	switch {
	case !ok || c.Reason == "Deactivated" || c.Reason == "InactiveWorkload":
		return suspendedBy("spec", "active")
	}
	return Failed.From(c).terminal()
}

// kueueStopped is the rule for a queue with a stop policy, which admits nothing until someone
// resumes it.
func kueueStopped(o Object) (Result, bool) {
	policy := o.Text("spec", "stopPolicy")
	return suspendedBy("spec", "stopPolicy"), policy == "Hold" || policy == "HoldAndDrain"
}

// jobSet reads the outcome from a condition or from terminalState.
func jobSet(o Object) (Result, bool) {
	for _, outcome := range [...]struct {
		kind   string
		status Status
	}{{"Completed", Current}, {"Failed", Failed}} {
		c, ok := o.find(outcome.kind, "True", "")
		if ok || o.Text("status", "terminalState") == outcome.kind {
			c.Type = outcome.kind
			r := outcome.status.From(c)
			r.Terminal = outcome.status == Failed
			return r, true
		}
	}
	if o.Bool("spec", "suspend") {
		return suspendedBy("spec", "suspend"), true
	}
	return inProgress("JobSetInProgress", text("JobSet is in progress"), "status.conditions"), true
}

// leaderWorkerSet counts groups. A partition keeps the first groups at the old revision.
func leaderWorkerSet(o Object) (Result, bool) {
	wanted := o.IntOr(1, "spec", "replicas")
	target := max(0, wanted-o.IntOr(0, "spec", "rolloutStrategy", "rollingUpdateConfiguration", "partition"))
	updated, ready := o.count("updatedReplicas"), o.count("readyReplicas")
	switch {
	case len(o.status) == 0:
		return Result{}, false
	case updated < target:
		return inProgress("LessUpdated", withNumbers("Updated: %d/%d", updated, target), "status.updatedReplicas"), true
	case ready < wanted:
		return inProgress("LessReady", withNumbers("Ready: %d/%d", ready, wanted), "status.readyReplicas"), true
	}
	return groupsAvailable(o)
}

var groupsAvailable = either(needs("Available"), when("Available", "True", Current), when("Available", "False", InProgress))

// rayCluster compares counts, because the condition RayClusterProvisioned stays True once all Pods
// were ready.
func rayCluster(o Object) (Result, bool) {
	state := o.Text("status", "state")
	if o.Bool("spec", "suspend") {
		if c, ok := o.find("RayClusterSuspended", "True", ""); ok {
			return Current.From(c).suspended(), true
		}
		if state != "suspended" {
			return inProgress("Suspending", text("The cluster is being suspended"), "status.state"), true
		}
		return suspendedBy("spec", "suspend"), true
	}
	if c, ok := o.find("ReplicaFailure", "True", ""); ok {
		return Failed.From(c), true
	}
	wanted, ready := o.count("desiredWorkerReplicas"), o.count("readyWorkerReplicas")
	switch {
	case state == "failed":
		return Failed.because("ClusterFailed", text(o.Text("status", "reason"))).At("status.state"), true
	case len(o.status) == 0:
		return Result{}, false
	case ready < wanted:
		return inProgress("LessReady", withNumbers("Ready workers: %d/%d", ready, wanted), "status.readyWorkerReplicas"), true
	}
	if c, ok := o.Condition("HeadPodReady"); ok && c.Status != "True" {
		return InProgress.From(c), true
	}
	if state != "ready" {
		return inProgress("ClusterNotReady", text("Waiting for the cluster to be ready"), "status.state"), true
	}
	return Current.because("", withNumbers("Ready workers: %d/%d", ready, wanted)).At("status.state"), true
}

var (
	// jobDeploymentStatus can be Complete although the job failed, so that jobStatus is read first.
	rayJobOutcome = phaseTable{fatal: "FAILED, STOPPED"}.at("status", "jobStatus")
	rayJob        = phaseTable{
		inProgress: "New, Initializing, Waiting, Running, Retrying, Suspending",
		current:    "Complete",
		suspended:  "Suspended",
		fatal:      "Failed, ValidationFailed",
		empty:      InProgress,
	}.at("status", "jobDeploymentStatus")
)

var rayServiceStatus = phaseTable{
	current: "Running",
	failed:  "FailedToGetOrCreateRayCluster, FailedToUpdateServeApplications",
	empty:   InProgress,
}.at("status", "serviceStatus")

// rayService reads the Ready condition. Versions without conditions have serviceStatus.
func rayService(o Object) (Result, bool) {
	c, ok := o.fresh("Ready")
	switch {
	case ok && c.status == "False" && isError(c.reason()):
		return Failed.From(c.condition()), true
	case ok && c.status != "True":
		return InProgress.From(c.condition()), true
	case ok:
		return Current.From(c.condition()), true
	}
	return Result{}, false
}
