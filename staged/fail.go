package staged

import (
	"fmt"

	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// fail does what onFailure says. It reports whether the active stage, or its batch, has changed.
func (d *decider) fail(i int, why string) bool {
	s, rec := d.policy.stages[i], &d.Status.Stages[i]
	if d.isPaused(i) {
		return d.stayFailed(i, why)
	}
	switch s.OnFailure {
	case v1alpha1.Continue:
		return d.continueAfter(i, why)
	case v1alpha1.Rollback:
		if before := d.before(i); before >= 0 {
			return d.rollBack(i, before, why)
		}
	case v1alpha1.RollbackAll:
		if first := d.first(i); first >= 0 {
			return d.rollBack(i, first, why)
		}
	case v1alpha1.RollbackBatch:
		if rec.StartedBatches > 1 {
			return d.rollBackBatch(i, why)
		}
	}
	return d.stayFailed(i, why)
}

// stayFailed stays in a stage that has failed.
func (d *decider) stayFailed(i int, why string) bool {
	rec := &d.Status.Stages[i]
	if rec.Phase != v1alpha1.Failed {
		d.event("Warning", "StageFailed", "stage %q: %s", rec.Name, why)
	}
	rec.Phase, rec.Message = v1alpha1.Failed, why
	d.paused = d.isPaused(i)
	d.stall("StageFailed", "stage %q has failed: %s", rec.Name, why)
	return false
}

// continueAfter goes on to the next batch or stage, if there is one.
func (d *decider) continueAfter(i int, why string) bool {
	rec := &d.Status.Stages[i]
	next := d.nextBatch(rec)
	switch {
	case next >= 0 && !d.isLate(rec.EnteredAt.Time, d.policy.stages[i].stageDeadline):
		return d.startBatch(i, next)
	case d.isLast(i):
		return d.stayFailed(i, why)
	case d.leave(i, v1alpha1.Failed):
		d.event("Warning", "Continued", "stage %q has failed, going on: %s", rec.Name, why)
		return true
	}
	rec.Phase = v1alpha1.Failed
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

// before returns the stage before i, skipped stages left out; -1 if there is none.
func (d *decider) before(i int) int {
	for i--; i >= 0 && d.Status.Stages[i].Phase == v1alpha1.Skipped; i-- {
	}
	return i
}

// first returns the first stage before i that was not skipped; -1 if there is none.
func (d *decider) first(i int) int {
	for j := range i {
		if d.Status.Stages[j].Phase != v1alpha1.Skipped {
			return j
		}
	}
	return -1
}

// rollBack goes back to an earlier stage. The stages after it lose the workload.
func (d *decider) rollBack(i, to int, why string) bool {
	rec := &d.Status.Stages[i]
	d.event("Warning", "RolledBack", "stage %q has failed, back to %q: %s", rec.Name, d.policy.stages[to].Name, why)
	for j := to; j <= i; j++ {
		later := &d.Status.Stages[j]
		if spend(later); j > to && later.Phase != v1alpha1.Skipped {
			later.Phase, later.Message, later.SatisfiedSince = v1alpha1.RolledBack, why, nil
			d.discard(later.Name)
		}
	}
	d.start(to)
	return true
}

// discard marks the BindingPolicies of a stage as to be removed.
func (d *decider) discard(stage string) {
	for n := range d.Status.BindingPolicies {
		if rec := &d.Status.BindingPolicies[n]; rec.Stage == stage {
			rec.Removing = true
		}
	}
}

// rollBackBatch takes the workload from the clusters of the latest batch. The batches before keep
// it.
func (d *decider) rollBackBatch(i int, why string) bool {
	rec := &d.Status.Stages[i]
	rec.StartedBatches--
	failed := &rec.Batches[rec.StartedBatches]
	failed.SetAside = why
	d.event("Warning", "BatchRolledBack", "batch %d of stage %q has failed: %s", rec.StartedBatches+1, rec.Name, why)
	if owned := d.owned(d.batchName(i, int(rec.StartedBatches))); owned != nil {
		owned.Removing = true
	}
	rec.Phase, rec.StartedAt, rec.SatisfiedSince = v1alpha1.Progressing, wholeSecond(d.now), nil
	return true
}

// batchRolledBack says why a batch that was rolled back is not started again.
func batchRolledBack(n int, b v1alpha1.Batch) string {
	return fmt.Sprintf("batch %d was rolled back until the spec changes: %s", n+1, b.SetAside)
}
