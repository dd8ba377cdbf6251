package workloads

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/lists"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/pods"
)

// rolloutRolling scales the new ReplicaSet up or, if it already has its size, the old ones down.
// Each reconcile does one of the two.
func (r *rollout) rolloutRolling() error {
	if err := r.ensureNewRS(); err != nil || r.newRS == nil {
		return err
	}
	if scaled, err := r.scaleUp(); scaled || err != nil {
		return err
	}
	if scaled, err := r.scaleDown(); scaled || err != nil {
		return err
	}
	return r.cleanupIfComplete()
}

func (r *rollout) scaleUp() (bool, error) {
	have := specReplicas(r.newRS)
	switch {
	case have == r.spec.replicas:
		return false, nil
	case have > r.spec.replicas:
		return r.setReplicas(r.newRS, r.spec.replicas)
	}
	return r.setReplicas(r.newRS, r.newRSReplicas(have, sum(r.all(), specReplicas)))
}

// newRSReplicas returns how many replicas the new ReplicaSet may have, if it has some already and
// all ReplicaSets together have a total.
func (r *rollout) newRSReplicas(have, total int64) int64 {
	if r.spec.recreate {
		return r.spec.replicas
	}
	free := r.spec.replicas + r.spec.surge - total
	return have + max(0, min(free, r.spec.replicas-have))
}

// scaleDown scales the old ReplicaSets down by as many Pods as may be unavailable: first by the
// Pods that are already unavailable.
func (r *rollout) scaleDown() (bool, error) {
	minAvailable := r.spec.replicas - r.spec.unavailable
	unavailable := specReplicas(r.newRS) - statusCount(r.newRS, "availableReplicas")
	most := sum(r.all(), specReplicas) - minAvailable - unavailable
	if most <= 0 || sum(r.oldRSs, specReplicas) == 0 {
		return false, nil
	}
	unhealthy, err := r.scaleDownOld(most, func(rs *unstructured.Unstructured) int64 {
		return specReplicas(rs) - statusCount(rs, "availableReplicas")
	})
	if err != nil {
		return unhealthy, err
	}
	healthy, err := r.scaleDownOld(sumStatus(r.all(), "availableReplicas")-minAvailable, specReplicas)
	return unhealthy || healthy, err
}

// scaleDownOld scales the old ReplicaSets down, the oldest first. A function bounds the step of
// each ReplicaSet, and a number bounds all of them together.
func (r *rollout) scaleDownOld(most int64, has func(*unstructured.Unstructured) int64) (taken bool, err error) {
	for _, rs := range slices.Clone(r.oldRSs) {
		n := min(most, has(rs), specReplicas(rs))
		if n <= 0 {
			continue
		}
		if _, err := r.setReplicas(rs, specReplicas(rs)-n); err != nil {
			return taken, err
		}
		taken = true
		most -= n
	}
	return taken, nil
}

// rolloutRecreate creates the new ReplicaSet when all Pods of the old ReplicaSets are gone.
func (r *rollout) rolloutRecreate() error {
	if taken, err := r.scaleDownOld(math.MaxInt64, specReplicas); taken || err != nil {
		return err
	}
	if r.oldPodsRun() {
		return nil
	}
	if err := r.ensureNewRS(); err != nil || r.newRS == nil {
		return err
	}
	if _, err := r.setReplicas(r.newRS, r.spec.replicas); err != nil {
		return err
	}
	return r.cleanupIfComplete()
}

// cleanupIfComplete cleans up when the rollout is complete.
func (r *rollout) cleanupIfComplete() error {
	if !r.isComplete(r.status()) {
		return nil
	}
	return r.cleanupOld()
}

func (r *rollout) oldPodsRun() bool {
	if sumStatus(r.oldRSs, "replicas") > 0 {
		return true
	}
	for _, rs := range r.oldRSs {
		for _, obj := range r.Cache.Owned(kinds.Pod, rs.GetUID()) {
			if !pods.Of(obj).IsTerminal() {
				return true
			}
		}
	}
	return false
}

// isScalingEvent reports whether the number of replicas of the Deployment has changed since the
// ReplicaSets were scaled.
func (r *rollout) isScalingEvent() bool {
	return slices.ContainsFunc(r.all(), func(rs *unstructured.Unstructured) bool {
		desired, err := strconv.ParseInt(fields.Annotation(rs, desiredKey), 10, 64)
		return err == nil && specReplicas(rs) > 0 && desired != r.spec.replicas
	})
}

