package staged

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// versionOf returns the version that a BindingPolicy carries; 0: none.
func versionOf(p *control.BindingPolicy) int64 {
	n, err := strconv.ParseInt(p.Annotations[v1alpha1.VersionAnnotation], 10, 64)
	if err != nil {
		return 0
	}
	return max(0, n)
}

// stageOf returns the index of the stage to which the name of a BindingPolicy belongs, and the
// number of the batch, or -1. The index is -1 for a stage that is not in the spec.
func (d *decider) stageOf(name string) (stage, batch int) {
	of := strings.TrimPrefix(name, d.policy.Name()+v1alpha1.StageSeparator)
	for j, s := range d.policy.stages {
		if of == s.Name {
			return j, -1
		}
	}
	for j, s := range d.policy.stages {
		if number, is := strings.CutPrefix(of, s.Name+"."); is && isNumber(number) {
			if n, err := strconv.Atoi(number); err == nil && n > 0 {
				return j, n - 1
			}
		}
	}
	return -1, -1
}

// owned returns the record of a BindingPolicy; nil if there is none.
func (d *decider) owned(name string) *v1alpha1.OwnedBindingPolicy {
	n, found := slices.BinarySearchFunc(d.Status.BindingPolicies, name, compareOwned)
	if !found {
		return nil
	}
	return &d.Status.BindingPolicies[n]
}

func compareOwned(o v1alpha1.OwnedBindingPolicy, name string) int {
	return strings.Compare(o.Name, name)
}

// own returns the record of a BindingPolicy, new if need be.
func (d *decider) own(name, stage string) *v1alpha1.OwnedBindingPolicy {
	all := &d.Status.BindingPolicies
	n, found := slices.BinarySearchFunc(*all, name, compareOwned)
	if !found {
		*all = slices.Insert(*all, n, v1alpha1.OwnedBindingPolicy{Name: name, Stage: stage})
	}
	return &(*all)[n]
}

// adopt makes a record of each BindingPolicy that has none. One that is as new as the status is a
// rest, of a write that came late: it is to be removed. Others exist because the status was lost,
// or another program has made them: then adopt is true.
func (d *decider) adopt() (lost bool) {
	s := &d.Status
	sorted := func(a, b v1alpha1.OwnedBindingPolicy) int { return strings.Compare(a.Name, b.Name) }
	if !slices.IsSortedFunc(s.BindingPolicies, sorted) { // others may have written it
		slices.SortFunc(s.BindingPolicies, sorted)
	}
	if s.FirstVersion <= 0 {
		s.FirstVersion = max(1, d.now.Unix())
		s.Version = s.FirstVersion
	}
	known := s.Version
	for _, name := range slices.Sorted(maps.Keys(d.observed)) {
		p := d.observed[name].policy
		if p == nil || d.owned(name) != nil {
			continue
		}
		stage := strings.TrimPrefix(name, d.policy.Name()+v1alpha1.StageSeparator)
		if j, _ := d.stageOf(name); j >= 0 {
			stage = d.policy.stages[j].Name
		}
		rec := d.own(name, stage)
		rec.Version = versionOf(p)
		rec.Removing = s.FirstVersion < rec.Version && rec.Version <= known
		s.Version = max(s.Version, rec.Version)
		lost = lost || !rec.Removing
	}
	return lost
}

// recover finds the active stage when the status was lost: the last one that has a BindingPolicy.
// Nothing that exists is taken for approved.
func (d *decider) recover() {
	s := &d.Status
	active, has := -1, map[int]bool{}
	for _, rec := range s.BindingPolicies {
		if j, _ := d.stageOf(rec.Name); j >= 0 && !rec.Removing && d.exists(rec.Name) {
			active, has[j] = max(active, j), true
		}
	}
	if active < 0 {
		return
	}
	for j := range s.Stages[:active+1] {
		rec := &s.Stages[j]
		if has[j] || d.policy.object.Spec.Retention != v1alpha1.Keep {
			rec.Phase, rec.CompletedAt = v1alpha1.Succeeded, wholeSecond(d.now)
		}
		d.recoverBatches(j)
	}
	for j := range s.Stages {
		spend(&s.Stages[j])
	}
	d.start(active)
	d.event("Warning", "StatusLost", "there was no status: going on from stage %q, the last that has a BindingPolicy", s.ActiveStage)
	if d.policy.stagesUpdates() {
		d.supersede("with the status it was lost which version of the workload the clusters have")
	}
}

// recoverBatches reads the batches of a stage from its BindingPolicies.
func (d *decider) recoverBatches(j int) {
	rec := &d.Status.Stages[j]
	rec.Batches, rec.StartedBatches = nil, 0
	for _, owned := range d.Status.BindingPolicies {
		of, n := d.stageOf(owned.Name)
		if of != j || n < 0 || n >= maxBatches || !d.exists(owned.Name) {
			continue
		}
		for len(rec.Batches) <= n {
			rec.Batches = append(rec.Batches, v1alpha1.Batch{Clusters: []string{}})
		}
		rec.Batches[n].Clusters = d.clustersBySelector(d.observed[owned.Name].policy)
		rec.StartedBatches = int32(len(rec.Batches))
	}
}

// clustersBySelector returns the names by which the BindingPolicy of a batch selects its clusters.
func (d *decider) clustersBySelector(p *control.BindingPolicy) []string {
	for _, s := range p.Spec.ClusterSelectors {
		for _, e := range s.MatchExpressions {
			if e.Key == d.policy.clusterLabel && e.Operator == metav1.LabelSelectorOpIn {
				return slices.Sorted(slices.Values(e.Values))
			}
		}
	}
	return []string{}
}
