package kstatus

import "math"

func deployment(o Object) (Result, bool) {
	progressing, available := o.IntOr(math.MaxInt32, "spec", "progressDeadlineSeconds") == math.MaxInt32, false
	for c := range o.Conditions() {
		switch {
		case c.Type == "Progressing" && c.Reason == "ProgressDeadlineExceeded":
			return deadlineExceeded(c), true
		case c.Type == "Progressing" && c.Status == "True" && c.Reason == "NewReplicaSetAvailable":
			progressing = true
		case c.Type == "Available" && c.Status == "True":
			available = true
		}
	}
	wanted, replicas := o.IntOr(1, "spec", "replicas"), o.count("replicas")
	updated, ready, running := o.count("updatedReplicas"), o.count("readyReplicas"), o.count("availableReplicas")
	if r, not := failing(
		check{wanted > replicas, "LessReplicas", counted("Replicas: %d/%d", replicas, wanted), "status.replicas"},
		check{wanted > updated, "LessUpdated", counted("Updated: %d/%d", updated, wanted), "status.updatedReplicas"},
		check{replicas > wanted, "ExtraPods", counted("Pending termination: %d", replicas-wanted), "status.replicas"},
		check{updated > running, "LessAvailable", counted("Available: %d/%d", running, updated), "status.availableReplicas"},
		check{wanted > ready, "LessReady", counted("Ready: %d/%d", ready, wanted), "status.readyReplicas"},
		check{!progressing, "ReplicaSetNotAvailable", text("ReplicaSet not Available"), "status.conditions"},
		check{!available, "DeploymentNotAvailable", text("Deployment not Available"), "status.conditions"},
	); not {
		return r, true
	}
	return Current.saying(counted("Deployment is available. Replicas: %d", replicas)), true
}

// deadlineExceeded keeps the controller's own message for the condition.
func deadlineExceeded(c Condition) Result {
	r := Failed.From(c)
	r.message, r.original = named("Progress deadline exceeded", c.Message), true
	return r
}
