package staged

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// A Decision says what to do. Do it in this order: write Status; create or update the
// BindingPolicies of Ensure; delete those of Remove. After an interruption, make a new decision
// from the stored status.
type Decision struct {
	// Status is the new status of the StagedBindingPolicy.
	Status v1alpha1.Status
	// Ensure are the BindingPolicies that must exist, complete except for what the API server adds.
	Ensure []*control.BindingPolicy
	// Remove are the names of BindingPolicies to delete. A name is here only after the
	// BindingPolicies of the active stage were observed with their Bindings, so that the workload
	// is always bound.
	Remove []string
	// Events are what happened and people may want to know.
	Events []Event
	// RecheckAfter is when to decide again if nothing changes before; 0: never.
	RecheckAfter time.Duration
	// Message says what the rollout waits for, or that it has succeeded.
	Message string
}

// An Event is something that happened to the rollout, with the fields of a Kubernetes Event.
type Event struct{ Type, Reason, Message string }

// Decide decides what to do, given the stored status and what was observed. It is pure and never
// fails. Deciding again from the new status, with nothing else changed, changes nothing.
func (p *Policy) Decide(status v1alpha1.Status, seen Observation, now time.Time) Decision {
	r := NewRollout(p)
	r.observeAll(seen)
	return r.Decide(status, now)
}

// Decide is [Policy.Decide] for what the Rollout was shown.
func (r *Rollout) Decide(status v1alpha1.Status, now time.Time) Decision {
	d := newDecider(r, status, now)
	d.run()
	return d.Decision
}

// A decider makes one Decision.
type decider struct {
	*Rollout
	Decision
	now     time.Time
	recheck time.Time  // when to decide again; zero: never
	addLine func(Line) // receives the explanation; nil: nobody wants it

	done, paused bool
	stalled      string // the reason why the rollout is stalled; "" if it is not
}

func newDecider(r *Rollout, status v1alpha1.Status, now time.Time) *decider {
	d := &decider{Rollout: r, now: now}
	d.Status = status
	d.Status.Stages = slices.Clone(status.Stages)
	d.Status.Conditions = slices.Clone(status.Conditions)
	return d
}

func (d *decider) run() {
	if d.meta.DeletionTimestamp != nil {
		return // the garbage collector deletes its BindingPolicies, which it owns
	}
	d.alignStages()
	for range 2*len(d.policy.stages) + 2 {
		if !d.step() {
			break
		}
	}
	d.listBindingPolicies()
	d.setConditions()
}

// alignStages makes a record for each stage of the spec from the stored status.
func (d *decider) alignStages() {
	s, p := &d.Status, d.policy
	changed := s.Revision != "" && s.Revision != p.revision
	if changed && p.object.Spec.OnChange == v1alpha1.Restart {
		d.event("Normal", "Restarted", "the spec has changed: beginning with stage %q again", p.stages[0].Name)
		s.ActiveStage, s.Stages = "", nil
	}
	edited := s.ObservedGeneration != 0 && s.ObservedGeneration != d.meta.Generation
	stages := make([]v1alpha1.StageStatus, len(p.stages))
	for i, st := range p.stages {
		stages[i] = v1alpha1.StageStatus{Name: st.Name, Phase: v1alpha1.Pending}
		for _, old := range s.Stages {
			if old.Name == st.Name {
				stages[i] = old
			}
		}
		if rec := &stages[i]; edited && rec.Phase == v1alpha1.RolledBack {
			*rec = v1alpha1.StageStatus{Name: rec.Name, Phase: v1alpha1.Pending, ApprovedBefore: rec.ApprovedBefore, ApprovedAfter: rec.ApprovedAfter}
		}
		stages[i].Batch = min(max(stages[i].Batch, 0), int32(len(stages[i].Batches))) // others may have written it
		d.approvals(&stages[i])
	}
	s.Stages, s.Revision, s.ObservedGeneration = stages, p.revision, d.meta.Generation
}

