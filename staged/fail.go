package staged

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// fail does what onFailure says. It reports whether the active stage, or its batch, has changed. A
// failed stage stays so until another revision comes, or somebody asks for a retry.
func (d *decider) fail(i int, why string) bool {
	s, rec := d.policy.stages[i], &d.Status.Stages[i]
	if !d.isPaused(i) {
		switch s.OnFailure {
		case v1alpha1.Continue:
			return d.continueAfter(i, why)
		case v1alpha1.Rollback, v1alpha1.RollbackAll, v1alpha1.RollbackBatch:
			return d.rollBack(i, why)
		}
	}
	d.noteFailed(rec, why)
	return d.stayFailed(i, "")
}

// noteFailed records that a stage has failed.
func (d *decider) noteFailed(rec *v1alpha1.StageStatus, why string) {
	if rec.Phase != v1alpha1.Failed {
		d.event("Warning", "StageFailed", "stage %q: %s", rec.Name, why)
		d.endAttempt(rec, fleet.RevisionID(d.Status.Wanted), "Failed", why)
	}
	rec.Phase, rec.Message, rec.SatisfiedSince, rec.Soak = v1alpha1.Failed, why, nil, nil
}

// stayFailed stays in a stage that has failed.
func (d *decider) stayFailed(i int, more string) bool {
	rec := &d.Status.Stages[i]
	d.paused = d.isPaused(i)
	d.stall("StageFailed", "stage %q has failed: %s%s", rec.Name, rec.Message, more)
	d.Message += "; to try again: " + d.retryText(rec.Name)
	return false
}

// continueAfter goes on to the next batch or stage, if there is one.
func (d *decider) continueAfter(i int, why string) bool {
	rec := &d.Status.Stages[i]
	next := d.nextBatch(rec)
	switch {
	case next >= 0 && !d.isOverdue(i):
		d.noteFailed(rec, why)
		return d.startBatch(i, next)
	case d.isLast(i):
		d.noteFailed(rec, why)
		return d.stayFailed(i, "")
	case d.leave(i, v1alpha1.Failed):
		d.event("Warning", "Continued", "stage %q has failed, going on: %s", rec.Name, why)
		rec.Message = why
		return true
	}
	rec.Phase, rec.Message = v1alpha1.Failed, why
	return false
}

// isLast reports whether no stage follows that is not skipped.
func (d *decider) isLast(i int) bool {
	for j := i + 1; j < len(d.policy.stages); j++ {
		if !d.skips(j) {
			return false
		}
	}
	return true
}

// A retreat is what a rollback does with the clusters that have received the failed revision.
type retreat struct {
	back     []string // they go back to the revision that each of them had
	withdraw []string // they had nothing before
	keep     []string // there is nothing to go back to
}

// retreatOf sorts the clusters of a rollback. The workload is removed only from clusters that had
// none of it before.
func (d *decider) retreatOf(clusters []string) (r retreat) {
	for _, name := range clusters {
		switch good := d.goodBefore(name); {
		case good != "" && good != d.Status.Wanted:
			r.back = append(r.back, name)
		case d.isFresh(name):
			r.withdraw = append(r.withdraw, name)
		default:
			r.keep = append(r.keep, name)
		}
	}
	return r
}

// scope returns the clusters that a rollback of a stage is about, and the first stage of these.
func (d *decider) scope(i int) (clusters []string, first int) {
	rec := d.Status.Stages[i]
	switch d.policy.stages[i].OnFailure {
	case v1alpha1.RollbackBatch:
		if d.inWaves(i) && rec.StartedBatches > 0 {
			return rec.Batches[rec.StartedBatches-1].Clusters, i
		}
	case v1alpha1.RollbackAll:
		if first = 0; !d.byName() {
			first = d.first(i) + 1 // the stages after the first are withdrawn
		}
		for j := first; j <= i; j++ {
			clusters = append(clusters, d.turnOf(j)...)
		}
		return clusters, first
	}
	return d.turnOf(i), i
}

