package kstatus

func replicaSet(o Object) (Result, bool) {
	if c, failed := o.holding("ReplicaFailure", "True"); failed {
		r := InProgress.From(c)
		r.Reason, r.message = "ReplicaFailure", text("Replica Failure condition. Check Pods")
		return r, true
	}
	wanted, replicas := o.IntOr(1, "spec", "replicas"), o.count("replicas")
	labelled, available, ready := o.count("fullyLabeledReplicas"), o.count("availableReplicas"), o.count("readyReplicas")
	if r, not := failing(
		check{wanted > labelled, "LessLabelled", counted("Labelled: %d/%d", labelled, wanted), "status.fullyLabeledReplicas"},
		check{wanted > available, "LessAvailable", counted("Available: %d/%d", available, wanted), "status.availableReplicas"},
		check{wanted > ready, "LessReady", counted("Ready: %d/%d", ready, wanted), "status.readyReplicas"},
		check{replicas > wanted, "ExtraPods", counted("Pending termination: %d", replicas-wanted), "status.replicas"},
	); not {
		return r, true
	}
	return Current.saying(counted("ReplicaSet is available. Replicas: %d", replicas)), true
}
