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

// A Decision is what is to be done. Do it in this order: store Status; see that the policies of Ensure exist with these specs; remove those
// of Remove. Whoever is interrupted on the way begins with a new decision from the stored status.
type Decision struct {
	// Status is the new status of the StagedBindingPolicy.
	Status v1alpha1.Status
	// Ensure are the BindingPolicies that must exist, complete but for what the API server adds.
	Ensure []*control.BindingPolicy
	// Remove are the names of BindingPolicies that must go. They are here only once those of the active stage were seen to exist and to have
	// their Bindings, so that the workload is never without a place.
	Remove []string
	// Events are worth telling people.
	Events []Event
	// RecheckAfter is when to decide again if nothing is observed before; 0 is never.
	RecheckAfter time.Duration
	// Message says what the rollout waits for, or that it is done.
	Message string
}

// Decide says what must be so now, given the stored status and what was observed. It is pure and total; deciding again from the new
// status, with nothing else changed, changes nothing.
func (p *Policy) Decide(status v1alpha1.Status, seen Observation, now time.Time) Decision {
	r := NewRollout(p)
	r.observe(seen)
	return r.Decide(status, now)
}

// Decide is [Policy.Decide] for what the Rollout has seen.
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
	recheck time.Time // zero is never
	tell    func(Line)

	done, paused bool
	stalled      string // the reason; "" if it is not
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
		return // its BindingPolicies go with it, by their owner references
	}
	d.adopt()
	for range 2*len(d.policy.stages) + 2 {
		if !d.step() {
			break
		}
	}
	d.place()
	d.conclude()
}

