package staged

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// progress works on the active stage. It reports whether the active stage, or its batch, has
// changed.
func (d *decider) progress(i int) bool {
	s, rec := d.policy.stages[i], &d.Status.Stages[i]
	if rec.StartedAt == nil && !staysFailed(*rec) { // another program has set activeStage
		rec.Phase, rec.StartedAt, rec.Attempt = v1alpha1.Progressing, wholeSecond(d.now), max(1, rec.Attempt)
	}
	if rec.EnteredAt == nil {
		rec.EnteredAt = rec.StartedAt
	}
	if !d.divide(i) {
		return false
	}
	if hasFailed(rec.Phase) {
		return d.stayAfterFailure(i)
	}
	if d.clusters != nil && !d.isDone(i) && d.staysEmpty(i, d.skips(i)) {
		return !d.pauses(i) && d.leave(i, v1alpha1.Skipped)
	}
	if n := d.onlyEmptyBatches(i); n >= 0 {
		return !d.pauses(i) && d.startBatch(i, n)
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
		return !d.pauses(i) && d.leave(i, v1alpha1.Skipped)
	case s.condition == nil:
		d.stay(i, a)
		return false
	}
	return d.judge(i, a)
}

// judge says what follows from the assessment of a stage with a condition.
func (d *decider) judge(i int, a assessment) bool {
	s, rec := d.policy.stages[i], &d.Status.Stages[i]
	ok := a.Satisfaction == Satisfied && !a.failing
	d.recordSatisfied(rec, ok)
	if s.readsTime {
		d.recheckAt(d.now.Add(timeStep))
	}
	if d.noteDelivery(i, a) {
		return true
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
	return d.pass(i, a)
}

// stayAfterFailure does what is left to do in a stage that has failed.
func (d *decider) stayAfterFailure(i int) bool {
	rec := &d.Status.Stages[i]
	if rec.Phase == v1alpha1.Failed {
		if rec.CompletedAt != nil {
			rec.CompletedAt = nil
		}
		return d.fail(i, rec.Message)
	}
	return d.retire(i)
}

// timeStep is how often a condition that reads the time is evaluated.
const timeStep = 10 * time.Second

// leastEmpty is how long a stage that had clusters must be without any, at least, to be skipped.
const leastEmpty = time.Minute

// staysEmpty reports whether a started stage without clusters must be skipped: it never had one,
// or has none for as long as its soak. The last stage waits for clusters.
func (d *decider) staysEmpty(i int, empty bool) bool {
	s, rec := d.policy.stages[i], &d.Status.Stages[i]
	switch {
	case !empty:
		rec.Empty = nil
		return false
	case d.isLast(i):
		return false
	case !d.hadClusters(i):
		return true
	}
	return d.hasEnded(&rec.Empty, max(s.soak, leastEmpty))
}

// pauses reports whether the rollout is paused in a stage, and records that.
func (d *decider) pauses(i int) bool {
	if d.paused = d.isPaused(i); d.paused {
		d.hold(&d.Status.Stages[i], "paused")
	}
	return d.paused
}

func (d *decider) isPaused(i int) bool {
	return d.policy.object.Spec.Paused || d.policy.stages[i].Paused
}

// stay works on a stage without condition: the rollout ends in the last stage, and stalls in any
// other.
func (d *decider) stay(i int, a assessment) {
	rec := &d.Status.Stages[i]
	next := d.inWaves(i) && d.nextBatch(rec) >= 0
	switch {
	case i < len(d.policy.stages)-1:
		rec.Message = "the stage has no condition"
		d.stall("NoCondition", "stage %q has no condition: the rollout stops here", rec.Name)
	case a.bound && a.hasDestinations && next:
		rec.Message = "the stage has no condition"
		d.stall("NoCondition", "stage %q has no condition: no batch after the first %d is started", rec.Name, rec.StartedBatches)
	case a.bound && a.hasDestinations && d.isContested(i):
	case a.bound && a.hasDestinations:
		d.event("Normal", "Succeeded", "stage %q is the last", rec.Name)
		d.fulfill(i, a.evidence)
		d.finish(i)
	default:
		d.wait(rec, v1alpha1.Progressing, cmp.Or(a.reason, "waits for destinations"))
	}
}

// recordSatisfied records since when condition and guards hold.
func (d *decider) recordSatisfied(rec *v1alpha1.StageStatus, ok bool) {
	switch {
	case !ok:
		rec.SatisfiedSince, rec.Soak = nil, nil
	case rec.SatisfiedSince == nil:
		rec.SatisfiedSince = wholeSecond(d.now)
	}
}

// failure returns why the stage has failed; "" if it has not. A deadline counts from the delivery to
// all clusters that are waited for; that of the whole stage counts on while a cluster joins. Deliveries that
// take too long fail nothing by themselves.
func (d *decider) failure(s *stage, rec *v1alpha1.StageStatus, a assessment) string {
	ok := a.Satisfaction == Satisfied
	switch {
	case a.failing:
		return a.failure
	case !a.bound || len(a.undelivered) > 0 || a.overdue:
		rec.Waited = nil // a cluster that joins has as long as the others
		return ""
	case s.stageDeadline > 0 && (!ok || d.nextBatch(rec) >= 0) && d.hasEnded(&rec.StageWaited, s.stageDeadline):
		return fmt.Sprintf("the stage was not satisfied within %s: %s", s.stageDeadline,
			cmp.Or(a.reason, fmt.Sprintf("%d of %d batches are started", rec.StartedBatches, len(rec.Batches))))
	case s.deadline > 0 && !ok && d.hasEnded(&rec.Waited, s.deadline):
		return fmt.Sprintf("the condition did not hold within %s: %s", s.deadline, a.reason)
	}
	return ""
}

// isOverdue reports whether the deadline of a whole stage has passed.
func (d *decider) isOverdue(i int) bool {
	s, rec := d.policy.stages[i], &d.Status.Stages[i]
	return s.stageDeadline > 0 && d.hasEnded(&rec.StageWaited, s.stageDeadline)
}

// pass leaves a satisfied stage, or starts its next batch, if soak, pause and approval allow it.
func (d *decider) pass(i int, a assessment) bool {
	s, rec := d.policy.stages[i], &d.Status.Stages[i]
	next := d.nextBatch(rec)
	soak := s.soak
	if next >= 0 && s.batchSoak != nil {
		soak = *s.batchSoak
	}
	if soak > 0 && !d.isExpedited() && !d.hasEnded(&rec.Soak, soak) {
		end := wholeSecond(d.now.Add(soak + d.seen.Now.Error - d.counted(rec.Soak, soak)))
		d.hold(rec, fmt.Sprintf("the condition must hold until %s", end.UTC().Format(time.RFC3339)))
		return false
	}
	switch {
	case next >= 0 || d.isPaused(i):
		return !d.pauses(i) && d.startBatch(i, next)
	case s.Approval != nil && s.Approval.After:
		if ask := d.askApproval(rec, "after"); !ask.approved {
			return d.awaitApprovalAfter(i, ask)
		}
	}
	if why := d.closedGate(i); why != "" {
		d.hold(rec, why)
		return false
	}
	if d.isContested(i) {
		return false
	}
	d.fulfill(i, a.evidence)
	if i == len(d.policy.stages)-1 {
		d.event("Normal", "Succeeded", "stage %q, the last, is satisfied", rec.Name)
		d.finish(i)
		return false
	}
	return d.leave(i, v1alpha1.Succeeded)
}

// isContested reports whether somebody else was first in a cluster that has joined a stage, and records that. The
// stage is not fulfilled then.
func (d *decider) isContested(i int) bool {
	rec := &d.Status.Stages[i]
	why := d.contested(d.selected(d.policy.stages[i]))
	if why != "" {
		d.hold(rec, why)
		d.stall("Conflict", "stage %q: %s", rec.Name, why)
	}
	return why != ""
}

// awaitApprovalAfter waits for the approval of a satisfied stage, which fails when that takes too
// long, or is refused.
func (d *decider) awaitApprovalAfter(i int, ask answer) bool {
	s, rec := d.policy.stages[i], &d.Status.Stages[i]
	if ask.rejected != "" {
		return d.fail(i, "rejected by "+ask.rejected)
	}
	if d.awaits(s, rec) {
		return d.fail(i, fmt.Sprintf("nobody approved within %s: the stage %s", s.approvalTimeout, ask.awaits))
	}
	d.hold(rec, ask.awaits)
	return false
}

// awaits records since when an approval is missing, and reports whether that is too long.
func (d *decider) awaits(s *stage, rec *v1alpha1.StageStatus) bool {
	return s.approvalTimeout > 0 && d.hasEnded(&rec.Awaited, s.approvalTimeout)
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
	if phase == v1alpha1.Succeeded {
		d.endAttempt(rec, fleet.RevisionID(d.Status.Wanted), string(phase), "")
	}
	rec.Phase, rec.CompletedAt, rec.Message, rec.Awaited, rec.Awaiting, rec.Deliveries = phase, wholeSecond(d.now), "", nil, nil, nil
	return true
}

// finish records that the rollout has succeeded in a stage. It names the clusters that do not have
// the wanted revision; while one has nothing that should have it, the rollout has not succeeded.
func (d *decider) finish(i int) {
	rec := &d.Status.Stages[i]
	if rec.CompletedAt == nil {
		rec.CompletedAt = wholeSecond(d.now)
		d.endAttempt(rec, fleet.RevisionID(d.Status.Wanted), string(v1alpha1.Succeeded), "")
	}
	rec.Phase, rec.Message, rec.Awaited, rec.Awaiting, rec.Deliveries = v1alpha1.Succeeded, "", nil, nil, nil
	d.done, d.Message = true, fmt.Sprintf("succeeded in stage %q", rec.Name)
	unserved, behind := d.exceptions(i)
	switch {
	case len(unserved) > 0:
		d.done, d.Message = false, "waits for the delivery to "+firstOf(unserved, ", ")
		d.explain(rec.Name, d.Message)
	case len(behind) > 0:
		d.Message += ", except in " + strings.Join(behind, ", ")
	}
}

// exceptions returns the clusters of passed stages that have nothing yet, and clusters that do not have
// the wanted revision.
func (d *decider) exceptions(active int) (unserved, behind []string) {
	if d.policy.object.Spec.Retention != v1alpha1.Keep && !d.policy.stagesUpdates() {
		return nil, nil
	}
	for j := range active + 1 {
		rec := d.Status.Stages[j]
		if d.policy.object.Spec.Retention != v1alpha1.Keep && j < active || rec.Phase == v1alpha1.Failed {
			continue
		}
		for _, name := range d.selected(d.policy.stages[j]) {
			switch c := d.ledger[name]; {
			case c.Stage != rec.Name:
			case !d.isHeld(name) && !d.wasHeld(name):
				unserved = append(unserved, name)
			case d.seen.Can.Content && d.policy.stagesUpdates() && c.Applied != d.Status.Wanted:
				behind = append(behind, fmt.Sprintf("%s (%s)", name, d.revisionName(fleet.RevisionID(c.Applied))))
			}
		}
	}
	return unserved, behind
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
