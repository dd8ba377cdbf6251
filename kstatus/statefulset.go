package kstatus

func statefulSet(o Object) (Result, bool) {
	if o.Text("spec", "updateStrategy", "type") == "OnDelete" {
		return Current.Because("", "StatefulSet is using the ondelete update strategy").At("spec.updateStrategy.type"), true
	}
	wanted, replicas, ready := o.IntOr(1, "spec", "replicas"), o.count("replicas"), o.count("readyReplicas")
	if r, not := failing(
		check{wanted > replicas, "LessReplicas", counted("Replicas: %d/%d", replicas, wanted), "status.replicas"},
		check{wanted > ready, "LessReady", counted("Ready: %d/%d", ready, wanted), "status.readyReplicas"},
		check{replicas > wanted, "ExtraPods", counted("Pending termination: %d", replicas-wanted), "status.replicas"},
	); not {
		return r, true
	}
	// Upstream takes a partition of -1 for none.
	if partition := o.IntOr(-1, "spec", "updateStrategy", "rollingUpdate", "partition"); partition != -1 {
		return partitionRollout(o, wanted-partition), true
	}
	return statefulSetRevision(o, wanted, replicas), true
}

// partitionRollout is the verdict on a StatefulSet of which only some Pods shall be updated.
func partitionRollout(o Object, wanted int64) Result {
	updated := o.count("updatedReplicas")
	if updated < wanted {
		return InProgress.because("PartitionRollout", counted("updated: %d/%d", updated, wanted)).At("status.updatedReplicas")
	}
	return Current.saying(counted("Partition rollout complete. updated: %d", updated))
}

func statefulSetRevision(o Object, wanted, replicas int64) Result {
	running := o.count("currentReplicas")
	mismatch := o.Text("status", "currentRevision") != o.Text("status", "updateRevision")
	if r, not := failing(
		check{wanted > running, "LessCurrent", counted("current: %d/%d", running, wanted), "status.currentReplicas"},
		check{mismatch, "RevisionMismatch", text("Waiting for updated revision to match current"), "status.updateRevision"},
	); not {
		return r
	}
	return Current.saying(counted("All replicas scheduled as expected. Replicas: %d", replicas))
}
