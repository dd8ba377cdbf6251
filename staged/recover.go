package staged

import (
	"slices"
	"strings"
	"time"

	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// owned returns the record of a placement; nil without one.
func (d *decider) owned(name string) *v1alpha1.OwnedPlacement {
	n, found := slices.BinarySearchFunc(d.Status.Placements, name, compareOwned)
	if !found {
		return nil
	}
	return &d.Status.Placements[n]
}

func compareOwned(o v1alpha1.OwnedPlacement, name string) int {
	return strings.Compare(o.Name, name)
}

// own returns the record of a placement, new if need be.
func (d *decider) own(name, stage string) *v1alpha1.OwnedPlacement {
	all := &d.Status.Placements
	n, found := slices.BinarySearchFunc(*all, name, compareOwned)
	if !found {
		*all = slices.Insert(*all, n, v1alpha1.OwnedPlacement{Name: name, Stage: stage})
	}
	return &(*all)[n]
}

// adopt makes a record of each placement that has none. One that is as new as the status is a rest,
// of a write that came late: it must be removed. Others exist because the status was lost, or
// another program has made them: then adopt is true. A placement that is newer than the status shows
// that the status is an old one that was restored.
func (d *decider) adopt() (lost bool) {
	s := &d.Status
	sorted := func(a, b v1alpha1.OwnedPlacement) int { return strings.Compare(a.Name, b.Name) }
	if !slices.IsSortedFunc(s.Placements, sorted) { // others may have written it
		slices.SortFunc(s.Placements, sorted)
	}
	if s.FirstVersion <= 0 {
		s.FirstVersion = max(1, d.now.Unix())
		s.Version, s.Epoch = s.FirstVersion, s.FirstVersion
	}
	known := s.Version
	d.restored = s.UID != "" && s.UID != d.meta.UID && s.ActiveStage != ""
	s.UID = d.meta.UID
	for n := range s.Placements {
		if d.placed[s.Placements[n].Name] == nil {
			s.Placements[n].UID = "" // it is made again, with another one
		}
	}
	for _, name := range sortedKeys(d.placed) {
		p := d.placed[name]
		if p.Taken {
			continue
		}
		if p.Version > known && s.ActiveStage != "" {
			d.restored = true
		}
		s.Version = max(s.Version, p.Version)
		if rec := d.owned(name); rec != nil {
			switch {
			case p.Version > rec.Version:
				rec.UID, rec.Spec = p.UID, "" // the record is an old one: it needs a new version
			case p.Version == rec.Version: // an older one may be a view of before it was made again
				d.restored = d.restored || rec.UID != "" && p.UID != rec.UID
				rec.UID = p.UID
			}
			continue
		}
		stage := strings.TrimPrefix(name, d.policy.Name()+v1alpha1.StageSeparator)
		if j, _ := d.stageOf(name); j >= 0 {
			stage = d.policy.stages[j].Name
		}
		rec := d.own(name, stage)
		rec.Version, rec.UID = p.Version, p.UID
		ours := s.FirstVersion < rec.Version && rec.Version <= known
		rec.Removing = ours && !d.seen.Can.OldRevision
		lost = lost || !ours
	}
	return lost
}

// longestRecovery is how long a rollout waits for clusters that do not show what they have.
const longestRecovery = 10 * time.Minute

// noteRecovery begins to wait until it is known what the clusters have.
func (d *decider) noteRecovery() {
	if d.seen.Can.Content {
		d.Status.Recovering = &v1alpha1.Clock{At: wholeSecond(d.now)}
	}
}

// isRecovering reports whether it is not known yet what clusters have that can show it. Until then
// nothing is placed and nothing is removed.
func (d *decider) isRecovering() bool {
	s := &d.Status
	if s.Recovering == nil {
		return false
	}
	var unknown []string
	for name, holders := range d.holders {
		canBeKnown := d.seen.Can.OldRevision || slices.ContainsFunc(holders, func(h string) bool { return !d.placed[h].Hold })
		if d.ledger[name].Applied == "" && canBeKnown && (d.clusters == nil || d.clusters[name] != nil) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	if len(unknown) == 0 || d.hasEnded(&s.Recovering, longestRecovery) {
		s.Recovering = nil
		d.baseline()
		return false
	}
	d.stall("Recovering", "the status was lost or restored: nothing is changed until it is known what %s has, for %s at most", firstOf(unknown, ", "), longestRecovery)
	return true
}

// baseline takes what clusters have for what was good there, where no record says more.
func (d *decider) baseline() {
	for _, name := range d.clustersWith("", func(c v1alpha1.ClusterRecord) bool { return c.LastGood == "" && c.Applied != "" }) {
		d.change([]string{name}, func(c *v1alpha1.ClusterRecord) { c.LastGood = c.Applied })
		d.nameRevision(fleet.RevisionID(d.ledger[name].Applied))
	}
}

// distrustMarks forgets what was observed of clusters: it rests on the marks of a restored status.
func (d *decider) distrustMarks() {
	if d.restored = true; d.seen.Can.Content {
		d.change(sortedKeys(d.ledger), func(c *v1alpha1.ClusterRecord) { c.Applied, c.Mark = "", "" })
	}
}

// distrust takes nothing for approved, witnessed, failed or applied that a restored status says.
func (d *decider) distrust() {
	d.noteRecovery()
	d.distrustMarks()
	d.Status.RestoredAt = d.meta.ResourceVersion
	d.Status.Epoch = max(d.Status.Epoch+1, d.now.Unix())
	for j := range d.Status.Stages {
		rec := &d.Status.Stages[j]
		if rec.Attempt > 0 {
			rec.Attempt++
		}
		forget(rec)
		rec.Soak, rec.Waited, rec.StageWaited, rec.SatisfiedSince, rec.Awaiting, rec.Deliveries = nil, nil, nil, nil, nil, nil
		for n := range rec.Batches {
			b := &rec.Batches[n]
			b.Soak, b.Waited, b.SatisfiedSince = nil, nil, nil
		}
		if rec.CompletedAt == nil && !hasFailed(rec.Phase) && d.asksBefore(j) {
			suspend(rec) // its approval does not count: it begins with another one
		}
	}
	d.event("Warning", "Recovering", "the status is older than what exists: no approval and no soak from before counts")
}

// asksBefore reports whether a stage needs an approval to begin.
func (d *decider) asksBefore(j int) bool {
	gate := d.policy.stages[j].Approval
	return gate != nil && gate.Before
}

// forget forgets the approvals of a stage.
func forget(rec *v1alpha1.StageStatus) {
	rec.ApprovedBefore, rec.ApprovedAfter, rec.BeforeTicket, rec.AfterTicket = "", "", "", ""
}

// recover finds the active stage when the status was lost: the last one that has a BindingPolicy.
// Nothing that exists counts as approved.
func (d *decider) recover() {
	s := &d.Status
	active, has := -1, map[int]bool{}
	for _, rec := range s.Placements {
		if j, _ := d.stageOf(rec.Name); j >= 0 && !rec.Removing && d.exists(rec.Name) {
			active, has[j] = max(active, j), true
		}
	}
	if active < 0 {
		return
	}
	d.noteRecovery()
	for j := range s.Stages[:active+1] {
		rec := &s.Stages[j]
		if has[j] || d.policy.object.Spec.Retention != v1alpha1.Keep {
			rec.Phase, rec.CompletedAt = v1alpha1.Succeeded, wholeSecond(d.now)
		}
		d.recoverBatches(j)
	}
	for j := range s.Stages {
		forget(&s.Stages[j])
		s.Stages[j].Attempt = max(1, s.Stages[j].Attempt)
	}
	d.start(active)
	s.Stages[active].Attempt++
	d.event("Warning", "StatusLost", "there was no status: going on from stage %q, the last that has a %s", s.ActiveStage, d.kind())
}

// recoverBatches reads the batches of a stage from its BindingPolicies.
func (d *decider) recoverBatches(j int) {
	rec := &d.Status.Stages[j]
	rec.Batches, rec.StartedBatches = nil, 0
	for _, owned := range d.Status.Placements {
		of, n := d.stageOf(owned.Name)
		if n < 0 && d.inWaves(j) && !d.policy.stages[j].isBatched() && d.placed[owned.Name] != nil && d.placed[owned.Name].Clusters != nil {
			n = 0
		}
		if of != j || n < 0 || n >= maxBatches || !d.exists(owned.Name) {
			continue
		}
		for len(rec.Batches) <= n {
			rec.Batches = append(rec.Batches, v1alpha1.Batch{Clusters: []string{}})
		}
		rec.Batches[n].Clusters = slices.Sorted(slices.Values(d.placed[owned.Name].Clusters))
		rec.StartedBatches = int32(len(rec.Batches))
	}
}
