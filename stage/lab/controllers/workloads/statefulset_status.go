package workloads

import (
	"time"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/conditions"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
)

// status counts the Pods as they were before act. It returns the time until a ready Pod is
// available.
func (r *statefulRun) status() (status control.Status, next time.Duration) {
	var ready, available, current, updated int64
	for _, p := range r.all {
		if p.Phase() == "Running" && p.IsReady() {
			ready++
		}
		is, left := p.Available(r.minReadySeconds, r.Now)
		available += one(is && p.Phase() == "Running")
		next = control.Sooner(next, left)
		if p.IsTerminating() {
			continue
		}
		revision := fields.Label(p.Unstructured, revisionLabel)
		current += one(revision == r.current.GetName())
		updated += one(revision == r.history.update.GetName())
	}
	current = max(0, current-r.deleted)
	replicas := int64(len(r.all))
	currentRevision := r.current.GetName()
	if !r.onDelete && updated == r.desired && ready == r.desired && replicas == r.desired {
		current, currentRevision = updated, r.history.update.GetName() // the update is complete
	}
	status = control.Status{
		"replicas": replicas, "availableReplicas": available, "collisionCount": r.history.collisions,
		"currentRevision": currentRevision, "updateRevision": r.history.update.GetName(),
	}
	status.SetNonZero("observedGeneration", r.set.GetGeneration())
	status.SetNonZero("readyReplicas", ready)
	status.SetNonZero("currentReplicas", current)
	status.SetNonZero("updatedReplicas", updated)
	conditions.Of(r.set).WriteTo(status)
	return status, next
}