// approvals records the approvals that annotations give. They stay when the annotation is removed.
func (d *decider) approvals(rec *v1alpha1.StageStatus) {
	rec.ApprovedBefore = cmp.Or(rec.ApprovedBefore, d.meta.Annotations[v1alpha1.ApprovalPrefix+"before."+rec.Name])
	rec.ApprovedAfter = cmp.Or(rec.ApprovedAfter, d.meta.Annotations[v1alpha1.ApprovalPrefix+"after."+rec.Name])
}

// active returns the index of the active stage; -1 if the spec has no stage of that name.
func (d *decider) active() int {
	return slices.IndexFunc(d.policy.stages, func(s *stage) bool { return s.Name == d.Status.ActiveStage })
}

// step makes one step, and reports whether another one may follow.
func (d *decider) step() bool {
	d.Message, d.stalled, d.paused, d.done, d.recheck = "", "", false, false, time.Time{}
	if d.Status.ActiveStage == "" {
		return d.enter(0)
	}
	i := d.active()
	if i < 0 {
		d.stall("ActiveStageUnknown", "the active stage %q is not in the spec", d.Status.ActiveStage)
		return false
	}
	return d.progress(i)
}

// progress works on the active stage. It reports whether the active stage, or its batch, has
// changed.
func (d *decider) progress(i int) bool {
	s, rec := d.policy.stages[i], &d.Status.Stages[i]
	if rec.StartedAt == nil { // another program has set activeStage
		rec.Phase, rec.StartedAt = v1alpha1.Progressing, wholeSecond(d.now)
	}
	if !d.divide(i) {
		return false
	}
	a := d.assess(i)
	rec.Counts = a.counts
	switch {
	case d.isDone(i):
		d.finish(i)
		return false
	case s.SkipIfEmpty && a.bound && a.noDestinations:
		return d.leave(i, v1alpha1.Skipped)
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

// stay works on a stage without condition: the rollout ends in the last stage, and stalls in any
// other.
func (d *decider) stay(i int, a assessment) {
	rec := &d.Status.Stages[i]
	switch {
	case i < len(d.policy.stages)-1:
		rec.Message = "the stage has no condition"
		d.stall("NoCondition", "stage %q has no condition: the rollout stops here", rec.Name)
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
	if a.failing {
		return a.failure
	}
	if s.deadline == 0 || a.Satisfaction == Satisfied {
		return ""
	}
	end := rec.StartedAt.Add(s.deadline)
	if d.now.Before(end) {
		d.recheckAt(end)
		return ""
	}
	return fmt.Sprintf("the condition did not hold within %s: %s", s.deadline, a.reason)
}

// fail does what onFailure says. It reports whether the active stage, or its batch, has changed.
func (d *decider) fail(i int, why string) bool {
	s, rec := d.policy.stages[i], &d.Status.Stages[i]
	before := d.before(i)
	switch {
	case s.Paused:
	case s.OnFailure == v1alpha1.Continue && d.nextBatch(i):
		return true
	case s.OnFailure == v1alpha1.Continue && i < len(d.policy.stages)-1:
		if d.leave(i, v1alpha1.Failed) {
			d.event("Warning", "Continued", "stage %q has failed, going on: %s", rec.Name, why)
			return true
		}
		rec.Phase = v1alpha1.Failed
		return false
	case s.OnFailure == v1alpha1.Rollback && before >= 0:
		d.event("Warning", "RolledBack", "stage %q has failed, back to %q: %s", rec.Name, d.policy.stages[before].Name, why)
		rec.Phase, rec.Message, rec.SatisfiedSince = v1alpha1.RolledBack, why, nil
		d.start(before)
		return true
	}
	if rec.Phase != v1alpha1.Failed {
		d.event("Warning", "StageFailed", "stage %q: %s", rec.Name, why)
	}
	rec.Phase, rec.Message = v1alpha1.Failed, why
	d.stall("StageFailed", "stage %q has failed: %s", rec.Name, why)
	return false
}

// before returns the stage before i, skipped stages left out; -1 if there is none.
func (d *decider) before(i int) int {
	for i--; i >= 0 && d.Status.Stages[i].Phase == v1alpha1.Skipped; i-- {
	}
	return i
}

// pass leaves a satisfied stage, or starts its next batch, if soak, pause and approval allow it.
func (d *decider) pass(i int) bool {
	s, rec := d.policy.stages[i], &d.Status.Stages[i]
	if end := rec.SatisfiedSince.Add(s.soak); s.soak > 0 && d.now.Before(end) {
		d.recheckAt(end)
		d.hold(rec, fmt.Sprintf("the condition must hold until %s", end.Format(time.RFC3339)))
		return false
	}
	switch {
	case s.Paused:
		d.paused = true
		d.hold(rec, "paused")
		return false
	case d.nextBatch(i):
		return true
	case s.Approval != nil && s.Approval.After && rec.ApprovedAfter == "":
		d.hold(rec, "waits for the annotation "+v1alpha1.ApprovalPrefix+"after."+rec.Name)
		return false
	case i == len(d.policy.stages)-1:
		d.event("Normal", "Succeeded", "stage %q, the last, is satisfied", rec.Name)
		d.finish(i)
		return false
	}
	return d.leave(i, v1alpha1.Succeeded)
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
	rec.Phase, rec.CompletedAt, rec.Message = phase, wholeSecond(d.now), ""
	return true
}

// finish records that the rollout has succeeded in a stage.
func (d *decider) finish(i int) {
	rec := &d.Status.Stages[i]
	if rec.CompletedAt == nil {
		rec.CompletedAt = wholeSecond(d.now)
	}
	rec.Phase, rec.Message = v1alpha1.Succeeded, ""
	d.done, d.Message = true, fmt.Sprintf("succeeded in stage %q", rec.Name)
}

// isDone reports whether the rollout has succeeded in a stage before, and still no stage follows.
func (d *decider) isDone(i int) bool {
	if d.Status.Stages[i].CompletedAt == nil || d.Status.Stages[i].Phase != v1alpha1.Succeeded {
		return false
	}
	for j := i + 1; j < len(d.policy.stages); j++ {
		if !d.skips(j) {
			return false
		}
	}
	return true
}

// wait records why a stage is not left.
func (d *decider) wait(rec *v1alpha1.StageStatus, phase v1alpha1.Phase, why string) {
	rec.Phase, rec.Message, rec.CompletedAt = phase, why, nil
	d.Message = fmt.Sprintf("stage %q: %s", rec.Name, why)
}

// hold records why a stage whose condition is true is not left.
func (d *decider) hold(rec *v1alpha1.StageStatus, why string) {
	d.wait(rec, v1alpha1.Soaking, why)
	d.explain(rec.Name, why)
}

// stall records that only a person can make the rollout go on.
func (d *decider) stall(reason, format string, args ...any) {
	d.stalled, d.Message = reason, fmt.Sprintf(format, args...)
	d.explain(d.Status.ActiveStage, d.Message)
}

func (d *decider) explain(stage, why string) {
	if d.addLine != nil {
		d.addLine(Line{Stage: stage, Satisfaction: Unsatisfied, Text: why})
	}
}

// recheckAt asks for another decision at a time.
func (d *decider) recheckAt(at time.Time) { d.recheck = earlier(d.recheck, at) }

func (d *decider) event(kind, reason, format string, args ...any) {
	d.Events = append(d.Events, Event{kind, reason, fmt.Sprintf(format, args...)})
}

// wholeSecond returns a time as a status stores it: in whole seconds, rounded up. So no soak,
// deadline or since that is counted from it is too short. All times are rounded up, so that they
// stay in order.
func wholeSecond(t time.Time) *metav1.Time {
	return &metav1.Time{Time: t.Add(time.Second - 1).Truncate(time.Second).UTC()}
}
