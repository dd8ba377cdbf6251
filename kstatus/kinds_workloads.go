package kstatus

import (
	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/kstatus/internal/words"
)

// workloads has the rules for KEDA, Flagger, KubeVirt, KServe, Spark, Flink, Numaflow, Tekton and
// Volcano.
var workloads = kindTable{
	"ScaledObject,ScaledJob.keda.sh": either(
		annotated("autoscaling.keda.sh/paused", "true"),
		pausedBy("Paused"),
		kedaReady,
		when("Fallback", "True", Failed),
	),
	"Canary.flagger.app": phaseTable{
		inProgress: "Initializing, Waiting, Progressing, WaitingPromotion, Promoting, Finalising, " +
			"Terminating",
		current: "Initialized, Succeeded",
		failed:  "Failed",
		empty:   InProgress,
	}.at("status", "phase"),

	"VirtualMachine.kubevirt.io": phaseTable{
		inProgress: "Provisioning, Starting, Stopping, Terminating, Migrating, Unknown, " +
			"WaitingForVolumeBinding, WaitingForReceiver",
		suspended: "Stopped, Paused",
		failed: "CrashLoopBackOff, ErrorUnschedulable, ErrImagePull, ImagePullBackOff, " +
			"ErrorPvcNotFound, DataVolumeError, PvcNotFound, Unschedulable",
	}.at("status", "printableStatus"),
	"VirtualMachineInstance.kubevirt.io": either(phaseTable{
		inProgress: "Pending, Scheduling, Scheduled, Unknown, WaitingForSync",
		current:    "Succeeded",
		fatal:      "Failed",
		empty:      InProgress,
	}.at("status", "phase"), pausedBy("Paused"), needs("Ready")),
	// kubevirt.io/api/core/v1: VirtualMachineInstanceMigrationPhase. TargetReady is before the migration.
	"VirtualMachineInstanceMigration.kubevirt.io": phaseTable{
		inProgress: "Pending, Scheduling, Scheduled, PreparingTarget, TargetReady, Running, WaitingForSync, Synchronizing",
		current:    "Succeeded",
		fatal:      "Failed",
		empty:      InProgress,
	}.at("status", "phase"),
	"DataVolume.cdi.kubevirt.io": phaseTable{
		inProgress: "Pending, PVCBound, ImportScheduled, ImportInProgress, CloneScheduled, " +
			"CloneInProgress, UploadScheduled, SnapshotForSmartCloneInProgress, " +
			"CloneFromSnapshotSourceInProgress, CSICloneInProgress, ExpansionInProgress, " +
			"NamespaceTransferInProgress, PrepClaimInProgress, RebindInProgress, " +
			"PendingPopulation, Unknown",
		current:   "Succeeded, WaitForFirstConsumer, UploadReady",
		suspended: "Paused",
		fatal:     "Failed",
		empty:     InProgress,
	}.at("status", "phase"),

	"InferenceService.serving.kserve.io": either(pausedBy("Stopped"), phaseTable{
		inProgress: "InProgress",
		failed:     "BlockedByFailedLoad, InvalidSpec",
	}.at("status", "modelStatus", "transitionStatus"), needs("Ready")),
	"SparkApplication.sparkoperator.k8s.io": phaseTable{
		inProgress: "SUBMITTED, PENDING_RERUN, INVALIDATING, SUCCEEDING, RESUMING, SUSPENDING, " +
			"NEW, UNKNOWN",
		current:   "RUNNING, COMPLETED",
		suspended: "SUSPENDED",
		failed:    "FAILING, SUBMISSION_FAILED",
		fatal:     "FAILED",
		empty:     InProgress,
	}.at("status", "applicationState", "state"),
	"FlinkDeployment.flink.apache.org": flink,
	"FlinkSessionJob.flink.apache.org": flink,

	"*.numaflow.numaproj.io":  numaflow,
	"*.numaplane.numaproj.io": numaplane,

	"PipelineRun,TaskRun,CustomRun,Run.tekton.dev":                                            tekton,
	"Pipeline,Task,ClusterTask,StepAction.tekton.dev":                                         exists,
	"TriggerBinding,ClusterTriggerBinding,ClusterInterceptor,Interceptor.triggers.tekton.dev": exists,
	"Job.batch.volcano.sh": phaseTable{
		inProgress: "Pending, Running, Restarting, Completing, Aborting, Terminating",
		current:    "Completed",
		suspended:  "Aborted",
		fatal:      "Failed, Terminated",
		empty:      InProgress,
	}.at("status", "state", "phase"),
	// volcano.sh/apis, pkg/apis/scheduling/v1beta1/types.go
	"PodGroup.scheduling.volcano.sh": phaseTable{
		inProgress: "Pending, Inqueue, Unknown",
		current:    "Running, Completed",
		empty:      InProgress,
	}.at("status", "phase"),
	"Queue.scheduling.volcano.sh": phaseTable{
		inProgress: "Closing, Unknown",
		current:    "Open",
		suspended:  "Closed",
		empty:      InProgress,
	}.at("status", "state"),
	"Notebook.kubeflow.org": either(annotated("kubeflow-resource-stopped", ""), notebook),
	"AnsibleJob.tower.ansible.com": phaseTable{
		inProgress: "new, pending, waiting, running",
		current:    "successful",
		fatal:      "failed, error, canceled",
		empty:      InProgress,
	}.at("status", "ansibleJobResult", "status"),
}

