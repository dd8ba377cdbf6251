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
	{kinds: "Job", do: "foreground", why: "stage/memory deletes the Pods within the same write: ours sees them end at once, theirs with the next change after a second"},
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
