package staged

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// names are those of the BindingPolicies of a stage: one, or one for each batch that has begun.
func (d *decider) names(i int) []string {
	s := d.policy.stages[i]
	full := d.policy.Name() + separator + s.Name
	if s.maxConcurrency == nil {
		return []string{full}
	}
	var names []string
	for n := range int(d.Status.Stages[i].Batch) {
		names = append(names, full+"."+strconv.Itoa(n+1))
	}
	return names
}

// place says which BindingPolicies must exist, and which must go.
func (d *decider) place() {
	i := d.active()
	if i < 0 {
		return
	}
	wanted := map[string]bool{}
	for j := range d.policy.stages[:i+1] {
		if j == i || d.policy.object.Spec.Retention == v1alpha1.Keep && d.holds(j) {
			for n, name := range d.names(j) {
				wanted[name] = true
				d.Ensure = append(d.Ensure, d.bindingPolicy(name, d.selectors(j, n)))
			}
		}
	}
	if !d.arrived(i) {
		return
	}
	for name, pl := range d.placed {
		if pl.policy != nil && !wanted[name] && d.mayGo(name) {
			d.Remove = append(d.Remove, name)
		}
	}
	slices.Sort(d.Remove)
}

// holds reports whether a stage that was passed still has the workload if it is kept.
func (d *decider) holds(j int) bool {
	phase := d.Status.Stages[j].Phase
	return phase != v1alpha1.Skipped && phase != v1alpha1.RolledBack && phase != v1alpha1.Pending
}

// arrived reports whether the workload has its place in the active stage: what is there before may go. A stage without any
// destination is no place, unless that is what the guards allow.
func (d *decider) arrived(i int) bool {
	destinations := 0
	names := d.names(i)
	for _, name := range names {
		pl := d.placed[name]
		if pl == nil || !pl.bound() {
			return false
		}
		destinations += len(pl.binding.Spec.Destinations)
	}
	return len(names) > 0 && (destinations > 0 || d.policy.stages[i].minDestinations() == 0)
}

// mayGo reports whether a BindingPolicy that is not wanted goes. With retention Keep, those of stages stay, unless rolled back.
func (d *decider) mayGo(name string) bool {
	if d.policy.object.Spec.Retention != v1alpha1.Keep {
		return true
	}
	of := strings.TrimPrefix(name, d.policy.Name()+separator)
	for j, s := range d.policy.stages {
		batch, isBatch := strings.CutPrefix(of, s.Name+".")
		if of == s.Name || isBatch && s.maxConcurrency != nil && isNumber(batch) {
			return d.Status.Stages[j].Phase == v1alpha1.RolledBack
		}
	}
	return true
}

// selectors are those of a stage, or of its n-th batch.
func (d *decider) selectors(i, n int) []metav1.LabelSelector {
	s := d.policy.stages[i]
	if s.maxConcurrency == nil {
		return s.ClusterSelectors
	}
	return []metav1.LabelSelector{{MatchExpressions: []metav1.LabelSelectorRequirement{{
		Key: d.policy.clusterLabel, Operator: metav1.LabelSelectorOpIn, Values: d.Status.Stages[i].Batches[n].Clusters,
	}}}}
}

func (d *decider) bindingPolicy(name string, selectors []metav1.LabelSelector) *control.BindingPolicy {
	return &control.BindingPolicy{
		TypeMeta: metav1.TypeMeta{APIVersion: control.Group + "/" + control.Version, Kind: "BindingPolicy"},
		ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{{
			APIVersion: v1alpha1.Group + "/" + v1alpha1.Version, Kind: v1alpha1.Kind, Name: d.policy.Name(), UID: d.meta.UID,
		}}},
		Spec: control.BindingPolicySpec{ClusterSelectors: selectors, Downsync: d.policy.object.Spec.Downsync},
	}
}

// conclude writes the conditions, and when to look again.
func (d *decider) conclude() {
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
	d.condition("Ready", ready, reason)
	d.condition("Progressing", !d.done && !d.paused && d.stalled == "", reason)
	d.condition("Stalled", d.stalled != "", reason)
	d.condition("Paused", d.paused, reason)
	d.condition("Succeeded", d.done, reason)
}

func (d *decider) condition(kind string, holds bool, reason string) {
	c := metav1.Condition{
		Type: kind, Status: metav1.ConditionFalse, ObservedGeneration: d.meta.Generation,
		Reason: reason, Message: cmp.Or(d.Message, "the rollout goes on"), LastTransitionTime: *d.second(),
	}
	if holds {
		c.Status = metav1.ConditionTrue
	}
	d.Status.Conditions = withCondition(d.Status.Conditions, c)
}

// withCondition puts a condition into a copy of a list. The time of its transition stays unless its status changes.
func withCondition(all []metav1.Condition, c metav1.Condition) []metav1.Condition {
	all = slices.Clone(all)
	for i, old := range all {
		if old.Type == c.Type {
			if old.Status == c.Status {
				c.LastTransitionTime = old.LastTransitionTime
			}
			all[i] = c
			return all
		}
	}
	return append(all, c)
}
