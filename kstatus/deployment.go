package kstatus

import "math"

func deployment(o *Object) (Result, bool) {
	progressing, available := false, false
	for i := range o.conditions {
		switch m := o.mark(i); {
		case m.kind() == isProgressing:
			reason := o.reason(i)
			if reason == "ProgressDeadlineExceeded" {
				c, _ := look(o.conditions[i])
				return deadlineExceeded(c.condition()), true
			}
			progressing = progressing || m == isProgressing|isTrue && reason == "NewReplicaSetAvailable"
		case m == isAvailable|isTrue:
			available = true
		}
	}
	wanted, replicas := o.wanted(), o.count("replicas")
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
	case !progressing && o.hasDeadline():
		return progress("ReplicaSetNotAvailable", text("ReplicaSet not Available"), "status.conditions")
	case !available:
		return progress("DeploymentNotAvailable", text("Deployment not Available"), "status.conditions")
	}
	return Current.counting("Deployment is available. Replicas: %d", replicas), true
}

// hasDeadline tells whether the controller watches the progress, and reports it as a condition.
func (o *Object) hasDeadline() bool {
	deadline, limited := integer(o.setting("progressDeadlineSeconds"))
	return limited && deadline != math.MaxInt32
}

// deadlineExceeded keeps the controller's own message for the condition.
func deadlineExceeded(c Condition) Result {
	r := Failed.From(c)
	r.message, r.original = named("Progress deadline exceeded", c.Message), true
	return r
}
