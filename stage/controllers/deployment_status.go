package controllers

import (
	"fmt"
	"maps"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// note sets the condition Progressing before the status is computed.
func (r *rollout) note(status, reason, message string) {
	if r.spec.deadline > 0 {
		r.conditions = r.conditions.put(r.condition("Progressing", status, reason, message))
	}
}

// condition returns one of a Deployment, which also says when it was updated.
func (r *rollout) condition(kind, status, reason, message string) condition {
	c := newCondition(kind, status, reason, message, r.now())
	c["lastUpdateTime"] = r.now()
	return c
}

// notePause keeps the time for which a Deployment is paused from counting as lack of progress.
func (r *rollout) notePause() {
	reason := r.conditions.find("Progressing").field("reason")
	paused := reason == "DeploymentPaused"
	switch {
	case reason == "ProgressDeadlineExceeded" || paused == r.spec.paused:
	case r.spec.paused:
		r.note("Unknown", "DeploymentPaused", "Deployment is paused")
	default:
		r.note("Unknown", "DeploymentResumed", "Deployment is resumed")
	}
}

// status counts what the ReplicaSets report.
func (r *rollout) status() counts {
	all := r.all()
	available := sumObserved(all, "availableReplicas")
	status := counts{}
	status.add("observedGeneration", r.deployment.GetGeneration())
	status.add("replicas", sumObserved(all, "replicas"))
	if r.current != nil {
		status.add("updatedReplicas", observed(r.current, "replicas"))
	}
	status.add("readyReplicas", sumObserved(all, "readyReplicas"))
	status.add("availableReplicas", available)
	status.add("unavailableReplicas", max(0, sum(all, wanted)-available))
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
	r.conditions.put(c).into(status)
	return status
}

// terminatingOf sums up the Pods that are on their way out. It is unknown if a ReplicaSet does not say.
func terminatingOf(sets []*unstructured.Unstructured) (n int64, known bool) {
	for _, rs := range sets {
		terminating, said := object.Int64(rs.Object, "status", "terminatingReplicas")
		if !said && observed(rs, "observedGeneration") > 0 {
			return 0, false
		}
		n += terminating
	}
	return n, true
}

func (r *rollout) isComplete(status counts) bool {
	n := r.spec.replicas
	return number(status, 0, "updatedReplicas") == n && number(status, 0, "replicas") == n && number(status, 0, "availableReplicas") == n &&
		number(status, 0, "observedGeneration") >= r.deployment.GetGeneration()
}

// progress says in a status how the rollout goes, and whether Pods could not be made.
func (r *rollout) progress(status counts) counts {
	cs := conditions(list(status, "conditions"))
	if r.spec.deadline == 0 {
		cs = cs.without("Progressing")
	} else {
		cs = r.putProgress(cs, status)
	}
	if failure := r.replicaFailure(); failure != nil {
		cs = cs.put(failure)
	} else {
		cs = cs.without("ReplicaFailure")
	}
	cs.into(status)
	return status
}

func (r *rollout) putProgress(cs conditions, status counts) conditions {
	now := cs.find("Progressing")
	finished := number(status, 0, "replicas") == number(status, 0, "updatedReplicas") && now.field("reason") == "NewReplicaSetAvailable"
	switch {
	case finished: // a resync, no rollout
		return cs
	case r.isComplete(status):
		return cs.put(r.condition("Progressing", "True", "NewReplicaSetAvailable", r.saying("has successfully progressed.")))
	case r.advanced(status):
		next := r.condition("Progressing", "True", "ReplicaSetUpdated", r.saying("is progressing."))
		if now.is() {
			next["lastTransitionTime"] = now["lastTransitionTime"]
		}
		return cs.without("Progressing").put(next) // even if the reason stays: it tells of the last progress
	case r.timedOut(now):
		return cs.put(r.condition("Progressing", "False", "ProgressDeadlineExceeded", r.saying("has timed out progressing.")))
	}
	return cs
}

func (r *rollout) saying(what string) string {
	if r.current == nil {
		return fmt.Sprintf("Deployment %q %s", r.deployment.GetName(), what)
	}
	return fmt.Sprintf("ReplicaSet %q %s", r.current.GetName(), what)
}

// advanced reports whether there are more new replicas, fewer old ones, or more that work, than in the status of before.
func (r *rollout) advanced(status counts) bool {
	before := tree(r.deployment.Object, "status")
	more := func(field string) bool { return number(status, 0, field) > number(before, 0, field) }
	old := func(status map[string]any) int64 {
		return number(status, 0, "replicas") - number(status, 0, "updatedReplicas")
	}
	return more("updatedReplicas") || old(status) < old(before) || more("readyReplicas") || more("availableReplicas")
}

func (r *rollout) timedOut(progressing condition) bool {
	since, ok := timeAt(progressing, "lastUpdateTime")
	return progressing.field("reason") == "ProgressDeadlineExceeded" || ok && since.Add(r.spec.deadline).Before(r.Now)
}

// replicaFailure is that of a ReplicaSet, first of all that of the current one.
func (r *rollout) replicaFailure() condition {
	for _, rs := range append([]*unstructured.Unstructured{r.current}, r.old...) {
		if rs == nil {
			continue
		}
		if c := conditionsOf(rs).find("ReplicaFailure"); c != nil {
			c = maps.Clone(c)
			c["lastUpdateTime"] = c["lastTransitionTime"]
			return c
		}
	}
	return nil
}

// report writes the status, and the revision beside it, in one request.
func (r *rollout) report(status counts) error {
	revision := annotation(r.deployment, revisionKey)
	if r.current != nil {
		revision = strconv.FormatInt(revisionOf(r.current), 10)
	}
	if revision == annotation(r.deployment, revisionKey) {
		return r.writeStatus(r.deployment, status)
	}
	annotations := maps.Clone(tree(r.deployment.Object, "metadata", "annotations"))
	if annotations == nil {
		annotations = map[string]any{}
	}
	annotations[revisionKey] = revision
	return r.writeStatus(r.deployment, status, map[string]any{"op": "add", "path": "/metadata/annotations", "value": annotations})
}
