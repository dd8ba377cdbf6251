package staged

import (
	"slices"

	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// release marks the placements that are no longer needed, and removes the ones whose clusters are
// covered.
func (d *decider) release(wanted []wave) {
	needed := map[string]bool{}
	for _, w := range wanted {
		needed[w.name] = true
	}
	for n := range d.Status.Placements {
		rec := &d.Status.Placements[n]
		rec.Removing = !needed[rec.Name] && (rec.Removing || !d.retains(rec))
	}
	d.Status.Placements = slices.DeleteFunc(d.Status.Placements, func(o v1alpha1.OwnedPlacement) bool {
		p := d.placed[o.Name]
		return o.Removing && (p == nil || p.Taken)
	})
	covered, safe := d.coverage(wanted)
	if !safe || d.restored {
		return
	}
	for _, rec := range d.Status.Placements {
		if rec.Removing && d.exists(rec.Name) && d.isCovered(rec.Name, covered) {
			d.Remove = append(d.Remove, rec.Name)
		}
	}
}

// retains reports whether a placement that is not wanted now stays: that of a stage or batch whose
// turn comes again.
func (d *decider) retains(rec *v1alpha1.OwnedPlacement) bool {
	j, n := d.stageOf(rec.Name)
	active := d.active()
	if j < 0 {
		return false
	}
	status := d.Status.Stages[j]
	switch {
	case j < active:
		return status.Phase == v1alpha1.Pending // it has to be passed again
	case status.Phase == v1alpha1.RolledBack && !d.byName() || status.Phase == v1alpha1.Skipped:
		return false
	case j > active:
		return true
	}
	n = max(0, n)
	return d.inWaves(j) && n >= int(status.StartedBatches) && n < len(status.Batches) && len(status.Batches[n].Clusters) > 0
}

// coverage returns the clusters that have the workload from the placements that are wanted. It is
// false if one of these does not exist in its present version, or was not taken over, or does not have a
// cluster of the active stage yet, or if that has no cluster, or another one must be passed first.
func (d *decider) coverage(wanted []wave) (covered map[string]bool, safe bool) {
	covered = map[string]bool{}
	has, active := 0, d.active()
	if active >= 0 && d.missed(active) >= 0 {
		return nil, false // its clusters are those of before
	}
	for _, w := range wanted {
		p := d.placed[w.name]
		switch {
		case !d.isCurrent(w.name) || !p.Ready || w.stage == active && !w.absent && d.uncovered(w, p.Has) != "":
			return nil, false
		case w.stage == active:
			has += len(p.Has)
		}
		for _, c := range p.Has {
			if d.seen.Can.Content && (d.ledger[c].Applied == "" || d.isOnItsWayOut(c)) && w.stage == active {
				return nil, false // it was told, and not observed to have it
			}
			covered[c] = covered[c] || d.isCover(w.name, c)
		}
	}
	return covered, has > 0 || len(wanted) > 0 && d.policy.stages[active].minDestinations() == 0
}

// isCovered reports whether every cluster of a placement that still needs the workload has it from
// another one.
func (d *decider) isCovered(name string, covered map[string]bool) bool {
	of, _ := d.stageOf(name)
	return !slices.ContainsFunc(d.holds(name), func(c string) bool { return !covered[c] && !d.mayLose(c, of) })
}

// mayLose reports whether a cluster may lose what it has from a placement of a stage, as far as that cluster is
// concerned: no stage whose turn comes selects it, and retention and rollbacks do not keep it. The stage is -1 if the
// placement stays, or for all placements.
func (d *decider) mayLose(cluster string, of int) bool {
	return !d.needs(cluster) && !d.awaitsTurn(cluster, of)
}

// awaitsTurn reports whether a stage that was not passed selects a cluster: it keeps what it has until that
// stage gives it something, also under retention Move. A later stage does not count for its placement, or
// for a placement that a rollback takes away.
func (d *decider) awaitsTurn(cluster string, of int) bool {
	taken, active := of >= 0 && d.isTaken(of, cluster), d.active()
	for i := range d.policy.stages {
		isToCome := active >= 0 && (i >= active || d.Status.Stages[i].Phase == v1alpha1.Pending)
		if isToCome && (i == active || i != of && !taken) && d.selects(i, cluster) && !d.isRolledBack(i, cluster) {
			return true
		}
	}
	return false
}

// needs reports whether a cluster must not lose the workload that it has, whichever stage selects it
// by now: under retention Keep, unless a rollback takes it away.
func (d *decider) needs(cluster string) bool {
	rec := d.ledger[cluster]
	if _, exists := d.clusters[cluster]; !exists || d.policy.object.Spec.Retention != v1alpha1.Keep || rec.Desired == v1alpha1.Withdrawn {
		return false
	}
	i := d.policy.index(rec.Stage)
	return i < 0 || !d.isTaken(i, cluster)
}

// isTaken reports whether a rollback takes the workload from a cluster of a stage, which had nothing before.
func (d *decider) isTaken(i int, cluster string) bool {
	return d.Status.Stages[i].Phase == v1alpha1.RolledBack && !d.byName() || d.isRolledBack(i, cluster)
}

// isRolledBack reports whether a cluster is one of a batch that was rolled back.
func (d *decider) isRolledBack(i int, cluster string) bool {
	rec := d.Status.Stages[i]
	return slices.ContainsFunc(rec.Batches[rec.StartedBatches:], func(b v1alpha1.Batch) bool {
		return b.SetAside != "" && slices.Contains(b.Clusters, cluster)
	})
}
