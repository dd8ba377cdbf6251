package kstatus

func statefulSet(o *Object) (Result, bool) {
	strategy, _ := mapOf(o.setting("updateStrategy"))
	if strategy != nil && strategy["type"] == "OnDelete" {
		return Current.Because("", "StatefulSet is using the ondelete update strategy").At("spec.updateStrategy.type"), true
	}
	wanted, replicas, ready := o.wanted(), o.count("replicas"), o.count("readyReplicas")
	switch {
	case wanted > replicas:
		return progress("LessReplicas", counted("Replicas: %d/%d", replicas, wanted), "status.replicas")
	case wanted > ready:
		return progress("LessReady", counted("Ready: %d/%d", ready, wanted), "status.readyReplicas")
	case replicas > wanted:
		return progress("ExtraPods", counted("Pending termination: %d", replicas-wanted), "status.replicas")
	}
	// Upstream takes a partition of -1 for none.
	if strategy != nil {
		if partition := o.IntOr(-1, "spec", "updateStrategy", "rollingUpdate", "partition"); partition != -1 {
			return partitionRollout(o, wanted-partition)
		}
	}
	return statefulSetRevision(o, wanted, replicas)
}

// partitionRollout is the verdict on a StatefulSet of which only some Pods shall be updated.
func partitionRollout(o *Object, wanted int64) (Result, bool) {
	updated := o.count("updatedReplicas")
	if updated < wanted {
		return progress("PartitionRollout", counted("updated: %d/%d", updated, wanted), "status.updatedReplicas")
	}
	return Current.counting("Partition rollout complete. updated: %d", updated), true
}

func statefulSetRevision(o *Object, wanted, replicas int64) (Result, bool) {
	running := o.count("currentReplicas")
	current, _ := o.seen("currentRevision").(string)
	updated, _ := o.seen("updateRevision").(string)
	switch {
	case wanted > running:
		return progress("LessCurrent", counted("current: %d/%d", running, wanted), "status.currentReplicas")
	case current != updated:
		return progress("RevisionMismatch", text("Waiting for updated revision to match current"), "status.updateRevision")
	}
	return Current.counting("All replicas scheduled as expected. Replicas: %d", replicas), true
}