// adopt brings the stored status into the shape of the spec.
func (d *decider) adopt() {
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

// ApprovalPrefix is what the annotations begin with that approve: before.<stage> and after.<stage> follow.
const ApprovalPrefix = "approval.community.kubestellar.io/"

// approvals records those that have been given. They stay when the annotation goes.
func (d *decider) approvals(rec *v1alpha1.StageStatus) {
	rec.ApprovedBefore = cmp.Or(rec.ApprovedBefore, d.meta.Annotations[ApprovalPrefix+"before."+rec.Name])
	rec.ApprovedAfter = cmp.Or(rec.ApprovedAfter, d.meta.Annotations[ApprovalPrefix+"after."+rec.Name])
}

// active is the index of the active stage; -1 if there is none of that name.
func (d *decider) active() int {
	return slices.IndexFunc(d.policy.stages, func(s *stage) bool { return s.Name == d.Status.ActiveStage })
}

// step does one thing, and reports whether that moved the rollout.
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

// progress looks at the active stage.
func (d *decider) progress(i int) bool {
	s, rec := d.policy.stages[i], &d.Status.Stages[i]
	if rec.StartedAt == nil { // activeStage was set by someone else
		rec.Phase, rec.StartedAt = v1alpha1.Progressing, d.second()
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
	case s.SkipIfEmpty && a.placed && a.empty:
		return d.leave(i, v1alpha1.Skipped)
	case s.condition == nil:
		d.rest(i, a)
		return false
	}
	ok := a.Verdict == Satisfied && !a.failing
	d.satisfied(rec, ok)
	if s.timed {
		d.again(d.now.Add(timeStep))
	}
	if why := d.failure(s, rec, a); why != "" {
		return d.fail(i, why)
	}
	if !ok {
		d.wait(rec, v1alpha1.Progressing, a.why)
		if a.hopeless {
			d.stall("Unreportable", "stage %q: %s", s.Name, a.why)
		}
		return false
	}
	return d.soaked(i)
}

// timeStep is how often a condition is evaluated that reads the time, and how often a Player asks what nobody tells it.
const timeStep = 10 * time.Second

// rest is what a stage without condition does: the last one is the end, any other stops the rollout.
func (d *decider) rest(i int, a assessment) {
	rec := &d.Status.Stages[i]
	switch {
	case i < len(d.policy.stages)-1:
		rec.Message = "the stage has no condition"
		d.stall("NoCondition", "stage %q has no condition: the rollout stops here", rec.Name)
	case a.placed && a.reaches:
		d.event("Normal", "Succeeded", "stage %q is the last", rec.Name)
		d.finish(i)
	default:
		d.wait(rec, v1alpha1.Progressing, cmp.Or(a.why, "waits for destinations"))
	}
}

// satisfied keeps since when all holds.
func (d *decider) satisfied(rec *v1alpha1.StageStatus, ok bool) {
	switch {
	case !ok:
		rec.SatisfiedSince = nil
	case rec.SatisfiedSince == nil:
		rec.SatisfiedSince = d.second()
	}
}

// failure says why the stage has failed; "" if it has not.
func (d *decider) failure(s *stage, rec *v1alpha1.StageStatus, a assessment) string {
	if a.failing {
		return a.failures
	}
	if s.deadline == 0 || a.Verdict == Satisfied {
		return ""
	}
	end := rec.StartedAt.Add(s.deadline)
	if d.now.Before(end) {
		d.again(end)
		return ""
	}
	return fmt.Sprintf("the condition did not hold within %s: %s", s.deadline, a.why)
}

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

// before is the stage that the workload came from; -1 if there is none.
func (d *decider) before(i int) int {
	for i--; i >= 0 && d.Status.Stages[i].Phase == v1alpha1.Skipped; i-- {
	}
	return i
}

// soaked asks for what must be so beside the condition before a stage is left.
func (d *decider) soaked(i int) bool {
	s, rec := d.policy.stages[i], &d.Status.Stages[i]
	if end := rec.SatisfiedSince.Add(s.soak); s.soak > 0 && d.now.Before(end) {
		d.again(end)
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
		d.hold(rec, "waits for the annotation "+ApprovalPrefix+"after."+rec.Name)
		return false
	case i == len(d.policy.stages)-1:
		d.event("Normal", "Succeeded", "stage %q, the last, is satisfied", rec.Name)
		d.finish(i)
		return false
	}
	return d.leave(i, v1alpha1.Succeeded)
}

// leave goes on to the next stage, if that may be started.
func (d *decider) leave(i int, phase v1alpha1.Phase) bool {
	rec := &d.Status.Stages[i]
	if !d.enter(i + 1) {
		if !d.done {
			rec.Phase, rec.Message, rec.CompletedAt = v1alpha1.Soaking, d.Message, nil
		}
		return false
	}
	rec.Phase, rec.CompletedAt, rec.Message = phase, d.second(), ""
	return true
}

// finish marks the end of the rollout.
func (d *decider) finish(i int) {
	rec := &d.Status.Stages[i]
	if rec.CompletedAt == nil {
		rec.CompletedAt = d.second()
	}
	rec.Phase, rec.Message = v1alpha1.Succeeded, ""
	d.done, d.Message = true, fmt.Sprintf("succeeded in stage %q", rec.Name)
}

// isDone recognises the end: the stage was the end once, and still no stage follows.
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

func (d *decider) wait(rec *v1alpha1.StageStatus, phase v1alpha1.Phase, why string) {
	rec.Phase, rec.Message, rec.CompletedAt = phase, why, nil
	d.Message = fmt.Sprintf("stage %q: %s", rec.Name, why)
}

// hold is wait for a stage whose condition is true.
func (d *decider) hold(rec *v1alpha1.StageStatus, why string) {
	d.wait(rec, v1alpha1.Soaking, why)
	d.explain(rec.Name, why)
}

func (d *decider) stall(reason, format string, args ...any) {
	d.stalled, d.Message = reason, fmt.Sprintf(format, args...)
	d.explain(d.Status.ActiveStage, d.Message)
}

func (d *decider) explain(stage, why string) {
	if d.tell != nil {
		d.tell(Line{Stage: stage, Verdict: Unsatisfied, Text: why})
	}
}

// again asks for another decision at a time.
func (d *decider) again(at time.Time) { d.recheck = earlier(d.recheck, at) }

func (d *decider) event(kind, reason, format string, args ...any) {
	d.Events = append(d.Events, Event{kind, reason, fmt.Sprintf(format, args...)})
}

// second is now, as a status keeps it.
func (d *decider) second() *metav1.Time { return second(d.now) }

// second is a time as a status keeps it: in whole seconds, rounded up, so that no soak, deadline or time since the start that is counted from it
// is too short. All are rounded alike, so that they stay in order.
func second(t time.Time) *metav1.Time {
	return &metav1.Time{Time: t.Add(time.Second - 1).Truncate(time.Second).UTC()}
}
