package staged

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// setConditions sets the conditions of the status, and when to decide again.
func (d *decider) setConditions() {
	if !d.recheck.IsZero() {
		d.RecheckAfter = max(1, d.recheck.Sub(d.now))
	}
	ready, reason := d.done, "Waiting"
	if i := d.active(); i >= 0 && d.Status.Stages[i].SatisfiedSince != nil {
		ready = true
	}
	switch {
	case d.done:
		reason = "Succeeded"
	case d.stalled != "":
		reason = d.stalled
	case d.paused:
		reason = "Paused"
	}
	d.setCondition("Ready", ready, reason)
	d.setCondition("Progressing", !d.done && !d.paused && d.stalled == "", reason)
	d.setCondition("Stalled", d.stalled != "", reason)
	d.setCondition("Paused", d.paused, reason)
	d.setCondition("Succeeded", d.done, reason)
	d.setCondition("Verified", d.isVerified(), d.verifiedReason())
	d.setIfEver("Conflict", len(d.conflicts) > 0, reason)
	d.setIfEver("CannotDeliver", len(d.undelivered) > 0, reason)
}

// setIfEver sets a condition that most rollouts never have.
func (d *decider) setIfEver(kind string, holds bool, reason string) {
	if holds || meta.FindStatusCondition(d.Status.Conditions, kind) != nil {
		d.setCondition(kind, holds, reason)
	}
}

// isVerified reports whether every result is known to be of the wanted revision.
func (d *decider) isVerified() bool {
	if !d.seen.Can.Content || len(d.conflicts) > 0 {
		return false
	}
	return !slices.ContainsFunc(d.policy.stages, func(s *stage) bool { return d.policy.requires(s.Name) == fleet.EvidenceNone })
}

func (d *decider) verifiedReason() string {
	if d.isVerified() {
		return "Verified"
	}
	return "Unverified"
}

func (d *decider) setCondition(kind string, holds bool, reason string) {
	c := metav1.Condition{
		Type: kind, Status: metav1.ConditionFalse, ObservedGeneration: d.meta.Generation,
		Reason: reason, Message: cmp.Or(d.Message, "the rollout goes on"), LastTransitionTime: *wholeSecond(d.now),
	}
	if holds {
		c.Status = metav1.ConditionTrue
	}
	meta.SetStatusCondition(&d.Status.Conditions, c)
}

// InvalidCondition returns the condition Stalled, with reason Invalid, of a StagedBindingPolicy
// whose newest version has faults: err is what [Compile] returned for this generation. The
// transition time is that of the stored status, if Stalled holds there already.
func InvalidCondition(stored v1alpha1.Status, generation int64, err error, now time.Time) metav1.Condition {
	c := metav1.Condition{
		Type: "Stalled", Status: metav1.ConditionTrue, ObservedGeneration: generation,
		Reason: "Invalid", Message: err.Error(), LastTransitionTime: *wholeSecond(now),
	}
	return withTransitionTime(stored.Conditions, c)
}

// withTransitionTime returns a condition with the transition time that it has in a list, unless its
// status has changed.
func withTransitionTime(all []metav1.Condition, c metav1.Condition) metav1.Condition {
	for _, old := range all {
		if old.Type == c.Type && old.Status == c.Status {
			c.LastTransitionTime = old.LastTransitionTime
		}
	}
	return c
}
