package staged

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// align makes the stored status fit the spec and what exists.
func (d *decider) align() {
	s, p := &d.Status, d.policy
	foreign := s.ActiveStage != "" && len(s.Stages) == 0
	changed := s.Revision != "" && s.Revision != p.revision
	edited := s.ObservedGeneration != 0 && s.ObservedGeneration != d.meta.Generation
	s.Stages = d.records(edited, changed)
	s.Revision, s.ObservedGeneration = p.revision, d.meta.Generation
	for j := 0; foreign && j < d.active(); j++ {
		s.Stages[j].Phase = v1alpha1.Succeeded // the workload stager writes the active stage alone
	}
	lost := d.adopt()
	switch {
	case lost && s.ActiveStage == "":
		d.recover()
	case changed && p.object.Spec.OnChange == v1alpha1.Restart:
		d.event("Normal", "Restarted", "the spec has changed: beginning with stage %q again", p.stages[0].Name)
		d.restart()
	}
	d.noteWorkload()
	d.noteClusters()
	for j := d.active() + 1; j < len(s.Stages); j++ {
		switch rec := &s.Stages[j]; rec.Phase {
		case v1alpha1.Succeeded, v1alpha1.Failed, v1alpha1.Progressing, v1alpha1.Soaking:
			suspend(rec) // it was moved behind the active stage: it has to be passed again
		}
	}
}

// records returns a record for each stage of the spec, from the stored ones.
func (d *decider) records(edited, changed bool) []v1alpha1.StageStatus {
	stages := make([]v1alpha1.StageStatus, len(d.policy.stages))
	for i, st := range d.policy.stages {
		stages[i] = v1alpha1.StageStatus{Name: st.Name, Phase: v1alpha1.Pending}
		for _, old := range d.Status.Stages {
			if old.Name == st.Name {
				stages[i] = old
			}
		}
		rec := &stages[i]
		rec.StartedBatches = min(max(rec.StartedBatches, 0), int32(len(rec.Batches))) // others may have written it
		if edited && rec.Phase == v1alpha1.RolledBack {
			suspend(rec)
		}
		if changed {
			spend(rec)
		}
		for n := range rec.Batches {
			if b := &rec.Batches[n]; edited {
				b.SetAside = ""
			}
		}
		d.approvals(rec)
		d.clampTimes(rec)
	}
	return stages
}

// clampTimes replaces times after the present one, which come from a wrong clock, by the present
// time: a soak must not last until then.
func (d *decider) clampTimes(rec *v1alpha1.StageStatus) {
	now := wholeSecond(d.now)
	clamp := func(times ...**metav1.Time) {
		for _, t := range times {
			if *t != nil && (*t).After(now.Time) {
				*t = now
			}
		}
	}
	clamp(&rec.EnteredAt, &rec.StartedAt, &rec.SatisfiedSince, &rec.EmptySince, &rec.CompletedAt, &rec.AwaitingSince)
	for n := range rec.Batches {
		clamp(&rec.Batches[n].StartedAt, &rec.Batches[n].SatisfiedSince)
	}
}

// approvals records the approvals that annotations give. They stay when the annotation is removed.
// A value that approved an earlier revision counts again only after that.
func (d *decider) approvals(rec *v1alpha1.StageStatus) {
	read := func(when string, approved, spent *string) {
		switch by := d.meta.Annotations[v1alpha1.ApprovalPrefix+when+"."+rec.Name]; by {
		case "":
			*spent = ""
		case *spent:
		default:
			*approved = cmp.Or(*approved, by)
		}
	}
	read("before", &rec.ApprovedBefore, &rec.SpentBefore)
	read("after", &rec.ApprovedAfter, &rec.SpentAfter)
}

// spend makes the approvals of a stage those of an earlier revision.
func spend(rec *v1alpha1.StageStatus) {
	rec.SpentBefore, rec.ApprovedBefore = cmp.Or(rec.ApprovedBefore, rec.SpentBefore), ""
	rec.SpentAfter, rec.ApprovedAfter = cmp.Or(rec.ApprovedAfter, rec.SpentAfter), ""
	rec.AwaitingSince = nil
}

// suspend makes a stage one that has to be passed again. What it has stays in its clusters until
// its turn comes, and its clusters stay in their batches.
func suspend(rec *v1alpha1.StageStatus) {
	*rec = v1alpha1.StageStatus{Name: rec.Name, Phase: v1alpha1.Pending, Batches: rec.Batches,
		ApprovedBefore: rec.ApprovedBefore, ApprovedAfter: rec.ApprovedAfter, SpentBefore: rec.SpentBefore, SpentAfter: rec.SpentAfter}
	for n := range rec.Batches {
		rec.Batches[n] = v1alpha1.Batch{Clusters: rec.Batches[n].Clusters}
	}
}

// restart begins with the first stage again. Under retention Move, later stages lose the workload
// once the first has it.
func (d *decider) restart() {
	s := &d.Status
	s.ActiveStage = ""
	for j := range s.Stages {
		suspend(&s.Stages[j])
	}
	if d.policy.object.Spec.Retention != v1alpha1.Keep {
		for n := range s.BindingPolicies {
			s.BindingPolicies[n].Removing = true
		}
	}
}

// missed returns the first stage before i that has to be passed first, because it was inserted or
// moved there, or there is a new version of the workload; it may be i itself; -1 if there is none.
func (d *decider) missed(i int) int {
	first := slices.IndexFunc(d.Status.Stages[:i], func(rec v1alpha1.StageStatus) bool { return rec.Phase == v1alpha1.Pending })
	if first < 0 && d.isSuperseded(i) {
		return i
	}
	return first
}

// goBack goes back to a stage that was missed. Later stages keep what they have, and have to be
// passed again.
func (d *decider) goBack(i int) bool {
	rec := &d.Status.Stages[i]
	switch {
	case !d.mayStart(i):
		return false
	case d.skips(i):
		d.skip(rec)
		return true
	}
	if rec.Name != d.Status.ActiveStage {
		d.event("Normal", "WentBack", "stage %q has to be passed first: back from %q", rec.Name, d.Status.ActiveStage)
	}
	for j := i + 1; j < len(d.Status.Stages); j++ {
		if later := &d.Status.Stages[j]; later.Phase != v1alpha1.RolledBack {
			suspend(later)
		}
	}
	d.start(i)
	return true
}
