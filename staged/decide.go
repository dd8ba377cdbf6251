package staged

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stagecraft-go/stagecraft/internal/printable"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// A Decision says what to do. Do it in this order: write Status; create or update the
// BindingPolicies of Ensure; delete those of Remove. After an interruption, make a new decision
// from the stored status.
//
// Several programs may decide at the same time if each of them writes Status first, even if it has
// not changed, under the resourceVersion of the StagedBindingPolicy that it has decided from, does
// nothing else if that fails, and updates and deletes BindingPolicies under the resourceVersion
// that it has observed.
type Decision struct {
	// Status is the new status of the StagedBindingPolicy.
	Status v1alpha1.Status
	// Ensure are the BindingPolicies that must exist, complete except for what the API server adds.
	// One that is being deleted has to be created again when it is gone.
	Ensure []*control.BindingPolicy
	// Remove are the names of BindingPolicies to delete. A name is here only after the
	// BindingPolicies of Ensure were observed with their Bindings, and after these hold every
	// cluster that has the workload from the old one and still needs it.
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
	d.budget.reuse = r.exceeded
	d.run()
	r.exceeded = d.budget.exceeded
	return d.Decision
}

// A decider makes one Decision.
type decider struct {
	*Rollout
	Decision
	now     time.Time
	recheck time.Time  // when to decide again; zero: never
	addLine func(Line) // receives the explanation; nil: nobody wants it
	budget  *budget    // what evaluations may still cost

	done, paused bool
	stalled      string // the reason why the rollout is stalled; "" if it is not
}

func newDecider(r *Rollout, status v1alpha1.Status, now time.Time) *decider {
	d := &decider{Rollout: r, now: now, budget: newBudget(r.policy.decisionCost)}
	d.Status = status
	d.Status.Stages = slices.Clone(status.Stages)
	for i := range d.Status.Stages {
		d.Status.Stages[i].Batches = slices.Clone(d.Status.Stages[i].Batches)
	}
	d.Status.BindingPolicies = slices.Clone(status.BindingPolicies)
	d.Status.Conditions = slices.Clone(status.Conditions)
	return d
}

func (d *decider) run() {
	if d.meta.DeletionTimestamp != nil {
		return // the garbage collector deletes its BindingPolicies, which it owns
	}
	d.align()
	for range 4*len(d.policy.stages) + 8 {
		if !d.step() {
			break
		}
	}
	d.listBindingPolicies()
	d.setConditions()
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
	if back := d.missed(i); back >= 0 {
		return d.goBack(back)
	}
	return d.progress(i)
}

// wait records why a stage is not left.
func (d *decider) wait(rec *v1alpha1.StageStatus, phase v1alpha1.Phase, why string) {
	why = printable.Line(why)
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
	d.stalled, d.Message = reason, printable.Line(fmt.Sprintf(format, args...))
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
	d.Events = append(d.Events, Event{kind, reason, printable.Line(fmt.Sprintf(format, args...))})
}

// wholeSecond returns a time as a status stores it: in whole seconds, rounded up. So no soak,
// deadline or since that is counted from it is too short. All times are rounded up, so that they
// stay in order.
func wholeSecond(t time.Time) *metav1.Time {
	return &metav1.Time{Time: t.Add(time.Second - 1).Truncate(time.Second).UTC()}
}