// scale gives the number of replicas to the only ReplicaSet that has some. If several have some,
// they are scaled in proportion.
func (r *rollout) scale() error {
	active := lists.Filter(r.all(), func(rs *unstructured.Unstructured) bool { return specReplicas(rs) > 0 })
	switch {
	case len(r.all()) == 0:
		return nil
	case len(active) <= 1:
		_, err := r.setReplicas(r.activeOrLatest(active), r.spec.replicas)
		return err
	case r.isSaturated():
		_, err := r.scaleDownOld(math.MaxInt64, specReplicas)
		return err
	case r.spec.recreate:
		return nil
	}
	return r.scaleProportionally(active)
}

// activeOrLatest returns the active ReplicaSet, or else the new one, or else the youngest one.
func (r *rollout) activeOrLatest(active []*unstructured.Unstructured) *unstructured.Unstructured {
	if len(active) == 1 {
		return active[0]
	}
	all := r.all()
	return all[len(all)-1]
}

func (r *rollout) isSaturated() bool {
	return r.newRS != nil && specReplicas(r.newRS) == r.spec.replicas && statusCount(r.newRS, "availableReplicas") == r.spec.replicas &&
		fields.Annotation(r.newRS, desiredKey) == strconv.FormatInt(r.spec.replicas, 10)
}

// scaleProportionally scales several ReplicaSets in proportion to their sizes. What rounding leaves
// over goes to the largest.
func (r *rollout) scaleProportionally(active []*unstructured.Unstructured) error {
	var allowed int64
	if r.spec.replicas > 0 {
		allowed = r.spec.replicas + r.spec.surge
	}
	more := allowed - sum(active, specReplicas)
	slices.SortStableFunc(active, bySize(-cmp.Compare(more, 0))) // of equal ReplicaSets the newest grows first, the oldest shrinks first
	sizes, added := make([]int64, len(active)), int64(0)
	for i, rs := range active {
		part := r.proportion(rs, more, added)
		sizes[i] = specReplicas(rs) + part
		added += part
	}
	sizes[0] = max(0, sizes[0]+more-added)
	for i, rs := range active {
		if _, err := r.resize(rs, sizes[i]); err != nil {
			return err
		}
	}
	return nil
}

// proportion returns by how much one ReplicaSet is scaled, if all are scaled by more together and
// others by added already.
func (r *rollout) proportion(rs *unstructured.Unstructured, more, added int64) int64 {
	if more == added {
		return 0
	}
	left, part := more-added, r.fraction(rs)
	if more > 0 {
		return min(part, left)
	}
	return max(part, left)
}

// fraction returns by how much a ReplicaSet would be scaled without rounding errors of the others.
func (r *rollout) fraction(rs *unstructured.Unstructured) int64 {
	if r.spec.replicas == 0 {
		return -specReplicas(rs)
	}
	before, _ := strconv.ParseInt(fields.Annotation(rs, maxReplicasKey), 10, 64)
	if before == 0 {
		before = statusCount(r.deployment, "replicas")
	}
	if before == 0 {
		return 0
	}
	size := float64(specReplicas(rs)*(r.spec.replicas+r.spec.surge)) / float64(before)
	return int64(math.Round(size)) - specReplicas(rs)
}

// setReplicas scales a ReplicaSet that has another size. It reports whether it has.
func (r *rollout) setReplicas(rs *unstructured.Unstructured, n int64) (bool, error) {
	if specReplicas(rs) == n {
		return false, nil
	}
	return r.resize(rs, n)
}

// resize scales a ReplicaSet, and annotates it with the sizes that the Deployment has. It reports
// whether its size changed.
func (r *rollout) resize(rs *unstructured.Unstructured, n int64) (bool, error) {
	desired, most := strconv.FormatInt(r.spec.replicas, 10), strconv.FormatInt(r.spec.replicas+r.spec.surge, 10)
	changed := specReplicas(rs) != n
	if !changed && fields.Annotation(rs, desiredKey) == desired && fields.Annotation(rs, maxReplicasKey) == most {
		return false, nil
	}
	next, err := r.MergePatch(rs, map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{desiredKey: desired, maxReplicasKey: most}},
		"spec":     map[string]any{"replicas": n},
	})
	if err != nil {
		return changed, err
	}
	if changed {
		r.recordScaling(rs, specReplicas(rs), n)
	}
	r.replaceRS(next)
	return changed, nil
}

// recordScaling records that the Deployment has another number of replicas in a ReplicaSet.
func (r *rollout) recordScaling(rs *unstructured.Unstructured, from, to int64) {
	how := "up"
	if to < from {
		how = "down"
	}
	r.Record(r.deployment, "Normal", "ScalingReplicaSet", fmt.Sprintf("Scaled %s replica set %s from %d to %d", how, rs.GetName(), from, to))
}
