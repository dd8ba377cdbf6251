package workloads

import (
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/conditions"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
)

// status returns the status with the Pods as they were before act.
func (r *statefulRun) status() control.Status {
	update, currentRevision, desired := r.history.update.GetName(), r.current.GetName(), r.end-r.start
	current, updated := max(0, r.inRevision[currentRevision]-r.deleted), r.inRevision[update]
	if !r.onDelete && updated == desired && r.ready == desired && r.replicas == desired {
		current, currentRevision = updated, update // the update is complete
	}
	status := control.Status{
		"replicas": r.replicas, "availableReplicas": r.available, "collisionCount": r.history.collisions,
		"currentRevision": currentRevision, "updateRevision": update,
	}
	status.SetNonZero("observedGeneration", r.set.GetGeneration())
	status.SetNonZero("readyReplicas", r.ready)
	status.SetNonZero("currentReplicas", current)
	status.SetNonZero("updatedReplicas", updated)
	conditions.Of(r.set).WriteTo(status)
	return status
}
