package staged

import (
	"fmt"
	"slices"

	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// revisionName returns the name of a revision for people: its number, and the first digits.
func (d *decider) revisionName(id fleet.RevisionID) string {
	for _, r := range d.Status.Revisions {
		if r.ID == string(id) {
			return r.Name
		}
	}
	if id == "" {
		return "an unknown revision"
	}
	return id.Short()
}

// noteRevision makes the newest revision the wanted one. A newer revision ends what the stages have
// begun with an older one; a cluster never waits for an older one.
func (d *decider) noteRevision() {
	s, id := &d.Status, d.seen.Workload.Revision
	if id == "" || string(id) == s.Wanted {
		return
	}
	d.nameRevision(id)
	was := fleet.RevisionID(s.Wanted)
	if d.ordinal(id) < d.ordinal(was) {
		d.event("Normal", "SourceWentBack", "the source holds %s again, which is older than %s", d.revisionName(id), d.revisionName(was))
	}
	s.Wanted = string(id)
	s.Epoch++
	switch {
	case was == "" && s.ActiveStage == "":
	case d.policy.stagesUpdates():
		d.supersede(was, d.revisionName(id)+" is wanted")
	case was != "":
		d.renew(was, d.revisionName(id)+" is wanted")
	}
}

// ordinal returns the number of a revision.
func (d *decider) ordinal(id fleet.RevisionID) int64 {
	for _, r := range d.Status.Revisions {
		if r.ID == string(id) {
			return r.Ordinal
		}
	}
	return 0
}

// nameRevision gives a revision the next number and a name, unless it has one.
func (d *decider) nameRevision(id fleet.RevisionID) {
	s := &d.Status
	if slices.ContainsFunc(s.Revisions, func(r v1alpha1.Revision) bool { return r.ID == string(id) }) {
		return
	}
	last := int64(0)
	for _, r := range s.Revisions {
		last = max(last, r.Ordinal)
	}
	s.Revisions = append(slices.Clone(s.Revisions), v1alpha1.Revision{ID: string(id), Ordinal: last + 1, Name: fmt.Sprintf("r%d-%s", last+1, id.Short())})
}

// supersede makes all stages begin again, because another revision is wanted.
func (d *decider) supersede(was fleet.RevisionID, why string) {
	for j := range d.Status.Stages {
		rec := &d.Status.Stages[j]
		if !hasFailed(rec.Phase) && rec.CompletedAt == nil {
			d.endAttempt(rec, was, "Superseded", why)
		}
		suspend(rec)
		rec.Attempt = 1
	}
	for n := range d.Status.Placements {
		d.Status.Placements[n].Removing = false // its clusters keep what they have until their turn comes again
	}
	d.endRetreats()
	d.event("Normal", "NewRevision", "%s: beginning with stage %q again", why, d.policy.stages[0].Name)
}

// endRetreats ends what clusters of an older revision have failed with.
func (d *decider) endRetreats() {
	for name, c := range d.ledger {
		if c.Back != d.Status.Wanted {
			c.Back = ""
		}
		if c.SetAside = ""; c.Desired == v1alpha1.Withdrawn {
			c.Desired = ""
		}
		d.ledger[name] = c
	}
}

// renew begins the soak of the active stage again with another revision, and ends failures: with
// updates AtOnce, clusters have the new revision already. Passed stages stay passed.
func (d *decider) renew(was fleet.RevisionID, why string) {
	for j := range d.Status.Stages {
		rec := &d.Status.Stages[j]
		switch {
		case rec.CompletedAt != nil:
			continue
		case rec.Phase == v1alpha1.Progressing || rec.Phase == v1alpha1.Soaking:
			rec.Soak, rec.Waited, rec.StageWaited, rec.SatisfiedSince, rec.Deliveries = nil, nil, nil, nil, nil
			for n := range rec.Batches {
				b := &rec.Batches[n]
				b.Soak, b.Waited, b.SatisfiedSince, b.SetAside = nil, nil, nil, ""
			}
		case hasFailed(rec.Phase):
			suspend(rec)
		default:
			continue
		}
		rec.Attempt = 1
	}
	d.endRetreats()
	d.event("Normal", "RevisionChanged", "%s, and comes to all clusters at once", why)
}

// pruneRevisions forgets revisions that no record names, except the newest ones.
func (d *decider) pruneRevisions() {
	needed := map[string]bool{d.Status.Wanted: true}
	for _, c := range d.ledger {
		needed[c.Desired], needed[c.Applied], needed[c.LastGood], needed[c.Prior], needed[c.Back] = true, true, true, true, true
	}
	for _, s := range d.Status.Stages {
		needed[s.FulfilledWith] = true
	}
	limit := d.policy.historyLimit()
	for n := len(d.Status.Revisions) - 1; n >= 0; n-- {
		if id := d.Status.Revisions[n].ID; !needed[id] && limit > 0 {
			needed[id] = true
			limit--
		}
	}
	d.Status.Revisions = slices.DeleteFunc(slices.Clone(d.Status.Revisions), func(r v1alpha1.Revision) bool { return !needed[r.ID] })
	for _, id := range sortedKeys(needed) {
		if id != "" && id != v1alpha1.Hold && id != v1alpha1.Withdrawn {
			d.Keep = append(d.Keep, fleet.RevisionID(id))
		}
	}
}

func (p *Policy) historyLimit() int {
	if r := p.object.Spec.Revisions; r != nil && r.HistoryLimit != nil {
		return int(*r.HistoryLimit)
	}
	return 5
}
