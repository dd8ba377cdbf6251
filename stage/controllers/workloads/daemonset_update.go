package workloads

import "github.com/stagecraft-go/stagecraft/stage/controllers/internal/pods"

// pair returns the Pod of the new template on a Node and that of an old one. It is false if there
// are several of one of them.
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

// rollingUpdate deletes Pods of an old template: all that are not available, and as many others as
// may be unavailable.
func (r *daemonRun) rollingUpdate() error {
	var unavailable int64
	var oldUnavailable, oldAvailable []pods.Pod
	for _, n := range r.nodes {
		on := r.podsOn[n.name]
		if len(on) == 0 {
			continue
		}
		updated, old, ok := r.pair(on)
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
	n := max(0, min(r.unavailable-unavailable, int64(len(oldAvailable))))
	return r.deletePods(append(oldUnavailable, oldAvailable[:n]...))
}

// rollingUpdateWithSurge creates Pods of the new template beside old ones: wherever the old one is
// not available, and on as many other Nodes as may have two.
func (r *daemonRun) rollingUpdateWithSurge() error {
	surge := r.surge
	var candidates []string
	for _, n := range r.nodes {
		updated, old, ok := r.pair(r.podsOn[n.name])
		switch {
		case !ok:
			surge--
		case old.Unstructured == nil:
		case updated.Unstructured != nil:
			surge -= one(!r.isAvailable(updated))
		case n.shouldRun && !r.isAvailable(old):
			if err := r.createPod(n.name); err != nil {
				return err
			}
		case n.shouldRun:
			candidates = append(candidates, n.name)
		}
	}
	for _, name := range candidates[:max(0, min(int(surge), len(candidates)))] {
		if err := r.createPod(name); err != nil {
			return err
		}
	}
	return nil
}
