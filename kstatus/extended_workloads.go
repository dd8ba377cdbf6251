package kstatus

// What the extended profile knows of the built-in workloads beyond the rules of upstream, which go on where these have no opinion.
var extendedWorkloads = catalogue{
	"Pod.":                       podExtended,
	"Deployment.apps":            deploymentExtended,
	"Deployment.extensions":      deploymentExtended,
	"ReplicaSet.apps":            when("ReplicaFailure", "True", Failed),
	"ReplicaSet.extensions":      when("ReplicaFailure", "True", Failed),
	"ReplicationController.":     either(when("ReplicaFailure", "True", Failed), func(o Object) (Result, bool) { return replicaSet(&o) }),
	"StatefulSet.apps":           statefulSetExtended,
	"DaemonSet.apps":             daemonSetExtended,
	"DaemonSet.extensions":       daemonSetExtended,
	"Job.batch":                  jobExtended,
	"CronJob.batch":              cronJob,
	"PodDisruptionBudget.policy": disruptionBudget,
}

// deploymentExtended takes a deadline that was missed for past once all replicas are there, and quota errors for errors.
func deploymentExtended(o Object) (Result, bool) {
	if o.Bool("spec", "paused") {
		return suspended("spec", "paused"), true
	}
	wanted, replicas := o.wanted(), o.count("replicas")
	updated, ready, available := o.count("updatedReplicas"), o.count("readyReplicas"), o.count("availableReplicas")
	if _, yes := o.find("Available", "True", ""); yes && wanted == replicas && min(updated, ready, available) >= wanted {
		return Current.counting(deploymentAvailable, replicas), true
	}
	if c, failed := o.find("ReplicaFailure", "True", ""); failed {
		return Failed.From(c), true
	}
	return Result{}, false
}

// statefulSetExtended counts the replicas of those too that are updated by hand.
func statefulSetExtended(o Object) (Result, bool) {
	wanted := o.wanted()
	byHand := o.Text("spec", "updateStrategy", "type") == "OnDelete"
	switch {
	case byHand && wanted > o.count("replicas"):
		return progress("LessReplicas", counted("Replicas: %d/%d", o.count("replicas"), wanted), "status.replicas")
	case byHand && wanted > o.count("readyReplicas"):
		return progress("LessReady", counted("Ready: %d/%d", o.count("readyReplicas"), wanted), "status.readyReplicas")
	case wanted > o.count("availableReplicas") && o.IntOr(0, "spec", "minReadySeconds") > 0:
		return progress("LessAvailable", counted("Available: %d/%d", o.count("availableReplicas"), wanted), "status.availableReplicas")
	}
	return Result{}, false
}

// daemonSetExtended does not wait for updates that someone makes by deleting Pods.
func daemonSetExtended(o Object) (Result, bool) {
	if o.Text("spec", "updateStrategy", "type") != "OnDelete" {
		return Result{}, false
	}
	wanted, available := o.IntOr(-1, "status", "desiredNumberScheduled"), min(o.count("numberAvailable"), o.count("numberReady"))
	switch {
	case wanted < 0:
		return Result{}, false
	case available < wanted:
		return progress("LessAvailable", counted("Available: %d/%d", available, wanted), "status.numberAvailable")
	}
	return Current.Because("", "DaemonSet is using the ondelete update strategy").At("spec.updateStrategy.type"), true
}

// jobExtended knows a Job's outcome before its last Pods are gone, and why it failed.
func jobExtended(o Object) (Result, bool) {
	if _, complete := o.find("Complete", "True", ""); complete {
		return Result{}, false
	}
	for _, kind := range [...]string{"Failed", "FailureTarget"} {
		if c, ok := o.find(kind, "True", ""); ok && (c.Message != "" || kind == "FailureTarget") {
			r := Failed.From(c)
			r.Terminal = true
			return r, true
		}
	}
	if c, ok := o.find("SuccessCriteriaMet", "True", ""); ok {
		return Current.From(c), true
	}
	return Result{}, false
}

// cronJob fails with its last run, until the next one.
func cronJob(o Object) (Result, bool) {
	if o.Bool("spec", "suspend") {
		return suspended("spec", "suspend"), true
	}
	scheduled, succeeded := o.Text("status", "lastScheduleTime"), o.Text("status", "lastSuccessfulTime")
	// Both are RFC 3339 in UTC, so that text compares as time.
	if succeeded != "" && scheduled > succeeded && len(o.List("status", "active")) == 0 {
		return Failed.Because("LastRunFailed", "The last run did not succeed").At("status.lastSuccessfulTime"), true
	}
	return Result{}, false
}

// disruptionBudget is as healthy as the Pods that it guards.
func disruptionBudget(o Object) (Result, bool) {
	for c := range o.Conditions() {
		if c.Type == "DisruptionAllowed" && c.Reason == "SyncFailed" {
			return Failed.From(c), true
		}
	}
	healthy, wanted := o.count("currentHealthy"), o.count("desiredHealthy")
	switch {
	case len(o.status) == 0:
		return withoutStatus(o)
	case healthy < wanted:
		return InProgress.because("LessHealthy", counted("Healthy: %d/%d", healthy, wanted)).At("status.currentHealthy"), true
	}
	return Result{}, false
}