// rollBack begins a rollback.
func (d *decider) rollBack(i int, why string) bool {
	rec := &d.Status.Stages[i]
	clusters, first := d.scope(i)
	r := d.retreatOf(clusters)
	byStage := !d.byName()
	switch {
	case len(r.back)+len(r.withdraw) == 0, byStage && len(r.back) == 0 && len(r.keep) > 0:
		d.noteFailed(rec, why)
		return d.stayFailed(i, d.nothingText(r))
	case byStage && len(r.back) == 0:
		return d.withdraw(i, why)
	}
	d.noteFailed(rec, why)
	for _, name := range r.back {
		good := d.goodBefore(name)
		d.change([]string{name}, func(c *v1alpha1.ClusterRecord) { c.Back = good })
	}
	d.change(r.withdraw, func(c *v1alpha1.ClusterRecord) { c.Desired = v1alpha1.Withdrawn })
	for j := first; j <= i; j++ {
		stage := &d.Status.Stages[j]
		stage.Phase, stage.SatisfiedSince, stage.Soak, stage.CompletedAt = v1alpha1.RollingBack, nil, nil, nil
		stage.Message = why
	}
	d.event("Warning", "RollingBack", "stage %q has failed: %s; %s", rec.Name, why, d.retreatText(r))
	return d.retire(i)
}

func (d *decider) retreatText(r retreat) string {
	var parts []string
	if len(r.back) > 0 {
		parts = append(parts, "back to what they had: "+firstOf(r.back, ", "))
	}
	if len(r.withdraw) > 0 {
		parts = append(parts, "withdrawn, since they had nothing: "+firstOf(r.withdraw, ", "))
	}
	if len(r.keep) > 0 {
		parts = append(parts, "nothing to go back to in "+firstOf(r.keep, ", "))
	}
	return strings.Join(parts, "; ")
}

// nothingText says why a rollback does nothing.
func (d *decider) nothingText(r retreat) string {
	text := "; there is nothing to go back to"
	if len(r.keep) > 0 {
		text += " in " + firstOf(r.keep, ", ")
	}
	if !d.seen.Can.OldRevision {
		text += ": it is not known that the clusters had nothing before (withdrawFirst: true says so)"
	}
	return text
}

// retire works on a stage that is being rolled back, or was. It waits until the clusters have what
// they go back to.
func (d *decider) retire(i int) bool {
	rec := &d.Status.Stages[i]
	all := d.clustersWith("", func(c v1alpha1.ClusterRecord) bool { return c.Back != "" && c.Applied != c.Back })
	needed, going, back := map[string]bool{}, map[string]bool{}, ""
	var stuck, waiting []string
	for _, name := range all {
		id := d.ledger[name].Back
		if d.isPlaceable(id) {
			waiting = append(waiting, name)
			going[d.revisionName(fleet.RevisionID(id))] = true
			continue
		}
		stuck, back = append(stuck, name), id
		needed[d.revisionName(fleet.RevisionID(id))] = true
	}
	withdrawn := d.clustersWith("", func(c v1alpha1.ClusterRecord) bool { return c.Desired == v1alpha1.Withdrawn })
	withdrawn = slices.DeleteFunc(withdrawn, func(name string) bool { return !d.isHeld(name) })
	switch {
	case len(needed) > 0:
		d.setRetired(v1alpha1.RollbackNeeded)
		why := rec.Message
		if len(waiting) > 0 {
			why += fmt.Sprintf("; waits for %s to go back to %s", firstOf(waiting, ", "), firstOf(sortedKeys(going), ", "))
		}
		d.stall("RollbackNeeded", "stage %q has failed: %s; %s keeps %s until the source holds %s again%s", rec.Name, why,
			firstOf(stuck, ", "), d.revisionName(fleet.RevisionID(d.Status.Wanted)), firstOf(sortedKeys(needed), ", "), d.restore(sortedKeys(needed), fleet.RevisionID(back)))
	case len(waiting)+len(withdrawn) > 0:
		d.stall("RollingBack", "stage %q has failed: %s; waits for %s to go back", rec.Name, rec.Message, firstOf(append(waiting, withdrawn...), ", "))
	default:
		d.setRetired(v1alpha1.RolledBack)
		d.stall("RolledBack", "stage %q was rolled back from %s: %s; to try again: %s", rec.Name, d.revisionName(fleet.RevisionID(d.Status.Wanted)), rec.Message, d.retryText(rec.Name))
	}
	return false
}

