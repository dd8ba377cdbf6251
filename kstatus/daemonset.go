package kstatus

func daemonSet(o Object) (Result, bool) {
	_, generated := o.Int("metadata", "generation")
	_, observed := o.Int("status", "observedGeneration")
	wanted := o.IntOr(-1, "status", "desiredNumberScheduled")
	scheduled, updated := o.count("currentNumberScheduled"), o.count("updatedNumberScheduled")
	available, ready := o.count("numberAvailable"), o.count("numberReady")
	if r, not := failing(
		check{!generated, "NoGeneration", named("%s metadata.generation not found", o.kind), "metadata.generation"},
		check{!observed, "NoObservedGeneration", named("%s status.observedGeneration not found", o.kind), "status.observedGeneration"},
		// Upstream takes -1 for missing.
		check{wanted == -1, "NoDesiredNumber", text("Missing .status.desiredNumberScheduled"), "status.desiredNumberScheduled"},
		check{wanted > scheduled, "LessCurrent", counted("Current: %d/%d", scheduled, wanted), "status.currentNumberScheduled"},
		check{wanted > updated, "LessUpdated", counted("Updated: %d/%d", updated, wanted), "status.updatedNumberScheduled"},
		check{wanted > available, "LessAvailable", counted("Available: %d/%d", available, wanted), "status.numberAvailable"},
		check{wanted > ready, "LessReady", counted("Ready: %d/%d", ready, wanted), "status.numberReady"},
	); not {
		return r, true
	}
	return Current.saying(counted("All replicas scheduled as expected. Replicas: %d", wanted)), true
}
