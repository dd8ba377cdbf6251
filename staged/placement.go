package staged

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// A placement is a BindingPolicy that a stage needs: one, or one for each batch that has begun.
type placement struct {
	name   string
	stage  int
	batch  int  // -1: the stage has no batches
	absent bool // none of the clusters of the batch exists any more
	frozen bool // its clusters stay at the version of the workload that they have
}

// begun returns the placements of a stage that has the workload.
func (d *decider) begun(i int) []placement {
	s, rec := d.policy.stages[i], &d.Status.Stages[i]
	if !s.isBatched() {
		return []placement{{name: s.full, stage: i, batch: -1, frozen: d.isFrozen(i, -1)}}
	}
	var all []placement
	for n, b := range rec.Batches[:rec.StartedBatches] {
		if len(b.Clusters) > 0 {
			all = append(all, placement{d.batchName(i, n), i, n, !d.isPresent(b), d.isFrozen(i, n)})
		}
	}
	return all
}

// isPresent reports whether a cluster of a batch exists, as far as clusters are known.
func (d *decider) isPresent(b v1alpha1.Batch) bool {
	return d.clusters == nil || slices.ContainsFunc(b.Clusters, func(name string) bool { return d.clusters[name] != nil })
}

// listBindingPolicies lists which BindingPolicies must exist, and which to remove.
func (d *decider) listBindingPolicies() {
	d.noteUpdated()
	i := d.active()
	if i < 0 {
		d.freezeLater(nil)
		return
	}
	wanted := d.wanted(i)
	for _, p := range wanted {
		if state := d.observed[p.name]; state != nil && state.foreign {
			d.stall("NameTaken", "BindingPolicy %s exists and does not belong to this StagedBindingPolicy: remove it, or rename the stage", p.name)
			continue
		}
		d.Ensure = append(d.Ensure, d.ensure(p))
	}
	d.release(wanted)
	d.freezeLater(wanted)
}

// wanted returns the placements of the active stage and, under retention Keep, of passed ones.
func (d *decider) wanted(active int) (all []placement) {
	for j := range d.policy.stages[:active+1] {
		switch {
		case j == active:
		case d.policy.object.Spec.Retention != v1alpha1.Keep || !keepsWorkload(d.Status.Stages[j].Phase):
			continue
		case d.policy.stages[j].isBatched() && d.clusters != nil && !d.assign(j):
			continue
		case !d.policy.stages[j].isBatched():
			d.Status.Stages[j].Batches, d.Status.Stages[j].StartedBatches = nil, 0
		}
		all = append(all, d.begun(j)...)
	}
	return all
}

// keepsWorkload reports whether a passed stage in this phase still has the workload, under
// retention Keep.
func keepsWorkload(phase v1alpha1.Phase) bool {
	return phase != v1alpha1.Skipped && phase != v1alpha1.RolledBack && phase != v1alpha1.Pending
}

// noteClusters brings the clusters in the records up to date with the Bindings.
func (d *decider) noteClusters() {
	for n := range d.Status.BindingPolicies {
		rec := &d.Status.BindingPolicies[n]
		if state := d.observed[rec.Name]; state != nil && state.isBound() {
			if names := state.destinations(); !slices.Equal(names, rec.Clusters) {
				rec.Clusters = names
			}
		}
	}
}

// ensure returns a BindingPolicy, complete, and gives it a new version if it must change.
func (d *decider) ensure(p placement) *control.BindingPolicy {
	d.acceptAdopted(p)
	rec, hash := d.own(p.name, d.policy.stages[p.stage].Name), d.specHash(p)
	if rec.Spec != hash || rec.Removing {
		d.Status.Version++
		rec.Version, rec.Spec, rec.Removing = d.Status.Version, hash, false
	}
	return versioned(d.bindingPolicy(p), rec)
}

// acceptAdopted recognises a BindingPolicy of another program that was adopted and is as it must be.
// One that carries a version is of a status that was lost. It gets a new version, so that a removal
// that was decided before the loss fails.
func (d *decider) acceptAdopted(p placement) {
	rec := d.owned(p.name)
	if rec == nil || rec.Spec != "" || rec.Version > 0 || rec.Removing || !d.exists(p.name) {
		return
	}
	if sameSpec(d.observed[p.name].policy.Spec, d.bindingPolicy(p).Spec) {
		rec.Spec = d.specHash(p)
	}
}

// specHash returns the hash of what a BindingPolicy must place where.
func (d *decider) specHash(p placement) string {
	if p.batch >= 0 {
		return d.policy.batchHash(d.Status.Stages[p.stage].Batches[p.batch].Clusters)
	}
	return d.policy.stages[p.stage].specHash
}

// sameSpec compares specs as an API server stores them: an empty list is an absent one.
func sameSpec(a, b control.BindingPolicySpec) bool {
	one, err := json.Marshal(a)
	other, err2 := json.Marshal(b)
	return err == nil && err2 == nil && string(one) == string(other)
}

// selectorOf returns the cluster selectors of a batch.
func (d *decider) selectorOf(names []string) []metav1.LabelSelector {
	return []metav1.LabelSelector{{MatchExpressions: []metav1.LabelSelectorRequirement{{
		Key: d.policy.clusterLabel, Operator: metav1.LabelSelectorOpIn, Values: names,
	}}}}
}

func (d *decider) bindingPolicy(p placement) *control.BindingPolicy {
	downsync, selectors := d.policy.object.Spec.Downsync, d.policy.stages[p.stage].ClusterSelectors
	if p.frozen {
		downsync = d.policy.frozen
	}
	if p.batch >= 0 {
		selectors = d.selectorOf(d.Status.Stages[p.stage].Batches[p.batch].Clusters)
	}
	return d.newBindingPolicy(p.name, control.BindingPolicySpec{ClusterSelectors: selectors, Downsync: downsync})
}

func (d *decider) newBindingPolicy(name string, spec control.BindingPolicySpec) *control.BindingPolicy {
	return &control.BindingPolicy{
		TypeMeta: metav1.TypeMeta{APIVersion: control.GroupVersion.String(), Kind: "BindingPolicy"},
		ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.Kind, Name: d.policy.Name(), UID: d.meta.UID,
		}}},
		Spec: spec,
	}
}

// versioned gives a BindingPolicy the version that its record asks for.
func versioned(p *control.BindingPolicy, rec *v1alpha1.OwnedBindingPolicy) *control.BindingPolicy {
	if rec.Version > 0 {
		p.Annotations = map[string]string{v1alpha1.VersionAnnotation: strconv.FormatInt(rec.Version, 10)}
	}
	return p
}

// exists reports whether a BindingPolicy exists and is not being deleted.
func (d *decider) exists(name string) bool {
	state := d.observed[name]
	return state != nil && state.policy != nil && state.policy.DeletionTimestamp == nil
}

// isCurrent reports whether a BindingPolicy exists in the version that its record asks for.
func (d *decider) isCurrent(name string) bool {
	rec := d.owned(name)
	return rec != nil && d.exists(name) && versionOf(d.observed[name].policy) == rec.Version
}

// holds returns the clusters that may have the workload from a BindingPolicy: those that its
// Binding had last, and those that it selects now.
func (d *decider) holds(name string) []string {
	names := map[string]bool{}
	if rec := d.owned(name); rec != nil {
		for _, c := range rec.Clusters {
			names[c] = true
		}
	}
	if state := d.observed[name]; state != nil && state.policy != nil {
		for c, have := range d.clusters {
			if state.selects(have) {
				names[c] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}
