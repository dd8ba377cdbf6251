package controllers

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// A pod is a Pod with the questions that workload controllers ask of it.
type pod struct{ *unstructured.Unstructured }

func (p pod) phase() string { return text(p.Object, "status", "phase") }
func (p pod) node() string  { return text(p.Object, "spec", "nodeName") }

// ended reports whether all containers have ended for good.
func (p pod) ended() bool {
	phase := p.phase()
	return phase == "Succeeded" || phase == "Failed"
}

func (p pod) terminating() bool { return isTerminating(p.Unstructured) }

// active Pods are those that count as replicas.
func (p pod) active() bool { return !p.terminating() && !p.ended() }

func (p pod) condition(kind string) condition { return conditionsOf(p.Unstructured).find(kind) }

func (p pod) ready() bool { return p.condition("Ready").is() }

// readySince is when the Pod became ready; false if it is not or does not say.
func (p pod) readySince() (time.Time, bool) {
	c := p.condition("Ready")
	if !c.is() {
		return time.Time{}, false
	}
	return timeAt(c, "lastTransitionTime")
}

// available reports whether the Pod has been ready for a number of seconds, and if it is ready but not yet available, for how long it has still
// to be.
func (p pod) available(minReady int64, now time.Time) (is bool, left time.Duration) {
	if !p.ready() {
		return false, 0
	}
	left = p.unavailableFor(minReady, now)
	return left == 0, left
}

// unavailableFor is how long it takes until a Pod that is ready counts as available.
func (p pod) unavailableFor(minReady int64, now time.Time) time.Duration {
	if minReady == 0 {
		return 0
	}
	since, ok := p.readySince()
	if !ok {
		return seconds(minReady)
	}
	return max(0, since.Add(seconds(minReady)).Sub(now))
}

func (p pod) restarts() (most int64) {
	for _, field := range []string{"initContainerStatuses", "containerStatuses"} {
		for _, c := range trees(p.Object, "status", field) {
			most = max(most, number(c, 0, "restartCount"))
		}
	}
	return most
}

func podsOf(objs []*unstructured.Unstructured) []pod {
	found := make([]pod, len(objs))
	for i, obj := range objs {
		found[i] = pod{obj}
	}
	return found
}

func keep[T any](all []T, which func(T) bool) []T {
	var kept []T
	for _, v := range all {
		if which(v) {
			kept = append(kept, v)
		}
	}
	return kept
}

// beyond returns the first of a list, without the last few that a limit leaves.
func beyond[T any](all []T, limit int64) []T { return all[:max(0, int64(len(all))-max(0, limit))] }

func count[T any](all []T, which func(T) bool) (n int64) {
	for _, v := range all {
		if which(v) {
			n++
		}
	}
	return n
}

// newPod makes a Pod from a template. Its name is generated from that of the owner.
func newPod(owner *unstructured.Unstructured, template map[string]any) *unstructured.Unstructured {
	p := newObject(pods, owner.GetNamespace(), "")
	metadata := p.Object["metadata"].(map[string]any)
	delete(metadata, "name")
	metadata["generateName"] = owner.GetName() + "-"
	for _, field := range []string{"labels", "annotations"} {
		if m := tree(template, "metadata", field); len(m) > 0 {
			metadata[field] = maps.Clone(m)
		}
	}
	if f := list(template, "metadata", "finalizers"); len(f) > 0 {
		metadata["finalizers"] = slices.Clone(f)
	}
	metadata["ownerReferences"] = []any{controllerRef(owner)}
	p.Object["spec"] = object.CopyMap(tree(template, "spec"))
	return p
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

// ordinalOf is the number at the end of a name, -1 if there is none.
func ordinalOf(name string) int64 {
	n, err := strconv.ParseInt(name[strings.LastIndexByte(name, '-')+1:], 10, 32)
	if err != nil {
		return -1
	}
	return n
}
