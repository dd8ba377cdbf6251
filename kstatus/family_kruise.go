package kstatus

// OpenKruise: its workloads can be paused in the middle of an update, or be held back by a partition.
var kruise = catalogue{
	"CloneSet.apps.kruise.io": either(suspendedWhen("spec", "updateStrategy", "paused"),
		when("FailedScale", "True", Failed), when("FailedUpdate", "True", Failed), kruiseReplicas),
	"StatefulSet.apps.kruise.io": either(suspendedWhen("spec", "updateStrategy", "rollingUpdate", "paused"),
		when("FailedCreatePod", "True", Failed), when("FailedUpdatePod", "True", Failed), kruiseReplicas),
	"DaemonSet.apps.kruise.io":       either(suspendedWhen("spec", "updateStrategy", "rollingUpdate", "paused"), daemonSetExtended, kruiseDaemonSet),
	"SidecarSet.apps.kruise.io":      either(suspendedWhen("spec", "updateStrategy", "paused"), sidecarSet),
	"BroadcastJob.apps.kruise.io":    either(suspendedWhen("spec", "paused"), vocabulary{suspended: "paused"}.says("status", "phase")),
	"AdvancedCronJob.apps.kruise.io": advancedCronJob,
	"Rollout.rollouts.kruise.io":     kruiseRollout,
	"GameServer.game.kruise.io":      gameServer,
}

// kruiseReplicas compares counts. A partition keeps some Pods at the old revision until someone changes it.
func kruiseReplicas(o Object) (Result, bool) {
	wanted := o.IntOr(1, "spec", "replicas")
	target := kruiseTarget(&o, wanted)
	updated, ready, replicas := o.count("updatedReplicas"), o.count("readyReplicas"), o.count("replicas")
	switch {
	case len(o.status) == 0:
		return Result{}, false
	case updated < target:
		return progress("LessUpdated", counted("Updated: %d/%d", updated, target), "status.updatedReplicas")
	case ready < wanted:
		return progress("LessReady", counted("Ready: %d/%d", ready, wanted), "status.readyReplicas")
	case replicas > wanted:
		return progress("ExtraPods", counted("Pending termination: %d", replicas-wanted), "status.replicas")
	}
	r := Current.saying(counted("Updated and ready. Replicas: %d/%d", updated, wanted)).At("status.updatedReplicas")
	r.Suspended = updated < wanted
	return r, true
}

// kruiseTarget is how many Pods shall have the new revision. CloneSets say so, as their partition may be a percentage.
func kruiseTarget(o *Object, wanted int64) int64 {
	if n, ok := o.Int("status", "expectedUpdatedReplicas"); ok {
		return n
	}
	partition := max(o.IntOr(0, "spec", "updateStrategy", "partition"), o.IntOr(0, "spec", "updateStrategy", "rollingUpdate", "partition"))
	return max(0, wanted-partition)
}

// kruiseDaemonSet waits at a partition as the others do.
func kruiseDaemonSet(o Object) (Result, bool) {
	partition := o.IntOr(0, "spec", "updateStrategy", "rollingUpdate", "partition")
	r, _ := daemonSet(&o)
	wanted := o.count("desiredNumberScheduled")
	if r.Reason != "LessUpdated" || o.count("updatedNumberScheduled") < wanted-partition || o.count("numberAvailable") < wanted {
		return r, true
	}
	return suspended("spec.updateStrategy.rollingUpdate", "partition"), true
}

func sidecarSet(o Object) (Result, bool) {
	matched, updated, ready := o.count("matchedPods"), o.count("updatedPods"), o.count("readyPods")
	switch {
	case len(o.status) == 0:
		return Result{}, false
	case updated < matched && o.Text("spec", "updateStrategy", "type") != "NotUpdate":
		return progress("LessUpdated", counted("Updated: %d/%d", updated, matched), "status.updatedPods")
	case ready < matched:
		return progress("LessReady", counted("Ready: %d/%d", ready, matched), "status.readyPods")
	}
	return Current.saying(counted("Sidecars are ready in %d pods", matched)), true
}

func advancedCronJob(o Object) (Result, bool) {
	switch {
	case o.Bool("spec", "paused"):
		return suspended("spec", "paused"), true
	case len(o.List("status", "active")) > 0:
		return InProgress.Because("RunActive", "A run is active").At("status.active"), true
	}
	return Current.Because("", "No run is active").At("status.active"), true
}

// kruiseRollout waits where its steps wait for someone.
func kruiseRollout(o Object) (Result, bool) {
	phase := o.Text("status", "phase")
	if phase == "Disabled" && !o.Bool("spec", "disabled") || phase == "Terminating" {
		return Failed.because(phase, o.phaseMessage("phase", phase)).At("status.phase"), true
	}
	for _, step := range kruiseSteps {
		if phase == "Progressing" && o.Text("status", step.field, "currentStepState") == "StepPaused" {
			return suspended(step.path, "currentStepState"), true
		}
	}
	return Result{}, false
}

var kruiseSteps = [...]struct{ field, path string }{
	{"canaryStatus", "status.canaryStatus"},
	{"blueGreenStatus", "status.blueGreenStatus"},
}

// gameServer can be ready while its Pod is not, in the middle of an update in place.
func gameServer(o Object) (Result, bool) {
	for _, item := range o.List("status", "podStatus", "conditions") {
		if c, ok := readCondition(item); ok && c.Status == "False" && (c.Type == "Ready" || c.Type == "KruisePodReady") {
			return InProgress.From(c).in("status.podStatus.conditions", c.Type), true
		}
	}
	if wanted := o.Text("status", "desiredState"); wanted != "" && wanted != o.Text("status", "currentState") {
		return InProgress.because("StateChanging", named("State is %s, shall be %s", o.Text("status", "currentState"), wanted)).At("status.currentState"), true
	}
	return Result{}, false
}
