package controllers

import (
	"cmp"
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

// phaseOrder is the order in which Pods are given up.
var phaseOrder = map[string]int{"Pending": 0, "Unknown": 1, "Running": 2}

// victims returns the n Pods that are missed least, in the order of kube-controller-manager: not assigned, pending, not ready, of lower deletion cost, on
// a node with more of the related Pods, ready for a shorter time, restarted more often, younger. Times are compared by their order of magnitude.
func victims(active, related []pod, n int, now time.Time) []pod {
	if n >= len(active) {
		return active
	}
	onNode := map[string]int{}
	for _, p := range related {
		if p.active() {
			onNode[p.node()]++
		}
	}
	sorted := slices.Clone(active)
	slices.SortStableFunc(sorted, func(a, b pod) int {
		return cmp.Or(
			cmp.Compare(truth(a.node() != ""), truth(b.node() != "")),
			cmp.Compare(phaseOrder[a.phase()], phaseOrder[b.phase()]),
			cmp.Compare(truth(a.ready()), truth(b.ready())),
			cmp.Compare(a.deletionCost(), b.deletionCost()),
			cmp.Compare(onNode[b.node()], onNode[a.node()]),
			byMagnitude(a, b, now, pod.readySince),
			cmp.Compare(b.restarts(), a.restarts()),
			byMagnitude(a, b, now, func(p pod) (time.Time, bool) { return timeAt(p.Object, "metadata", "creationTimestamp") }),
			cmp.Compare(a.GetUID(), b.GetUID()),
		)
	})
	return sorted[:n]
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (p pod) deletionCost() int64 {
	cost, _ := strconv.ParseInt(annotation(p.Unstructured, "controller.kubernetes.io/pod-deletion-cost"), 10, 32)
	return cost
}

// byMagnitude puts the Pod whose time is more recent, in powers of two, first. Pods of the same magnitude are chosen by uid, that is at random.
func byMagnitude(a, b pod, now time.Time, of func(pod) (time.Time, bool)) int {
	ta, okA := of(a)
	tb, okB := of(b)
	if !okA || !okB || ta.Equal(tb) {
		return 0
	}
	return cmp.Or(cmp.Compare(magnitude(now.Sub(ta)), magnitude(now.Sub(tb))), cmp.Compare(a.GetUID(), b.GetUID()))
}

func magnitude(d time.Duration) (n int) {
	for ; d > 0; d >>= 1 {
		n++
	}
	return n
}

// ordinalOf is the number at the end of a name, -1 if there is none.
func ordinalOf(name string) int64 {
	n, err := strconv.ParseInt(name[strings.LastIndexByte(name, '-')+1:], 10, 32)
	if err != nil {
		return -1
	}
	return n
}
