package workloads

import (
	"fmt"
	"maps"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/conditions"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
)

// setProgressing sets the condition Progressing before the status is computed.
func (r *rollout) setProgressing(status, reason, message string) {
	if r.spec.deadline > 0 {
		r.conditions = r.conditions.Set(r.condition("Progressing", status, reason, message))
	}
}

// condition returns a condition of a Deployment, which also has its lastUpdateTime.
func (r *rollout) condition(kind, status, reason, message string) conditions.Condition {
	c := conditions.New(kind, status, reason, message, r.Timestamp())
	c["lastUpdateTime"] = c["lastTransitionTime"]
	return c
}

// setPauseCondition sets the condition Progressing when a Deployment is paused or resumed, so that
// the progress deadline does not count the time in between.
func (r *rollout) setPauseCondition() {
	reason := r.conditions.Find("Progressing").Field("reason")
	paused := reason == "DeploymentPaused"
	switch {
	case reason == "ProgressDeadlineExceeded" || paused == r.spec.paused:
	case r.spec.paused:
		r.setProgressing("Unknown", "DeploymentPaused", "Deployment is paused")
	default:
		r.resumed = true
		r.setProgressing("Unknown", "DeploymentResumed", "Deployment is resumed")
	}
}

// status sums up the statuses of the ReplicaSets.
func (r *rollout) status() control.Status {
	all := r.all()
	available := sumStatus(all, "availableReplicas")
	status := control.Status{}
	status.SetNonZero("observedGeneration", r.deployment.GetGeneration())
	status.SetNonZero("replicas", sumStatus(all, "replicas"))
	if r.newRS != nil {
		status.SetNonZero("updatedReplicas", statusCount(r.newRS, "replicas"))
	}
	status.SetNonZero("readyReplicas", sumStatus(all, "readyReplicas"))
	status.SetNonZero("availableReplicas", available)
	status.SetNonZero("unavailableReplicas", max(0, sum(all, specReplicas)-available))
	if n, known := terminatingOf(all); known {
		status["terminatingReplicas"] = n
	}
	if r.collisions != nil {
		status["collisionCount"] = r.collisions
	}
	c := r.condition("Available", "True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
	if available < r.spec.replicas-r.spec.unavailable {
		c = r.condition("Available", "False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
	}
	r.conditions.Set(c).WriteTo(status)
	return status
}

// terminatingOf returns how many Pods of the ReplicaSets are terminating. It is unknown if the
// status of one does not say.
func terminatingOf(sets []*unstructured.Unstructured) (n int64, known bool) {
	for _, rs := range sets {
		terminating, ok := object.Int64(rs.Object, "status", "terminatingReplicas")
		if !ok && statusCount(rs, "observedGeneration") > 0 {
			return 0, false
		}
		n += terminating
	}
	return n, true
}

func (r *rollout) isComplete(status control.Status) bool {
	n := r.spec.replicas
	return fields.Int64(status, 0, "updatedReplicas") == n && fields.Int64(status, 0, "replicas") == n &&
		fields.Int64(status, 0, "availableReplicas") == n &&
		fields.Int64(status, 0, "observedGeneration") >= r.deployment.GetGeneration()
}

// withProgress adds the conditions Progressing and ReplicaFailure to a status.
func (r *rollout) withProgress(status control.Status) control.Status {
	l := conditions.List(fields.Slice(status, "conditions"))
	if r.spec.deadline == 0 {
		l = l.Without("Progressing")
	} else {
		l = r.progressConditions(l, status)
	}
	if failure := r.replicaFailure(); failure != nil {
		l = l.Set(failure)
	} else {
		l = l.Without("ReplicaFailure")
	}
	l.WriteTo(status)
	return status
}

func (r *rollout) progressConditions(l conditions.List, status control.Status) conditions.List {
	now := l.Find("Progressing")
	finished := fields.Int64(status, 0, "replicas") == fields.Int64(status, 0, "updatedReplicas") &&
		now.Field("reason") == "NewReplicaSetAvailable"
	switch {
	case finished: // a resync, no rollout
		return l
	case r.isComplete(status):
		return l.Set(r.condition("Progressing", "True", "NewReplicaSetAvailable", r.progressMessage("has successfully progressed.")))
	case r.hasProgressed(status):
		next := r.condition("Progressing", "True", "ReplicaSetUpdated", r.progressMessage("is progressing."))
		if now.IsTrue() {
			next["lastTransitionTime"] = now["lastTransitionTime"]
		}
		return l.Without("Progressing").Set(next) // even if the reason stays: lastUpdateTime is the time of the last progress
	case r.timedOut(now):
		return l.Set(r.condition("Progressing", "False", "ProgressDeadlineExceeded", r.progressMessage("has timed out progressing.")))
	}
	return l
}

func (r *rollout) progressMessage(what string) string {
	if r.newRS == nil {
		return fmt.Sprintf("Deployment %q %s", r.deployment.GetName(), what)
	}
	return fmt.Sprintf("ReplicaSet %q %s", r.newRS.GetName(), what)
}

// hasProgressed reports whether, compared with the old status, there are more new replicas, fewer
// old replicas, or more ready or available replicas.
func (r *rollout) hasProgressed(status control.Status) bool {
	before := fields.Map(r.deployment.Object, "status")
	more := func(field string) bool { return fields.Int64(status, 0, field) > fields.Int64(before, 0, field) }
	old := func(status map[string]any) int64 {
		return fields.Int64(status, 0, "replicas") - fields.Int64(status, 0, "updatedReplicas")
	}
	return more("updatedReplicas") || old(status) < old(before) || more("readyReplicas") || more("availableReplicas")
}

func (r *rollout) timedOut(progressing conditions.Condition) bool {
	if progressing.Field("reason") == "NewReplicaSetAvailable" {
		return false // the time since the last rollout
	}
	since, ok := fields.Time(progressing, "lastUpdateTime")
	return progressing.Field("reason") == "ProgressDeadlineExceeded" || ok && since.Add(r.spec.deadline).Before(r.Now)
}

// replicaFailure returns the condition ReplicaFailure of the new ReplicaSet, or else of an old one.
func (r *rollout) replicaFailure() conditions.Condition {
	for _, rs := range append([]*unstructured.Unstructured{r.newRS}, r.oldRSs...) {
		if rs == nil {
			continue
		}
		if c := conditions.Of(rs).Find("ReplicaFailure"); c != nil {
			c = maps.Clone(c)
			c["lastUpdateTime"] = c["lastTransitionTime"]
			return c
		}
	}
	return nil
}

// updateStatus writes the status and the annotation of the revision in one request.
func (r *rollout) updateStatus(status control.Status) error {
	revision := fields.Annotation(r.deployment, revisionKey)
	if r.newRS != nil {
		revision = strconv.FormatInt(revisionOf(r.newRS), 10)
	}
	if revision == fields.Annotation(r.deployment, revisionKey) {
		return r.WriteStatus(r.deployment, status)
	}
	annotations := fields.CloneMap(r.deployment.Object, "metadata", "annotations")
	annotations[revisionKey] = revision
	return r.WriteStatus(r.deployment, status, map[string]any{"op": "add", "path": "/metadata/annotations", "value": annotations})
}
