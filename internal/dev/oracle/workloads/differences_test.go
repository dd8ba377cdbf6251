package workloads

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ignore removes from an object what is never the same: the versions of other objects.
func ignore(u *unstructured.Unstructured) {
	active, _, _ := unstructured.NestedSlice(u.Object, "status", "active")
	for _, ref := range active {
		delete(ref.(map[string]any), "resourceVersion")
	}
	if len(active) > 0 {
		_ = unstructured.SetNestedSlice(u.Object, active, "status", "active")
	}
}

// uncounted are reasons of Events that a CronJob records each time that it is looked at: how often that
// is between two writes of its Job, or before it has seen its own status, is left to microseconds.
var uncounted = map[string]bool{"SawCompletedJob": true, "JobAlreadyActive": true}

// isHaste reports whether an Event says that a controller of theirs looked again before it had seen its
// own writes, which ours does not: a conflict, or a Job that it has just deleted itself.
func isHaste(reason, message string) bool {
	return reason == "MissingJob" || strings.Contains(message, "the object has been modified")
}
