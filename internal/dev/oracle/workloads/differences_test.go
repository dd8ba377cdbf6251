package workloads

import (
	"strings"
	"time"

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

// A knownDifference is one that stays: histories are compared until the step with which it begins.
// Each row has to be met.
type knownDifference struct {
	kinds string // of the scenario
	do    string // the step with which it begins
	why   string
	met   bool
}

var differences = []*knownDifference{
	{kinds: "StatefulSet", do: "foreground", why: "theirs creates the revision anew that the garbage collector deletes, and the deletion waits for it"},
	{kinds: "Job CronJob", do: "foreground", why: "stage/memory deletes the Pods within the same write: ours sees them end at once, theirs with the next change after a second"},
}

// until returns the time until which a scenario is compared.
func (s scenario) until() time.Duration {
	for _, step := range s.steps {
		for _, d := range differences {
			if step.do == d.do && strings.Contains(d.kinds, s.kind) {
				d.met = true
				return time.Duration(step.at) * time.Second
			}
		}
	}
	return s.length()
}
