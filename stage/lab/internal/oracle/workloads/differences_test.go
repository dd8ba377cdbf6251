package workloads

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ignore removes the versions of other objects from an object, which are never the same.
func ignore(u *unstructured.Unstructured) {
	active, _, _ := unstructured.NestedSlice(u.Object, "status", "active")
	for _, ref := range active {
		delete(ref.(map[string]any), "resourceVersion")
	}
	if len(active) > 0 {
		_ = unstructured.SetNestedSlice(u.Object, active, "status", "active")
	}
}

// uncounted are reasons of Events that an object gets each time that a controller looks at it.
// Microseconds decide how often this is between two writes, before a controller has seen its own
// writes, or while a quota is used up.
var uncounted = map[string]bool{"SawCompletedJob": true, "JobAlreadyActive": true, "FailedCreate": true}

// combinedPrefix begins the message of an Event that combines similar ones. If goroutines record
// more than ten at one instant, chance decides which of them are combined. Events of the object
// with that type and reason are then no longer compared.
const combinedPrefix = "(combined from similar events): "

// subject returns the object, type and reason of an Event as [history.summary] has it.
func subject(name string) string {
	about, _, _ := strings.Cut(name, ": ")
	return about
}

// isHaste reports whether an Event says that a Kubernetes controller looked again before it had
// seen its own writes: a conflict, or a Job that it has just deleted itself. Our controllers see
// their own writes.
func isHaste(reason, message string) bool {
	return reason == "MissingJob" || strings.Contains(message, "the object has been modified")
}
