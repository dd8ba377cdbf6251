package kstatus

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// A Child is an object that another one made, and its verdict.
type Child struct {
	Object *unstructured.Unstructured // nil if it could not be had
	Result Result
}

// Combine is the verdict on a ReplicaSet or StatefulSet in the light of its Pods: while it is InProgress, a failed Pod fails it. In the standard
// profile every failed Pod counts; in Extended those do not that are being deleted, cannot be scheduled yet, or are gone.
func (r *Rules) Combine(own Result, pods []Child) Result {
	if own.Status != InProgress {
		return own
	}
	failed := int64(0)
	for _, p := range pods {
		if p.Result.Status == Failed && (r.transient == nil || !r.transient(p)) {
			failed++
		}
	}
	if failed == 0 {
		return own
	}
	return Failed.because("PodsFailed", counted("%d pods have failed", failed))
}

// transientFailure tells whether a failed Pod may be none in a moment: as in the fork of Flux.
func transientFailure(pod Child) bool {
	if pod.Object == nil {
		return true
	}
	o := newObject(pod.Object.Object, time.Time{})
	if _, deleted := object.String(o.metadata, "deletionTimestamp"); deleted {
		return true
	}
	c, unscheduled := o.holding("PodScheduled", "False")
	return unscheduled && c.Reason == "Unschedulable"
}
