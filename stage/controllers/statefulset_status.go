package controllers

import "time"

// status counts the Pods as they were before this look, and says how long it takes until one that is ready counts as available.
func (r *statefulRun) status() (status counts, next time.Duration) {
	var ready, available, current, updated int64
	for _, p := range r.all {
		if p.phase() == "Running" && p.ready() {
			ready++
		}
		is, left := p.available(r.minReady, r.Now)
		available += int64(truth(is && p.phase() == "Running"))
		next = sooner(next, left)
		if p.terminating() {
			continue
		}
		revision := label(p.Unstructured, revisionLabel)
		current += int64(truth(revision == r.current.GetName()))
		updated += int64(truth(revision == r.history.update.GetName()))
	}
	current = max(0, current-r.outdated)
	replicas, wanted := int64(len(r.all)), int64(len(r.replicas))
	currentRevision := r.current.GetName()
	if !r.onDelete && updated == wanted && ready == wanted && replicas == wanted {
		current, currentRevision = updated, r.history.update.GetName() // the update is complete
	}
	status = counts{
		"replicas": replicas, "availableReplicas": available, "collisionCount": r.history.collisions,
		"currentRevision": currentRevision, "updateRevision": r.history.update.GetName(),
	}
	status.add("observedGeneration", r.set.GetGeneration())
	status.add("readyReplicas", ready)
	status.add("currentReplicas", current)
	status.add("updatedReplicas", updated)
	conditionsOf(r.set).into(status)
	return status, next
}