// restore asks for the source to be written back, if the policy wants that and it can be done, and says
// so.
func (d *decider) restore(needed []string, back fleet.RevisionID) string {
	r := d.policy.object.Spec.Revisions
	switch w := d.seen.Workload; {
	case r == nil || !r.Restore:
		return ""
	case len(needed) > 1:
		return ": it is not restored, since clusters need several revisions"
	case w.CannotRestore != "":
		return ": it is not restored, since " + w.CannotRestore
	case !slices.Contains(w.Kept, back):
		return ": it is not restored, since its snapshot is not kept"
	}
	d.Restore = back
	return ", which is written back now"
}

// setRetired records how far a rollback is, in all stages that are rolled back.
func (d *decider) setRetired(phase v1alpha1.Phase) {
	for j := range d.Status.Stages {
		rec := &d.Status.Stages[j]
		switch rec.Phase {
		case v1alpha1.RollingBack, v1alpha1.RollbackNeeded:
			if rec.Phase != phase {
				d.event("Warning", string(phase), "stage %q: %s", rec.Name, rec.Message)
				d.endAttempt(rec, fleet.RevisionID(d.Status.Wanted), string(phase), rec.Message)
			}
			rec.Phase = phase
		}
	}
}

// before returns the stage before i, skipped stages left out; -1 without one.
func (d *decider) before(i int) int {
	for i--; i >= 0 && d.Status.Stages[i].Phase == v1alpha1.Skipped; i-- {
	}
	return i
}

// first returns the first stage before i that was not skipped; -1 without one.
func (d *decider) first(i int) int {
	for j := range i {
		if d.Status.Stages[j].Phase != v1alpha1.Skipped {
			return j
		}
	}
	return -1
}

// withdraw takes a first installation from stages or a batch whose clusters had nothing before, and
// goes back to an earlier stage.
func (d *decider) withdraw(i int, why string) bool {
	rec, to := &d.Status.Stages[i], -1
	switch d.policy.stages[i].OnFailure {
	case v1alpha1.RollbackBatch:
		if rec.StartedBatches > 1 {
			return d.withdrawBatch(i, why)
		}
	case v1alpha1.RollbackAll:
		to = d.first(i)
	default:
		to = d.before(i)
	}
	d.noteFailed(rec, why)
	if to < 0 || staysFailed(d.Status.Stages[to]) {
		return d.stayFailed(i, "")
	}
	d.event("Warning", "RolledBack", "stage %q has failed, back to %q: %s", rec.Name, d.policy.stages[to].Name, why)
	for j := to + 1; j <= i; j++ {
		later := &d.Status.Stages[j]
		if later.Phase != v1alpha1.Skipped {
			later.Phase, later.Message, later.SatisfiedSince, later.Soak, later.CompletedAt = v1alpha1.RolledBack, why, nil, nil, nil
			d.discard(later.Name)
		}
	}
	d.Status.Stages[to].Attempt = max(1, d.Status.Stages[to].Attempt) + 1
	d.start(to)
	return true
}

// discard marks the placements of a stage as to be removed.
func (d *decider) discard(stage string) {
	for n := range d.Status.Placements {
		if rec := &d.Status.Placements[n]; rec.Stage == stage {
			rec.Removing = true
		}
	}
}

// withdrawBatch takes the workload from the clusters of the latest batch. The batches before keep
// it.
func (d *decider) withdrawBatch(i int, why string) bool {
	rec := &d.Status.Stages[i]
	rec.StartedBatches--
	failed := &rec.Batches[rec.StartedBatches]
	failed.SetAside = why
	d.event("Warning", "BatchRolledBack", "batch %d of stage %q has failed: %s", rec.StartedBatches+1, rec.Name, why)
	d.endAttempt(rec, fleet.RevisionID(d.Status.Wanted), "RolledBack", why)
	if owned := d.owned(d.batchName(i, int(rec.StartedBatches))); owned != nil {
		owned.Removing = true
	}
	rec.Phase, rec.StartedAt, rec.SatisfiedSince, rec.Soak, rec.Waited = v1alpha1.Progressing, wholeSecond(d.now), nil, nil, nil
	return true
}

// batchRolledBack says why a batch that was rolled back is not started again.
func batchRolledBack(n int, b v1alpha1.Batch) string {
	return fmt.Sprintf("batch %d was rolled back until another revision comes or a retry is asked for: %s", n+1, b.SetAside)
}