// notebook reads the state of the container, which the controller copies from the Pod
// (kubeflow/components/notebook-controller, api/v1/notebook_types.go, containerState).
func notebook(o Object) (Result, bool) {
	state := o.Map("status", "containerState")
	container := map[string]any{"name": "notebook", "state": state}
	if reason, waits := object.String(state, "waiting", "reason"); waits {
		if r, stuck := waitingContainer(&o, reason, container); stuck {
			return r.At("status.containerState"), true
		}
		return inProgress(reason, text("The container is waiting"), "status.containerState"), true
	}
	if code, ended := object.Int64(state, "terminated", "exitCode"); ended {
		reason, _ := object.String(state, "terminated", "reason")
		if code != 0 || isError(reason) {
			return Failed.because("ContainerTerminated", withWords("The container has ended: %s", reason)).At("status.containerState"), true
		}
		return Current.Because("", "The container has ended").At("status.containerState"), true
	}
	running := state["running"] != nil
	return Current.Because("", "The container is running").At("status.containerState"), running && o.count("readyReplicas") > 0
}

// kedaReady also reads Ready=Unknown, which means that some triggers work and others do not.
func kedaReady(o Object) (Result, bool) {
	c, ok := o.fresh("Ready")
	if ok && (c.status == "False" || c.status == "Unknown" && isError(c.reason())) {
		return Failed.From(c.condition()), true
	}
	return Result{}, false
}

var (
	flinkManager = phaseTable{
		inProgress: "DEPLOYING, DEPLOYED_NOT_READY",
		failed:     "MISSING",
		fatal:      "ERROR",
	}.at("status", "jobManagerDeploymentStatus")
	flinkJob = phaseTable{
		inProgress: "INITIALIZING, CREATED, RECONCILING, RESTARTING, FAILING, CANCELLING",
		current:    "RUNNING, FINISHED",
		suspended:  "SUSPENDED",
		fatal:      "FAILED, CANCELED",
	}.at("status", "jobStatus", "state")
	flinkLife = phaseTable{
		inProgress: "CREATED, UPGRADING, ROLLING_BACK, DEPLOYED",
		current:    "STABLE",
		suspended:  "SUSPENDED",
		failed:     "ROLLED_BACK",
		fatal:      "FAILED",
		empty:      InProgress,
	}.at("status", "lifecycleState")
	flinkTrouble = phaseTable{
		inProgress: "UPGRADING, ROLLING_BACK",
		suspended:  "SUSPENDED",
		failed:     "ROLLED_BACK",
		fatal:      "FAILED",
	}.at("status", "lifecycleState")

	flink = either(flinkSuspended, flinkTrouble, flinkManager, flinkJob, flinkLife)
)

