package staged

import (
	"slices"

	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// align makes the stored status fit the spec and what exists.
func (d *decider) align() {
	d.migrate()
	s, p := &d.Status, d.policy
	d.foreign = s.ActiveStage != "" && len(s.Stages) == 0
	changed := s.Plan != "" && s.Plan != p.plan
	s.Stages = d.records()
	s.Plan, s.ObservedGeneration = p.plan, d.meta.Generation
	for j := 0; d.foreign && j < d.active(); j++ {
		s.Stages[j].Phase = v1alpha1.Succeeded // the workload stager writes the active stage alone
	}
	lost := d.adopt()
	d.readLedger()
	if s.RestoredAt != d.meta.ResourceVersion {
		s.RestoredAt = ""
	}
	if changed {
		s.Epoch++
	}
	d.readConflicts()
	switch {
	case lost && s.ActiveStage == "":
		d.recover()
	case d.restored:
		d.distrust()
	case s.RestoredAt != "":
		d.distrustMarks()
	case changed && p.object.Spec.OnChange == v1alpha1.Restart:
		d.event("Normal", "Restarted", "the spec has changed: beginning with stage %q again", p.stages[0].Name)
		d.restart()
	}
	d.noteRevision()
	d.noteExpedited()
	d.noteClusters()
	d.retries()
	d.nameSkipped()
	for j := d.active() + 1; j < len(s.Stages); j++ {
		switch rec := &s.Stages[j]; {
		case rec.Phase == v1alpha1.Failed && rec.CompletedAt == nil: // it stays so
		case rec.Phase == v1alpha1.Succeeded, rec.Phase == v1alpha1.Failed, rec.Phase == v1alpha1.Progressing, rec.Phase == v1alpha1.Soaking:
			d.postpone(rec) // it was moved behind the active stage
		}
	}
}

// nameSkipped names the revision that skipped stages were passed with, where it was not known when they
// were skipped.
func (d *decider) nameSkipped() {
	for j := range d.Status.Stages {
		if rec := &d.Status.Stages[j]; rec.Phase == v1alpha1.Skipped && rec.FulfilledWith == "" {
			rec.FulfilledWith = d.Status.Wanted
		}
	}
}

// migrate reads a status that was written before revisions were known. What clusters have is not
// known then, and nothing is placed by reading it.
func (d *decider) migrate() {
	s := &d.Status
	if s.OldPlan == "" && s.OldPlacements == nil && s.OldWorkload == "" {
		return
	}
	if s.Plan == "" && s.OldPlan == d.policy.plan {
		s.Plan = d.policy.plan
	}
	if s.Placements == nil {
		s.Placements = slices.Clone(s.OldPlacements)
	}
	s.OldPlan, s.OldPlacements, s.OldWorkload = "", nil, ""
}

// records returns a record for each stage of the spec, from the stored ones.
func (d *decider) records() []v1alpha1.StageStatus {
	stages := make([]v1alpha1.StageStatus, len(d.policy.stages))
	for i, st := range d.policy.stages {
		if n := slices.IndexFunc(d.Status.Stages, func(old v1alpha1.StageStatus) bool { return old.Name == st.Name }); n >= 0 {
			stages[i] = d.Status.Stages[n]
		} else {
			stages[i] = v1alpha1.StageStatus{Name: st.Name, Phase: v1alpha1.Pending}
			d.unmark(st.Name) // it may have been in the spec before
		}
		rec := &stages[i]
		rec.StartedBatches = min(max(rec.StartedBatches, 0), int32(len(rec.Batches))) // others may have written it
	}
	return stages
}

// suspend makes a stage one that has to be passed again. What it has stays in its clusters until
// its turn comes, and its clusters stay in their batches.
func suspend(rec *v1alpha1.StageStatus) {
	*rec = v1alpha1.StageStatus{Name: rec.Name, Phase: v1alpha1.Pending, Batches: rec.Batches, Attempt: rec.Attempt, FulfilledWith: rec.FulfilledWith,
		ApprovedBefore: rec.ApprovedBefore, ApprovedAfter: rec.ApprovedAfter, BeforeTicket: rec.BeforeTicket, AfterTicket: rec.AfterTicket, Retried: rec.Retried}
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
		for n := range s.Placements {
			s.Placements[n].Removing = true
		}
	}
}

// missed returns the first stage before i that has to be passed first, because it was inserted or
// moved there, or there is a new version of the workload; it may be i itself; -1 without one. A stage that
// has failed there has to be passed first too, unless stage i goes back with it.
func (d *decider) missed(i int) int {
	first := slices.IndexFunc(d.Status.Stages[:i], func(rec v1alpha1.StageStatus) bool {
		return rec.Phase == v1alpha1.Pending || staysFailed(rec)
	})
	switch {
	case first < 0 && d.isToBeginAgain(d.Status.Stages[i]):
		return i
	case first >= 0 && staysFailed(d.Status.Stages[first]) && staysFailed(d.Status.Stages[i]):
		return -1
	}
	return first
}

// isToBeginAgain reports whether the active stage has to begin again: another revision is wanted, a retry
// was asked for, or the stage was not in the spec for a while.
func (d *decider) isToBeginAgain(rec v1alpha1.StageStatus) bool {
	return rec.Phase == v1alpha1.Pending && rec.EnteredAt == nil && !d.foreign
}

// goBack goes back to a stage that was missed. Later stages keep what they have, and have to be
// passed again.
func (d *decider) goBack(i int) bool {
	rec := &d.Status.Stages[i]
	switch {
	case staysFailed(*rec): // it becomes the active one, so that its clusters go back
		d.Status.ActiveStage = rec.Name
		d.suspendAfter(i)
		return true
	case !d.mayStart(i):
		return false
	case d.skips(i) && i != d.active():
		d.skip(rec)
		return true
	}
	if rec.Name != d.Status.ActiveStage {
		d.event("Normal", "WentBack", "stage %q has to be passed first: back from %q", rec.Name, d.Status.ActiveStage)
	}
	d.suspendAfter(i)
	d.start(i)
	return true
}

// postpone suspends a stage that comes after the active one.
func (d *decider) postpone(rec *v1alpha1.StageStatus) {
	suspend(rec)
	d.unmark(rec.Name)
}

// unmark keeps the placements of a stage whose turn comes again: its clusters keep what they have until then.
func (d *decider) unmark(stage string) {
	for n := range d.Status.Placements {
		if rec := &d.Status.Placements[n]; rec.Stage == stage {
			rec.Removing = false
		}
	}
}

// suspendAfter suspends the stages after i, except stages that stay failed.
func (d *decider) suspendAfter(i int) {
	for j := i + 1; j < len(d.Status.Stages); j++ {
		if later := &d.Status.Stages[j]; !staysFailed(*later) {
			d.postpone(later)
		}
	}
}
