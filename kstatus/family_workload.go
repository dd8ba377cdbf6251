package kstatus

import "github.com/stagecraft-go/stagecraft/internal/object"

// Workloads besides the built-in ones: KEDA, Flagger, KubeVirt, KServe, Spark, Flink, Numaflow, Tekton, Volcano.
var workloads = catalogue{
	"ScaledObject,ScaledJob.keda.sh": either(annotated("autoscaling.keda.sh/paused", "true"), pausedBy("Paused"), kedaReady, when("Fallback", "True", Failed)),
	"Canary.flagger.app": vocabulary{
		inProgress: "Initializing, Waiting, Progressing, WaitingPromotion, Promoting, Finalising, Terminating", current: "Initialized, Succeeded",
		failed: "Failed", empty: InProgress,
	}.says("status", "phase"),

	"VirtualMachine.kubevirt.io": vocabulary{
		inProgress: "Provisioning, Starting, Stopping, Terminating, Migrating, Unknown, WaitingForVolumeBinding, WaitingForReceiver",
		suspended:  "Stopped, Paused",
		failed:     "CrashLoopBackOff, ErrorUnschedulable, ErrImagePull, ImagePullBackOff, ErrorPvcNotFound, DataVolumeError, PvcNotFound, Unschedulable",
	}.says("status", "printableStatus"),
	"VirtualMachineInstance.kubevirt.io": either(vocabulary{
		inProgress: "Pending, Scheduling, Scheduled, Unknown, WaitingForSync", current: "Succeeded", fatal: "Failed", empty: InProgress,
	}.says("status", "phase"), pausedBy("Paused"), needs("Ready")),
	"DataVolume.cdi.kubevirt.io": vocabulary{
		inProgress: "Pending, PVCBound, ImportScheduled, ImportInProgress, CloneScheduled, CloneInProgress, UploadScheduled, SnapshotForSmartCloneInProgress, " +
			"CloneFromSnapshotSourceInProgress, CSICloneInProgress, ExpansionInProgress, NamespaceTransferInProgress, PrepClaimInProgress, " +
			"RebindInProgress, PendingPopulation, Unknown",
		current: "Succeeded, WaitForFirstConsumer, UploadReady", suspended: "Paused", fatal: "Failed", empty: InProgress,
	}.says("status", "phase"),

	"InferenceService.serving.kserve.io": either(pausedBy("Stopped"), vocabulary{
		inProgress: "InProgress", failed: "BlockedByFailedLoad, InvalidSpec",
	}.says("status", "modelStatus", "transitionStatus"), needs("Ready")),
	"SparkApplication.sparkoperator.k8s.io": vocabulary{
		inProgress: "SUBMITTED, PENDING_RERUN, INVALIDATING, SUCCEEDING, RESUMING, SUSPENDING, NEW, UNKNOWN", current: "RUNNING, COMPLETED",
		suspended: "SUSPENDED", failed: "FAILING, SUBMISSION_FAILED", fatal: "FAILED", empty: InProgress,
	}.says("status", "applicationState", "state"),
	"FlinkDeployment.flink.apache.org": flink,
	"FlinkSessionJob.flink.apache.org": flink,

	"*.numaflow.numaproj.io":  numaflow,
	"*.numaplane.numaproj.io": numaplane,

	"PipelineRun,TaskRun,CustomRun,Run.tekton.dev":                                            tekton,
	"Pipeline,Task,ClusterTask,StepAction.tekton.dev":                                         exists,
	"TriggerBinding,ClusterTriggerBinding,ClusterInterceptor,Interceptor.triggers.tekton.dev": exists,
	"Job.batch.volcano.sh": vocabulary{
		inProgress: "Pending, Running, Restarting, Completing, Aborting, Terminating", current: "Completed", suspended: "Aborted", fatal: "Failed, Terminated",
		empty: InProgress,
	}.says("status", "state", "phase"),
	"AnsibleJob.tower.ansible.com": vocabulary{
		inProgress: "new, pending, waiting, running", current: "successful", fatal: "failed, error, canceled", empty: InProgress,
	}.says("status", "ansibleJobResult", "status"),
}

// kedaReady: Ready is Unknown if some triggers work and others do not.
func kedaReady(o Object) (Result, bool) {
	c, ok := o.fresh("Ready")
	if ok && (c.status == "False" || c.status == "Unknown" && phraseTone(c.reason()).wrong()) {
		return Failed.From(c.condition()), true
	}
	return Result{}, false
}

var (
	flinkManager = vocabulary{
		inProgress: "DEPLOYING, DEPLOYED_NOT_READY", failed: "MISSING", fatal: "ERROR",
	}.says("status", "jobManagerDeploymentStatus")
	flinkJob = vocabulary{
		inProgress: "INITIALIZING, CREATED, RECONCILING, RESTARTING, FAILING, CANCELLING", current: "RUNNING, FINISHED", suspended: "SUSPENDED",
		fatal: "FAILED, CANCELED",
	}.says("status", "jobStatus", "state")
	flinkLife = vocabulary{
		inProgress: "CREATED, UPGRADING, ROLLING_BACK, DEPLOYED", current: "STABLE", suspended: "SUSPENDED", failed: "ROLLED_BACK", fatal: "FAILED",
		empty: InProgress,
	}.says("status", "lifecycleState")
	flinkTrouble = vocabulary{
		inProgress: "UPGRADING, ROLLING_BACK", suspended: "SUSPENDED", failed: "ROLLED_BACK", fatal: "FAILED",
	}.says("status", "lifecycleState")

	flink = either(flinkTrouble, flinkManager, flinkJob, flinkLife)
)

// numaflow fails with any of its conditions: the phase tells only what was asked for.
func numaflow(o Object) (Result, bool) {
	labels, _ := object.ToMap(o.metadata["labels"])
	if labels["numaplane.numaproj.io/progressive-result-state"] == "failed" {
		return Failed.Because("ProgressiveUpgradeFailed", "The progressive upgrade has failed").At("metadata.labels"), true
	}
	if r, ok := numaphase(o); ok {
		return r, true
	}
	for c := range o.Conditions() {
		if c.Status == "False" && o.isFresh(c) {
			return Failed.From(c), true
		}
	}
	return Result{}, false
}

var numaphase = vocabulary{inProgress: "Pending, Deleting, Pausing", suspended: "Paused", current: "Succeeded", failed: "Failed"}.says("status", "phase")

func (o *Object) isFresh(c Condition) bool {
	generation, _ := integer(o.metadata["generation"])
	return c.ObservedGeneration == 0 || c.ObservedGeneration >= generation
}

// numaplane has its phase for the roll-out and its conditions for what was rolled out.
var numaplane = either(
	falseFails("ProgressiveUpgradeSucceeded"),
	vocabulary{inProgress: "Pending", failed: "Failed", empty: InProgress}.says("status", "phase"),
)

// tekton: runs end with Succeeded, for good.
func tekton(o Object) (Result, bool) {
	c, ok := o.Condition("Succeeded")
	switch {
	case ok && c.Status == "True":
		return Current.From(c), true
	case ok && c.Status == "False":
		r := Failed.From(c)
		r.Terminal = true
		return r, true
	case o.Text("spec", "status") == "PipelineRunPending":
		return suspended("spec", "status"), true
	case ok:
		return InProgress.From(c), true
	}
	return Result{}, false
}