// flinkSuspended: a job that was suspended as wished has no job manager any more
// (flink-kubernetes-operator, docs/custom-resource/job-management.md).
func flinkSuspended(o Object) (Result, bool) {
	wished := o.Text("spec", "job", "state") == "suspended" && o.Text("status", "jobStatus", "state") == "SUSPENDED"
	return suspendedBy("spec.job", "state"), wished
}

// numaflow is Failed if any condition is False: the phase only says what was asked for.
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

var numaphase = phaseTable{
	inProgress: "Pending, Deleting, Pausing",
	suspended:  "Paused",
	current:    "Succeeded",
	failed:     "Failed",
}.at("status", "phase")

func (o *Object) isFresh(c Condition) bool {
	generation, _ := integer(o.metadata["generation"])
	return c.ObservedGeneration == 0 || c.ObservedGeneration >= generation
}

// numaplane reads the phase, which is that of the rollout. Its conditions are about the result.
var numaplane = either(
	falseFails("ProgressiveUpgradeSucceeded"),
	phaseTable{inProgress: "Pending", failed: "Failed", empty: InProgress}.at("status", "phase"),
)

// tekton reads the condition Succeeded, which is final with a completionTime. A False without one is
// an error that may pass (tektoncd/pipeline, docs/taskruns.md, "Monitoring execution status").
func tekton(o Object) (Result, bool) {
	c, ok := o.Condition("Succeeded")
	switch {
	case ok && c.Status == "True":
		return Current.From(c), true
	case ok && c.Status == "False" && (o.Text("status", "completionTime") != "" || words.OfPhrase(c.Reason) == words.Fatal):
		return Failed.From(c).terminal(), true
	case o.Text("spec", "status") == "PipelineRunPending":
		return suspendedBy("spec", "status"), true
	case ok:
		return InProgress.From(c), true
	}
	return Result{}, false
}

// kruise has the rules for OpenKruise, whose workloads can be paused during an update, by a field
// or by a partition.
var kruise = kindTable{
	"CloneSet.apps.kruise.io": either(
		suspendedWhen("spec", "updateStrategy", "paused"),
		when("FailedScale", "True", Failed),
		when("FailedUpdate", "True", Failed),
		kruiseReplicas,
	),
	"StatefulSet.apps.kruise.io": either(
		suspendedWhen("spec", "updateStrategy", "rollingUpdate", "paused"),
		when("FailedCreatePod", "True", Failed),
		when("FailedUpdatePod", "True", Failed),
		kruiseReplicas,
	),
	"DaemonSet.apps.kruise.io": either(
		suspendedWhen("spec", "updateStrategy", "rollingUpdate", "paused"),
		daemonSetExtended,
		kruiseDaemonSet,
	),
	"SidecarSet.apps.kruise.io": either(suspendedWhen("spec", "updateStrategy", "paused"), sidecarSet),
	"BroadcastJob.apps.kruise.io": either(suspendedWhen("spec", "paused"), phaseTable{
		suspended: "paused",
	}.at("status", "phase")),
	"AdvancedCronJob.apps.kruise.io": advancedCronJob,
	"Rollout.rollouts.kruise.io":     kruiseRollout,
	"GameServer.game.kruise.io":      gameServer,
}

// kruiseReplicas compares counts. A partition keeps some Pods at the old revision until someone
// changes it.
func kruiseReplicas(o Object) (Result, bool) {
	wanted := o.IntOr(1, "spec", "replicas")
	target := kruiseTarget(&o, wanted)
	// Pods that are updated and ready are both (kruise-api, apps/v1beta1, StatefulSetStatus).
	both, replicas := o.count("updatedReadyReplicas"), o.count("replicas")
	updated, ready := max(both, o.count("updatedReplicas")), max(both, o.count("readyReplicas"))
	switch {
	case len(o.status) == 0:
		return Result{}, false
	case updated < target:
		return inProgress("LessUpdated", withNumbers("Updated: %d/%d", updated, target), "status.updatedReplicas"), true
	case ready < wanted:
		return inProgress("LessReady", withNumbers("Ready: %d/%d", ready, wanted), "status.readyReplicas"), true
	case replicas > wanted:
		return inProgress("ExtraPods", withNumbers("Pending termination: %d", replicas-wanted), "status.replicas"), true
	}
	r := Current.because("", withNumbers("Updated and ready. Replicas: %d/%d", updated, wanted)).At("status.updatedReplicas")
	r.Suspended = updated < wanted
	return r, true
}

