package staged

import (
	"slices"
	"strings"

	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// release marks the BindingPolicies that nobody needs any more, and removes those whose clusters
// are covered.
func (d *decider) release(wanted []placement) {
	needed := map[string]bool{}
	for _, p := range wanted {
		needed[p.name] = true
	}
	for n := range d.Status.BindingPolicies {
		rec := &d.Status.BindingPolicies[n]
		rec.Removing = !needed[rec.Name] && (rec.Removing || !d.retains(rec))
	}
	d.Status.BindingPolicies = slices.DeleteFunc(d.Status.BindingPolicies, func(o v1alpha1.OwnedBindingPolicy) bool {
		state := d.observed[o.Name]
		return o.Removing && (state == nil || state.policy == nil)
	})
	covered, safe := d.coverage(wanted)
	if !safe {
		return
	}
	for _, rec := range d.Status.BindingPolicies {
		if rec.Removing && d.exists(rec.Name) && d.isCovered(rec.Name, wanted, covered) {
			d.Remove = append(d.Remove, rec.Name)
		}
	}
}

// retains reports whether a BindingPolicy that is not wanted now stays: that of a stage or batch
// whose turn comes again.
func (d *decider) retains(rec *v1alpha1.OwnedBindingPolicy) bool {
	j, n := d.stageOf(rec.Name)
	active := d.active()
	if j < active {
		return false
	}
	s, status := d.policy.stages[j], d.Status.Stages[j]
	switch {
	case status.Phase == v1alpha1.RolledBack || status.Phase == v1alpha1.Skipped:
		return false
	case j > active:
		return true
	}
	return s.isBatched() && n >= int(status.StartedBatches) && n < len(status.Batches) && len(status.Batches[n].Clusters) > 0
}

// coverage returns the clusters that have the workload from the BindingPolicies that are wanted. It
// is false if one of these does not exist in its present version, or has no Binding, or if the
// active stage has no cluster.
func (d *decider) coverage(wanted []placement) (covered map[string]bool, safe bool) {
	covered = map[string]bool{}
	destinations, active := 0, d.active()
	for _, p := range wanted {
		state := d.observed[p.name]
		switch {
		case !d.isCurrent(p.name) || !state.isBound():
			return nil, false
		case p.stage == active:
			destinations += len(state.binding.Spec.Destinations)
		}
		for _, c := range state.binding.Spec.Destinations {
			covered[c.ClusterID] = true
		}
	}
	return covered, destinations > 0 || len(wanted) > 0 && d.policy.stages[active].minDestinations() == 0
}

// isCovered reports whether every cluster of a BindingPolicy that still needs the workload, because
// a stage that is wanted selects it, has it from another one.
func (d *decider) isCovered(name string, wanted []placement, covered map[string]bool) bool {
	for _, c := range d.holds(name) {
		have, exists := d.clusters[c]
		if !exists || covered[c] {
			continue
		}
		if slices.ContainsFunc(wanted, func(p placement) bool { return d.policy.stages[p.stage].selects(have) && !d.isRolledBack(p.stage, c) }) {
			return false
		}
	}
	return true
}

// isRolledBack reports whether a cluster is one of a batch that was rolled back.
func (d *decider) isRolledBack(i int, cluster string) bool {
	rec := d.Status.Stages[i]
	return slices.ContainsFunc(rec.Batches[rec.StartedBatches:], func(b v1alpha1.Batch) bool {
		return b.SetAside != "" && slices.Contains(b.Clusters, cluster)
	})
}

// destinations returns the names of the destinations of a Binding, sorted.
func (s *bindingPolicyState) destinations() []string {
	names := make([]string, 0, len(s.binding.Spec.Destinations))
	for _, d := range s.binding.Spec.Destinations {
		names = append(names, d.ClusterID)
	}
	slices.SortFunc(names, strings.Compare)
	return names
}
