package kstatus

import "math"

func deployment(o Object) (Result, bool) {
	progressing, available := o.IntOr(math.MaxInt32, "spec", "progressDeadlineSeconds") == math.MaxInt32, false
	for _, item := range o.conditions {
		c, _ := look(item)
		switch {
		case c.kind == "Progressing" && c.reason() == "ProgressDeadlineExceeded":
			return deadlineExceeded(c.condition()), true
		case c.is("Progressing", "True", "NewReplicaSetAvailable"):
			progressing = true
		case c.is("Available", "True", ""):
			available = true
		}
	}
	wanted, replicas := o.IntOr(1, "spec", "replicas"), o.count("replicas")
	updated, ready, running := o.count("updatedReplicas"), o.count("readyReplicas"), o.count("availableReplicas")
	switch {
	case wanted > replicas:
		return progress("LessReplicas", counted("Replicas: %d/%d", replicas, wanted), "status.replicas")
	case wanted > updated:
		return progress("LessUpdated", counted("Updated: %d/%d", updated, wanted), "status.updatedReplicas")
	case replicas > wanted:
		return progress("ExtraPods", counted("Pending termination: %d", replicas-wanted), "status.replicas")
	case updated > running:
		return progress("LessAvailable", counted("Available: %d/%d", running, updated), "status.availableReplicas")
	case wanted > ready:
		return progress("LessReady", counted("Ready: %d/%d", ready, wanted), "status.readyReplicas")
	case !progressing:
		return progress("ReplicaSetNotAvailable", text("ReplicaSet not Available"), "status.conditions")
	case !available:
		return progress("DeploymentNotAvailable", text("Deployment not Available"), "status.conditions")
	}
	return Current.saying(counted("Deployment is available. Replicas: %d", replicas)), true
}

// deadlineExceeded keeps the controller's own message for the condition.
func deadlineExceeded(c Condition) Result {
	r := Failed.From(c)
	r.message, r.original = named("Progress deadline exceeded", c.Message), true
	return r
}
