package kstatus

func replicaSet(o *Object) (Result, bool) {
	if c, failed := o.glimpse("ReplicaFailure", "True", ""); failed {
		return InProgress.Because("ReplicaFailure", "Replica Failure condition. Check Pods").on(c), true
	}
	wanted, replicas := o.wanted(), o.count("replicas")
	labelled, available, ready := o.count("fullyLabeledReplicas"), o.count("availableReplicas"), o.count("readyReplicas")
	switch {
	case wanted > labelled:
		return progress("LessLabelled", counted("Labelled: %d/%d", labelled, wanted), "status.fullyLabeledReplicas")
	case wanted > available:
		return progress("LessAvailable", counted("Available: %d/%d", available, wanted), "status.availableReplicas")
	case wanted > ready:
		return progress("LessReady", counted("Ready: %d/%d", ready, wanted), "status.readyReplicas")
	case replicas > wanted:
		return progress("ExtraPods", counted("Pending termination: %d", replicas-wanted), "status.replicas")
	}
	return Current.counting("ReplicaSet is available. Replicas: %d", replicas), true
}
