package controllers

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// rollGradually scales the current ReplicaSet up if it can, else the old ones down if it can: one of the two at each look.
func (r *rollout) rollGradually() error {
	if err := r.ensureCurrent(); err != nil || r.current == nil {
		return err
	}
	if scaled, err := r.scaleUp(); scaled || err != nil {
		return err
	}
	if scaled, err := r.scaleDown(); scaled || err != nil {
		return err
	}
	return r.dropHistory()
}

func (r *rollout) scaleUp() (bool, error) {
	have := wanted(r.current)
	switch {
	case have == r.spec.replicas:
		return false, nil
	case have > r.spec.replicas:
		return r.setReplicas(r.current, r.spec.replicas)
	}
	return r.setReplicas(r.current, r.room(have, sum(r.all(), wanted)))
}

// room is how many replicas the current ReplicaSet may have if it has some and all together have a total.
func (r *rollout) room(have, total int64) int64 {
	if r.spec.recreate {
		return r.spec.replicas
	}
	free := r.spec.replicas + r.spec.surge - total
	return have + max(0, min(free, r.spec.replicas-have))
}

// scaleDown takes as many Pods from the old ReplicaSets as may be missing: first those that do not work anyway.
func (r *rollout) scaleDown() (bool, error) {
	minAvailable := r.spec.replicas - r.spec.unavailable
	unavailable := wanted(r.current) - observed(r.current, "availableReplicas")
	most := sum(r.all(), wanted) - minAvailable - unavailable
	if most <= 0 || sum(r.old, wanted) == 0 {
		return false, nil
	}
	broken, err := r.take(most, func(rs *unstructured.Unstructured) int64 { return wanted(rs) - observed(rs, "availableReplicas") })
	if err != nil {
		return broken, err
	}
	working, err := r.take(sumObserved(r.all(), "availableReplicas")-minAvailable, wanted)
	return broken || working, err
}

// take scales the old ReplicaSets down, the oldest first: each by as much as it has to give, all together by at most a number.
func (r *rollout) take(most int64, has func(*unstructured.Unstructured) int64) (taken bool, err error) {
	for _, rs := range slices.Clone(r.old) {
		n := min(most, has(rs), wanted(rs))
		if n <= 0 {
			continue
		}
		if _, err := r.setReplicas(rs, wanted(rs)-n); err != nil {
			return taken, err
		}
		taken = true
		most -= n
	}
	return taken, nil
}

// rollRecreate makes the current ReplicaSet when all Pods of the old ones are gone.
func (r *rollout) rollRecreate() error {
	if taken, err := r.take(math.MaxInt64, wanted); taken || err != nil {
		return err
	}
	if r.oldPodsRun() {
		return nil
	}
	if err := r.ensureCurrent(); err != nil || r.current == nil {
		return err
	}
	if _, err := r.setReplicas(r.current, r.spec.replicas); err != nil {
		return err
	}
	if r.isComplete(r.status()) {
		return r.dropHistory()
	}
	return nil
}

func (r *rollout) oldPodsRun() bool {
	if sumObserved(r.old, "replicas") > 0 {
		return true
	}
	for _, rs := range r.old {
		for _, obj := range r.Cache.Owned(pods, rs.GetUID()) {
			if !(pod{obj}).ended() {
				return true
			}
		}
	}
	return false
}

// isScaled reports whether the number of replicas has changed since the ReplicaSets were sized.
func (r *rollout) isScaled() bool {
	return slices.ContainsFunc(r.all(), func(rs *unstructured.Unstructured) bool {
		desired, err := strconv.ParseInt(annotation(rs, desiredKey), 10, 64)
		return err == nil && wanted(rs) > 0 && desired != r.spec.replicas
	})
}

// scale gives the number of replicas to the only ReplicaSet that has some; several get their share of the difference.
func (r *rollout) scale() error {
	active := keep(r.all(), func(rs *unstructured.Unstructured) bool { return wanted(rs) > 0 })
	switch {
	case len(r.all()) == 0:
		return nil
	case len(active) <= 1:
		_, err := r.setReplicas(r.only(active), r.spec.replicas)
		return err
	case r.isSaturated():
		_, err := r.take(math.MaxInt64, wanted)
		return err
	case r.spec.recreate:
		return nil
	}
	return r.share(active)
}

// only is the active ReplicaSet, or else the current one, or else the newest.
func (r *rollout) only(active []*unstructured.Unstructured) *unstructured.Unstructured {
	if len(active) == 1 {
		return active[0]
	}
	all := r.all()
	return all[len(all)-1]
}

func (r *rollout) isSaturated() bool {
	return r.current != nil && wanted(r.current) == r.spec.replicas && observed(r.current, "availableReplicas") == r.spec.replicas &&
		annotation(r.current, desiredKey) == strconv.FormatInt(r.spec.replicas, 10)
}

// share scales several ReplicaSets in proportion to their size. What rounding leaves over goes to the largest.
func (r *rollout) share(active []*unstructured.Unstructured) error {
	var allowed int64
	if r.spec.replicas > 0 {
		allowed = r.spec.replicas + r.spec.surge
	}
	more := allowed - sum(active, wanted)
	slices.SortStableFunc(active, bySize(-cmp.Compare(more, 0))) // of equal ones the newest grows first, the oldest shrinks first
	sizes, added := make([]int64, len(active)), int64(0)
	for i, rs := range active {
		part := r.part(rs, more, added)
		sizes[i] = wanted(rs) + part
		added += part
	}
	sizes[0] = max(0, sizes[0]+more-added)
	for i, rs := range active {
		if _, err := r.setReplicas(rs, sizes[i]); err != nil {
			return err
		}
	}
	return nil
}

// part is what one ReplicaSet gets of the difference, some of which was given to others.
func (r *rollout) part(rs *unstructured.Unstructured, more, added int64) int64 {
	if more == added {
		return 0
	}
	left, part := more-added, r.fraction(rs)
	if more > 0 {
		return min(part, left)
	}
	return max(part, left)
}

func (r *rollout) fraction(rs *unstructured.Unstructured) int64 {
	if r.spec.replicas == 0 {
		return -wanted(rs)
	}
	before, _ := strconv.ParseInt(annotation(rs, maxReplicasKey), 10, 64)
	if before == 0 {
		before = observed(r.deployment, "replicas")
	}
	if before == 0 {
		return 0
	}
	size := float64(wanted(rs)*(r.spec.replicas+r.spec.surge)) / float64(before)
	return int64(math.Round(size)) - wanted(rs)
}

// setReplicas scales a ReplicaSet and notes what for. It reports whether its size changed.
func (r *rollout) setReplicas(rs *unstructured.Unstructured, n int64) (bool, error) {
	desired, most := strconv.FormatInt(r.spec.replicas, 10), strconv.FormatInt(r.spec.replicas+r.spec.surge, 10)
	changed := wanted(rs) != n
	if !changed && annotation(rs, desiredKey) == desired && annotation(rs, maxReplicasKey) == most {
		return false, nil
	}
	next, err := r.merge(rs, map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{desiredKey: desired, maxReplicasKey: most}},
		"spec":     map[string]any{"replicas": n},
	})
	if err == nil {
		r.replace(next)
	}
	return changed, err
}
