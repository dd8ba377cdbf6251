package workloads

import (
	"fmt"
	"maps"
	"slices"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/pods"
)

// pair returns the Pod of the new template and the Pod of an old template on a Node. It returns
// false if the Node has several Pods of either.
func (r *daemonRun) pair(on []pods.Pod) (updated, old pods.Pod, ok bool) {
	ok = true
	for _, p := range on {
		if p.IsTerminating() {
			continue
		}
		which := &old
		if r.isUpdated(p) {
			which = &updated
		}
		ok = ok && which.Unstructured == nil
		*which = p
	}
	return updated, old, ok
}

// nodeNames returns the names of the Nodes that have Pods or are to have one, sorted: also of Nodes
// that are gone.
func (r *daemonRun) nodeNames() []string {
	names := maps.Clone(r.podsOn)
	for _, n := range r.nodes {
		if n.shouldRun {
			names[n.name] = nil
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// rollingUpdate deletes Pods of an old template: each Pod that is not available, and as many others
// as may be unavailable.
func (r *daemonRun) rollingUpdate() error {
	var unavailable int64
	var oldUnavailable, oldAvailable []pods.Pod
	for _, name := range r.nodeNames() {
		updated, old, ok := r.pair(r.podsOn[name])
		switch {
		case !ok || (updated.Unstructured == nil) == (old.Unstructured == nil):
			unavailable++
		case old.Unstructured == nil:
			unavailable += one(!r.isAvailable(updated))
		case !r.isAvailable(old):
			oldUnavailable = append(oldUnavailable, old)
			unavailable++
		default:
			oldAvailable = append(oldAvailable, old)
		}
	}
	return r.sync(nil, append(oldUnavailable, firstOf(oldAvailable, r.unavailable-unavailable)...))
}

// firstOf returns the first n of a list, or all of it.
func firstOf[T any](list []T, n int64) []T {
	return list[:max(0, min(n, int64(len(list))))]
}

// A daemonSurge is the plan of a rollout with a surge.
type daemonSurge struct {
	surge, available  int64
	create, mayCreate []string   // Nodes for a new Pod: at once, and while surge is left
	remove, mayRemove []pods.Pod // old Pods: at once, and for as long as enough others are available
}

// rollingUpdateWithSurge creates Pods of the new template next to old Pods: on each Node where the
// old Pod is not available, and on as many other Nodes as may have two Pods. It deletes an old Pod
// when the new one is available. It deletes Pods of Nodes that should have none when enough other
// Pods are available.
func (r *daemonRun) rollingUpdateWithSurge() error {
	s := daemonSurge{surge: r.surge}
	shouldRun := map[string]bool{}
	for _, n := range r.nodes {
		shouldRun[n.name] = n.shouldRun
	}
	for _, name := range r.nodeNames() {
		updated, old, ok := r.pair(r.podsOn[name])
		if !ok {
			s.surge--
			continue
		}
		r.countAvailable(&s, updated, old)
		run, exists := shouldRun[name]
		switch {
		case old.Unstructured == nil:
		case updated.Unstructured != nil:
			r.replaceSurged(&s, updated, old)
		case !exists:
			return fmt.Errorf("couldn't get node for nodeName %q: node %q not found", name, name)
		default:
			r.replaceOld(&s, name, run, old)
		}
	}
	return r.sync(append(s.create, firstOf(s.mayCreate, s.surge)...), append(s.remove, firstOf(s.mayRemove, s.available-r.desired)...))
}

// countAvailable counts a Node whose Pod is available: the old Pod, if it has two.
func (r *daemonRun) countAvailable(s *daemonSurge, updated, old pods.Pod) {
	if old.Unstructured == nil {
		old = updated
	}
	s.available += one(old.Unstructured != nil && r.isAvailable(old))
}

// replaceSurged deletes an old Pod once the new one on the same Node is available.
func (r *daemonRun) replaceSurged(s *daemonSurge, updated, old pods.Pod) {
	if r.isAvailable(updated) {
		s.remove = append(s.remove, old)
	} else {
		s.surge--
	}
}

// replaceOld decides about a Node that has only an old Pod.
func (r *daemonRun) replaceOld(s *daemonSurge, node string, shouldRun bool, old pods.Pod) {
	switch available := r.isAvailable(old); {
	case !shouldRun && available:
		s.mayRemove = append(s.mayRemove, old)
	case !shouldRun:
		s.remove = append(s.remove, old)
	case available:
		s.mayCreate = append(s.mayCreate, node)
	default:
		s.create = append(s.create, node)
	}
}
