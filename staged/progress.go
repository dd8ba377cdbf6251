package staged

import (
	"cmp"
	"fmt"
	"time"

	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// progress works on the active stage. It reports whether the active stage, or its batch, has
// changed.
func (d *decider) progress(i int) bool {
	s, rec := d.policy.stages[i], &d.Status.Stages[i]
	if rec.StartedAt == nil { // another program has set activeStage
		rec.Phase, rec.StartedAt = v1alpha1.Progressing, wholeSecond(d.now)
	}
	if rec.EnteredAt == nil {
		rec.EnteredAt = rec.StartedAt
	}
	if !d.divide(i) {
		return false
	}
	if d.clusters != nil && !d.isDone(i) && d.staysEmpty(i, d.skips(i)) {
		return d.passOver(i)
	}
	if n := d.onlyEmptyBatches(i); n >= 0 {
		return d.nextIfNotPaused(i, n)
	}
	if s.perCluster != nil && s.condition != nil && !d.isDone(i) {
		return d.progressClusters(i)
	}
	a := d.assess(i)
	rec.Counts = a.counts
	switch {
	case d.isDone(i):
		d.finish(i)
		return false
	case d.clusters == nil && d.staysEmpty(i, s.SkipIfEmpty && a.bound && a.noDestinations):
		return d.passOver(i)
	case s.condition == nil:
		d.stay(i, a)
		return false
	}
	ok := a.Satisfaction == Satisfied && !a.failing
	d.recordSatisfied(rec, ok)
	if s.readsTime {
		d.recheckAt(d.now.Add(timeStep))
	}
	if why := d.failure(s, rec, a); why != "" {
		return d.fail(i, why)
	}
	if !ok {
		d.wait(rec, v1alpha1.Progressing, a.reason)
		if a.unreportable {
			d.stall("Unreportable", "stage %q: %s", s.Name, a.reason)
		}
		return false
	}
	return d.pass(i)
}

// timeStep is how often a condition that reads the time is evaluated.
const timeStep = 10 * time.Second

// leastEmpty is how long a stage that had clusters must be without any, at least, to be skipped.
const leastEmpty = time.Minute

// staysEmpty reports whether a started stage without clusters is to be skipped: it never had one,
// or has none for as long as its soak. The last stage waits for clusters.
func (d *decider) staysEmpty(i int, empty bool) bool {
	s, rec := d.policy.stages[i], &d.Status.Stages[i]
	switch {
	case !empty:
		rec.EmptySince = nil
		return false
	case d.isLast(i):
		return false
	case !d.hadClusters(i):
		return true
	case rec.EmptySince == nil:
		rec.EmptySince = wholeSecond(d.now)
	}
	return d.isLate(rec.EmptySince.Time, max(s.soak, leastEmpty))
}

// passOver skips a started stage, unless the rollout is paused there.
func (d *decider) passOver(i int) bool {
	rec := &d.Status.Stages[i]
	if d.isPaused(i) {
		d.paused = true
		d.hold(rec, "paused")
		return false
	}
	return d.leave(i, v1alpha1.Skipped)
}

// nextIfNotPaused starts a batch, unless the rollout is paused there.
func (d *decider) nextIfNotPaused(i, n int) bool {
	rec := &d.Status.Stages[i]
	if d.isPaused(i) {
		d.paused = true
		d.hold(rec, "paused")
		return false
	}
	return d.startBatch(i, n)
}

func (d *decider) isPaused(i int) bool {
	return d.policy.object.Spec.Paused || d.policy.stages[i].Paused
}

// stay works on a stage without condition: the rollout ends in the last stage, and stalls in any
// other.
func (d *decider) stay(i int, a assessment) {
	s, rec := d.policy.stages[i], &d.Status.Stages[i]
	next := s.isBatched() && d.nextBatch(rec) >= 0
	switch {
	case i < len(d.policy.stages)-1:
		rec.Message = "the stage has no condition"
		d.stall("NoCondition", "stage %q has no condition: the rollout stops here", rec.Name)
	case a.bound && a.hasDestinations && next:
		rec.Message = "the stage has no condition"
		d.stall("NoCondition", "stage %q has no condition: no batch after the first %d is started", rec.Name, rec.StartedBatches)
	case a.bound && a.hasDestinations:
		d.event("Normal", "Succeeded", "stage %q is the last", rec.Name)
		d.finish(i)
	default:
		d.wait(rec, v1alpha1.Progressing, cmp.Or(a.reason, "waits for destinations"))
	}
}

// recordSatisfied records since when condition and guards hold.
func (d *decider) recordSatisfied(rec *v1alpha1.StageStatus, ok bool) {
	switch {
	case !ok:
		rec.SatisfiedSince = nil
	case rec.SatisfiedSince == nil:
		rec.SatisfiedSince = wholeSecond(d.now)
	}
}

// failure returns why the stage has failed; "" if it has not.
func (d *decider) failure(s *stage, rec *v1alpha1.StageStatus, a assessment) string {
	switch {
	case a.failing:
		return a.failure
	case d.isLate(rec.EnteredAt.Time, s.stageDeadline) && (a.Satisfaction != Satisfied || d.nextBatch(rec) >= 0):
		return fmt.Sprintf("the stage was not satisfied within %s: %s", s.stageDeadline,
			cmp.Or(a.reason, fmt.Sprintf("%d of %d batches are started", rec.StartedBatches, len(rec.Batches))))
	case a.Satisfaction != Satisfied && d.isLate(rec.StartedAt.Time, s.deadline):
		return fmt.Sprintf("the condition did not hold within %s: %s", s.deadline, a.reason)
	}
	return ""
}

// isLate reports whether a deadline has passed. If not, there is another decision then. A deadline
// of 0 is none.
func (d *decider) isLate(since time.Time, deadline time.Duration) bool {
	if deadline == 0 {
		return false
	}
	end := since.Add(deadline)
	if d.now.Before(end) {
		d.recheckAt(end)
		return false
	}
	return true
}

// pass leaves a satisfied stage, or starts its next batch, if soak, pause and approval allow it.
func (d *decider) pass(i int) bool {
	s, rec := d.policy.stages[i], &d.Status.Stages[i]
	next := d.nextBatch(rec)
	soak := s.soak
	if next >= 0 && s.batchSoak != nil {
		soak = *s.batchSoak
	}
	if end := rec.SatisfiedSince.Add(soak); soak > 0 && d.now.Before(end) {
		d.recheckAt(end)
		d.hold(rec, fmt.Sprintf("the condition must hold until %s", end.Format(time.RFC3339)))
		return false
	}
	switch {
	case next >= 0 || d.isPaused(i):
		return d.nextIfNotPaused(i, next)
	case s.Approval != nil && s.Approval.After && rec.ApprovedAfter == "":
		return d.awaitApprovalAfter(i)
	case i == len(d.policy.stages)-1:
		d.event("Normal", "Succeeded", "stage %q, the last, is satisfied", rec.Name)
		d.finish(i)
		return false
	}
	return d.leave(i, v1alpha1.Succeeded)
}

// awaitApprovalAfter waits for the approval of a satisfied stage, which fails when that takes too
// long.
func (d *decider) awaitApprovalAfter(i int) bool {
	s, rec := d.policy.stages[i], &d.Status.Stages[i]
	why := d.awaitApproval(s, rec, "after", rec.SpentAfter)
	if d.isLate(rec.AwaitingSince.Time, s.approvalTimeout) {
		return d.fail(i, fmt.Sprintf("nobody approved within %s: the stage %s", s.approvalTimeout, why))
	}
	d.hold(rec, why)
	return false
}

// awaitApproval records since when an approval is missing, and returns what is waited for.
func (d *decider) awaitApproval(s *stage, rec *v1alpha1.StageStatus, when, spent string) string {
	if rec.AwaitingSince == nil {
		rec.AwaitingSince = wholeSecond(d.now)
	}
	why := fmt.Sprintf("waits for the annotation %s%s.%s", v1alpha1.ApprovalPrefix, when, s.Name)
	if spent != "" {
		why += fmt.Sprintf(", of which the value %q approved an earlier revision: another value approves this one", spent)
	}
	return why
}

// leave goes on to the next stage, if that stage may start.
func (d *decider) leave(i int, phase v1alpha1.Phase) bool {
	rec := &d.Status.Stages[i]
	if !d.enter(i + 1) {
		if !d.done {
			rec.Phase, rec.Message, rec.CompletedAt = v1alpha1.Soaking, d.Message, nil
		}
		return false
	}
	rec.Phase, rec.CompletedAt, rec.Message, rec.AwaitingSince = phase, wholeSecond(d.now), "", nil
	return true
}

// finish records that the rollout has succeeded in a stage.
func (d *decider) finish(i int) {
	rec := &d.Status.Stages[i]
	if rec.CompletedAt == nil {
		rec.CompletedAt = wholeSecond(d.now)
	}
	rec.Phase, rec.Message, rec.AwaitingSince = v1alpha1.Succeeded, "", nil
	d.done, d.Message = true, fmt.Sprintf("succeeded in stage %q", rec.Name)
}

// isDone reports whether the rollout has succeeded in a stage before, and still no stage follows.
func (d *decider) isDone(i int) bool {
	if d.Status.Stages[i].CompletedAt == nil || d.Status.Stages[i].Phase != v1alpha1.Succeeded {
		return false
	}
	for j := i + 1; j < len(d.policy.stages); j++ {
		if d.Status.Stages[j].Phase != v1alpha1.Skipped || !d.skips(j) {
			return false
		}
	}
	return true
}
