package kstatus

import "math"

const deploymentAvailable = "Deployment is available. Replicas: %d"

func deployment(o *Object, verdict *Result) {
	progressing, failed := o.rollout()
	if failed != nil {
		c, _ := look(failed)
		*verdict = deadlineExceeded(c.condition())
		return
	}
	wanted, replicas := o.wanted(), o.count("replicas")
	updated, ready, running := o.count("updatedReplicas"), o.count("readyReplicas"), o.count("availableReplicas")
	switch {
	case wanted > replicas:
		verdict.progress("LessReplicas", counted("Replicas: %d/%d", replicas, wanted), "status.replicas")
	case wanted > updated:
		verdict.progress("LessUpdated", counted("Updated: %d/%d", updated, wanted), "status.updatedReplicas")
	case replicas > wanted:
		verdict.progress("ExtraPods", counted("Pending termination: %d", replicas-wanted), "status.replicas")
	case updated > running:
		verdict.progress("LessAvailable", counted("Available: %d/%d", running, updated), "status.availableReplicas")
	case wanted > ready:
		verdict.progress("LessReady", counted("Ready: %d/%d", ready, wanted), "status.readyReplicas")
	case !progressing && o.hasDeadline():
		verdict.progress("ReplicaSetNotAvailable", text("ReplicaSet not Available"), "status.conditions")
	case !o.has(isAvailable | isTrue):
		verdict.progress("DeploymentNotAvailable", text("Deployment not Available"), "status.conditions")
	default:
		verdict.counting(Current, deploymentAvailable, replicas)
	}
}

// rollout tells whether a condition says that the last rollout is complete, and which one that its deadline was exceeded.
func (o *Object) rollout() (complete bool, failed any) {
	for i := range o.conditions {
		if o.mark(i).kind() != isProgressing {
			continue
		}
		reason, _ := fieldsOf(o.conditions[i])["reason"].(string)
		switch reason {
		case "ProgressDeadlineExceeded":
			return false, o.conditions[i]
		case "NewReplicaSetAvailable":
			if o.mark(i) == isProgressing|isTrue {
				complete = true
			}
		}
	}
	return complete, nil
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
