package staged

import (
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// names returns the names of the BindingPolicies of a stage: one, or one for each batch that has
// begun.
func (d *decider) names(i int) []string {
	s := d.policy.stages[i]
	full := d.policy.Name() + v1alpha1.StageSeparator + s.Name
	if s.maxConcurrency == nil {
		return []string{full}
	}
	var names []string
	for n := range int(d.Status.Stages[i].Batch) {
		names = append(names, full+"."+strconv.Itoa(n+1))
	}
	return names
}

// listBindingPolicies lists which BindingPolicies must exist, and which to remove.
func (d *decider) listBindingPolicies() {
	i := d.active()
	if i < 0 {
		return
	}
	wanted := map[string]bool{}
	for j := range d.policy.stages[:i+1] {
		if j == i || d.policy.object.Spec.Retention == v1alpha1.Keep && d.keepsWorkload(j) {
			for n, name := range d.names(j) {
				wanted[name] = true
				d.Ensure = append(d.Ensure, d.bindingPolicy(name, d.selectors(j, n)))
			}
		}
	}
	if !d.isServed(i) {
		return
	}
	for name, state := range d.observed {
		if state.policy != nil && !wanted[name] && d.mayRemove(name) {
			d.Remove = append(d.Remove, name)
		}
	}
	slices.Sort(d.Remove)
}

// keepsWorkload reports whether a passed stage still has the workload, under retention Keep.
func (d *decider) keepsWorkload(j int) bool {
	phase := d.Status.Stages[j].Phase
	return phase != v1alpha1.Skipped && phase != v1alpha1.RolledBack && phase != v1alpha1.Pending
}

// isServed reports whether the BindingPolicies of the active stage have their Bindings, so that
// others may be removed. The Bindings must have a destination, unless the guards allow a stage
// without one.
func (d *decider) isServed(i int) bool {
	destinations := 0
	names := d.names(i)
	for _, name := range names {
		state := d.observed[name]
		if state == nil || !state.isBound() {
			return false
		}
		destinations += len(state.binding.Spec.Destinations)
	}
	return len(names) > 0 && (destinations > 0 || d.policy.stages[i].minDestinations() == 0)
}

// mayRemove reports whether to remove a BindingPolicy that is not wanted. Under retention Keep,
// those of stages stay unless the stage was rolled back.
func (d *decider) mayRemove(name string) bool {
	if d.policy.object.Spec.Retention != v1alpha1.Keep {
		return true
	}
	of := strings.TrimPrefix(name, d.policy.Name()+v1alpha1.StageSeparator)
	for j, s := range d.policy.stages {
		batch, isBatch := strings.CutPrefix(of, s.Name+".")
		if of == s.Name || isBatch && s.maxConcurrency != nil && isNumber(batch) {
			return d.Status.Stages[j].Phase == v1alpha1.RolledBack
		}
	}
	return true
}

// selectors returns the cluster selectors of a stage, or of its n-th batch.
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
		TypeMeta: metav1.TypeMeta{APIVersion: control.GroupVersion.String(), Kind: "BindingPolicy"},
		ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.Kind, Name: d.policy.Name(), UID: d.meta.UID,
		}}},
		Spec: control.BindingPolicySpec{ClusterSelectors: selectors, Downsync: d.policy.object.Spec.Downsync},
	}
}
