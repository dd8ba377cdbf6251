package kstatus

func daemonSet(o *Object) (Result, bool) {
	_, generated := o.Int("metadata", "generation")
	_, observed := o.Int("status", "observedGeneration")
	wanted := o.IntOr(-1, "status", "desiredNumberScheduled")
	scheduled, updated := o.count("currentNumberScheduled"), o.count("updatedNumberScheduled")
	available, ready := o.count("numberAvailable"), o.count("numberReady")
	switch {
	case !generated:
		return progress("NoGeneration", named("%s metadata.generation not found", o.kind), "metadata.generation")
	case !observed:
		return progress("NoObservedGeneration", named("%s status.observedGeneration not found", o.kind), "status.observedGeneration")
	// Upstream takes -1 for missing.
	case wanted == -1:
		return progress("NoDesiredNumber", text("Missing .status.desiredNumberScheduled"), "status.desiredNumberScheduled")
	case wanted > scheduled:
		return progress("LessCurrent", counted("Current: %d/%d", scheduled, wanted), "status.currentNumberScheduled")
	case wanted > updated:
		return progress("LessUpdated", counted("Updated: %d/%d", updated, wanted), "status.updatedNumberScheduled")
	case wanted > available:
		return progress("LessAvailable", counted("Available: %d/%d", available, wanted), "status.numberAvailable")
	case wanted > ready:
		return progress("LessReady", counted("Ready: %d/%d", ready, wanted), "status.numberReady")
	}
	return Current.counting("All replicas scheduled as expected. Replicas: %d", wanted), true
}