// kruiseTarget returns how many Pods shall have the new revision. The status of a CloneSet has that
// number, because its partition can be a percentage.
func kruiseTarget(o *Object, wanted int64) int64 {
	if n, ok := o.Int("status", "expectedUpdatedReplicas"); ok {
		return n
	}
	partition := max(o.IntOr(0, "spec", "updateStrategy", "partition"), o.IntOr(0, "spec", "updateStrategy", "rollingUpdate", "partition"))
	return max(0, wanted-partition)
}

// kruiseDaemonSet is suspended when the update has reached the partition.
func kruiseDaemonSet(o Object) (Result, bool) {
	partition := o.IntOr(0, "spec", "updateStrategy", "rollingUpdate", "partition")
	r := daemonSet(&o)
	wanted := o.count("desiredNumberScheduled")
	if r.Reason != "LessUpdated" || o.count("updatedNumberScheduled") < wanted-partition || o.count("numberAvailable") < wanted {
		return r, true
	}
	return suspendedBy("spec.updateStrategy.rollingUpdate", "partition"), true
}

func sidecarSet(o Object) (Result, bool) {
	matched, updated, ready := o.count("matchedPods"), o.count("updatedPods"), o.count("readyPods")
	switch {
	case len(o.status) == 0:
		return Result{}, false
	case updated < matched && o.Text("spec", "updateStrategy", "type") != "NotUpdate":
		return inProgress("LessUpdated", withNumbers("Updated: %d/%d", updated, matched), "status.updatedPods"), true
	case ready < matched:
		return inProgress("LessReady", withNumbers("Ready: %d/%d", ready, matched), "status.readyPods"), true
	}
	return Current.because("", withNumbers("Sidecars are ready in %d pods", matched)), true
}

func advancedCronJob(o Object) (Result, bool) {
	switch {
	case o.Bool("spec", "paused"):
		return suspendedBy("spec", "paused"), true
	case len(o.List("status", "active")) > 0:
		return inProgress("RunActive", text("A run is active"), "status.active"), true
	}
	return Current.Because("", "No run is active").At("status.active"), true
}

// kruiseRollout is suspended while a step waits to be resumed.
func kruiseRollout(o Object) (Result, bool) {
	phase := o.Text("status", "phase")
	if phase == "Disabled" && !o.Bool("spec", "disabled") || phase == "Terminating" {
		return Failed.because(phase, o.phaseMessage("phase", phase)).At("status.phase"), true
	}
	for _, step := range kruiseSteps {
		if phase == "Progressing" && o.Text("status", step.field, "currentStepState") == "StepPaused" {
			return suspendedBy(step.path, "currentStepState"), true
		}
	}
	return Result{}, false
}

var kruiseSteps = [...]struct{ field, path string }{
	{"canaryStatus", "status.canaryStatus"},
	{"blueGreenStatus", "status.blueGreenStatus"},
}

// gameServer reads the Pod too, which is not ready during an update in place.
func gameServer(o Object) (Result, bool) {
	for _, item := range o.List("status", "podStatus", "conditions") {
		if c, ok := readCondition(item); ok && c.Status == "False" && (c.Type == "Ready" || c.Type == "KruisePodReady") {
			return InProgress.From(c).atItem("status.podStatus.conditions", c.Type), true
		}
	}
	if wanted := o.Text("status", "desiredState"); wanted != "" && wanted != o.Text("status", "currentState") {
		return inProgress("StateChanging", withWords("State is %s, shall be %s", o.Text("status", "currentState"), wanted), "status.currentState"), true
	}
	return Result{}, false
}
