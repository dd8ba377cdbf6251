package staged

import (
	"cmp"
	"maps"
	"slices"

	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// The ledger is a table with a record for each cluster. Decisions read it; only observations write
// what was applied.

// readLedger reads the table from the status, and brings it up to date with what was observed.
func (d *decider) readLedger() {
	d.ledger = map[string]v1alpha1.ClusterRecord{}
	for _, c := range d.Status.Cohorts {
		for _, name := range c.Clusters {
			d.ledger[name] = c.ClusterRecord
		}
	}
	for i := range d.seen.Clusters {
		d.readCluster(&d.seen.Clusters[i])
	}
	for name := range d.ledger {
		if _, exists := d.clusters[name]; d.clusters != nil && !exists && !d.isHeld(name) {
			delete(d.ledger, name)
		}
	}
}

// readCluster brings the record of one cluster up to date.
func (d *decider) readCluster(c *fleet.Cluster) {
	rec, known := d.ledger[c.Name]
	if c.Labels == nil && d.clusters != nil && !d.isHeld(c.Name) {
		return
	}
	stage := ""
	for _, s := range d.policy.stages {
		if c.Labels != nil && s.selects(c.Labels) {
			stage = s.Name
			break
		}
	}
	rec.Stage = stage
	if d.seen.Can.Content || d.isHeld(c.Name) {
		rec.Mark = c.Mark
	}
	rec.Applied = string(c.Applied)
	if rec.Applied != "" && rec.Applied == rec.Back && rec.Back != d.Status.Wanted {
		rec.SetAside = ""
	}
	if c.Absent && rec.Applied == "" && rec.LastGood == "" {
		rec.Fresh = true
	}
	if c.Had && !known && rec.Applied != "" {
		rec.LastGood = rec.Applied // the baseline
	}
	d.ledger[c.Name] = rec
}

// isHeld reports whether a placement was observed to hold a cluster.
func (d *decider) isHeld(cluster string) bool { return len(d.holders[cluster]) > 0 }

// isCover reports whether a placement that holds a cluster was observed as applied there, as far as that is
// known: then another one may let the cluster go.
func (d *decider) isCover(placement, cluster string) bool {
	names, known := d.applied[cluster]
	return !known || slices.Contains(names, placement)
}

// wasHeld reports whether a placement is recorded to have held a cluster: a program that sees the
// status, and the placements later, takes nothing back.
func (d *decider) wasHeld(cluster string) bool {
	return slices.ContainsFunc(d.Status.Placements, func(o v1alpha1.OwnedPlacement) bool { return slices.Contains(o.Clusters, cluster) })
}

// writeLedger writes the table into the status. Clusters of which nothing is known but their stage
// are left out.
func (d *decider) writeLedger() {
	groups := map[v1alpha1.ClusterRecord][]string{}
	for name, rec := range d.ledger {
		if rec != (v1alpha1.ClusterRecord{Stage: rec.Stage}) {
			groups[rec] = append(groups[rec], name)
		}
	}
	cohorts := make([]v1alpha1.Cohort, 0, len(groups))
	for rec, names := range groups {
		slices.Sort(names)
		cohorts = append(cohorts, v1alpha1.Cohort{ClusterRecord: rec, Clusters: names})
	}
	slices.SortFunc(cohorts, func(a, b v1alpha1.Cohort) int { return cmp.Compare(a.Clusters[0], b.Clusters[0]) })
	if d.Status.Cohorts = cohorts; len(cohorts) == 0 {
		d.Status.Cohorts = nil
	}
}

// change changes the records of clusters.
func (d *decider) change(names []string, change func(*v1alpha1.ClusterRecord)) {
	for _, name := range names {
		if rec, known := d.ledger[name]; known {
			change(&rec)
			d.ledger[name] = rec
		}
	}
}

// isApplied reports whether a cluster was observed to have the revision that it should have now.
func (d *decider) isApplied(cluster string) bool {
	rec := d.ledger[cluster]
	return rec.Applied != "" && rec.Applied == cmp.Or(rec.Back, d.Status.Wanted)
}

// desire records what each cluster should have: the wanted revision where its turn has come, what
// it has anywhere else.
func (d *decider) desire() {
	turn := map[string]bool{}
	for i := range d.policy.stages {
		for _, name := range d.turnOf(i) {
			turn[name] = true
		}
	}
	for name, rec := range d.ledger {
		switch {
		case rec.Back != "" && d.seen.Can.OldRevision, rec.Back != "" && rec.Back == d.Status.Wanted:
			if rec.Desired != rec.Back && d.mayGoBack(name) {
				rec.Desired = rec.Back
			}
		case rec.Back != "":
			rec.Desired = v1alpha1.Hold
		case rec.Desired == v1alpha1.Withdrawn:
		case turn[name]:
			rec.Fresh = d.isFresh(name)
			rec.Desired = cmp.Or(d.Status.Wanted, v1alpha1.Hold)
		case d.seen.Can.OldRevision:
			rec.Desired = cmp.Or(rec.Desired, rec.Applied, d.joined(rec))
		case d.isHeld(name):
			rec.Desired = v1alpha1.Hold
		default:
			rec.Desired = ""
		}
		d.ledger[name] = rec
	}
}

// joined returns the revision for a cluster that has nothing and belongs to a stage that was passed
// or skipped before the wanted revision came.
func (d *decider) joined(rec v1alpha1.ClusterRecord) string {
	for _, s := range d.Status.Stages {
		if s.Name == rec.Stage {
			return s.FulfilledWith
		}
	}
	return ""
}

// isFresh reports whether a cluster had nothing of the workload before the policy brought it: the
// transport saw that, or the author of the policy vouches for it.
func (d *decider) isFresh(cluster string) bool {
	rec := d.ledger[cluster]
	if rec.Fresh || rec.LastGood != "" {
		return rec.Fresh
	}
	return slices.ContainsFunc(d.policy.stages, func(s *stage) bool { return s.Name == rec.Stage && s.WithdrawFirst })
}

// turnOf returns the clusters of a stage that should have the wanted revision now.
func (d *decider) turnOf(i int) (names []string) {
	switch rec := d.Status.Stages[i]; {
	case i > d.active() && d.active() >= 0 && !d.seen.Can.OldRevision && rec.Phase != v1alpha1.Skipped && rec.Phase != v1alpha1.Succeeded:
		return nil
	case rec.Phase == v1alpha1.Pending:
		return nil
	case d.inWaves(i):
		for _, b := range rec.Batches[:rec.StartedBatches] {
			names = append(names, b.Clusters...)
		}
		return names
	}
	if p := d.placed[d.policy.stages[i].full]; p != nil && !p.Taken && !p.Ending {
		return p.Has
	}
	return nil
}

// mayGoBack reports whether a cluster may go back now: with perCluster, so many at once as may be
// without success.
func (d *decider) mayGoBack(cluster string) bool {
	rec := d.ledger[cluster]
	for _, s := range d.policy.stages {
		if s.Name != rec.Stage || s.perCluster == nil {
			continue
		}
		under, total := 0, 0
		for _, other := range d.ledger {
			if other.Stage == s.Name {
				total++
				if other.Back != "" && other.Desired == other.Back && other.Applied != other.Back {
					under++
				}
			}
		}
		return under < s.maxUnavailable(total)
	}
	return true
}

// fulfill records that the clusters of a stage are good with the revision that they have.
func (d *decider) fulfill(i int, evidence fleet.Evidence) {
	rec := &d.Status.Stages[i]
	rec.FulfilledWith = d.Status.Wanted
	for _, name := range d.turnOf(i) {
		fresh := d.isFresh(name)
		d.change([]string{name}, func(c *v1alpha1.ClusterRecord) {
			if c.Fresh = fresh; d.Status.Wanted == "" || c.Applied != d.Status.Wanted {
				return
			}
			if c.LastGood != d.Status.Wanted {
				c.LastGood, c.Prior = d.Status.Wanted, c.LastGood
			}
			c.Health, c.Of, c.Evidence, c.SetAside = "Satisfied", d.Status.Wanted, evidence.String(), ""
		})
	}
}

// goodBefore returns the last good revision of a cluster that is not the wanted one; "": none.
func (d *decider) goodBefore(cluster string) string {
	rec := d.ledger[cluster]
	if rec.LastGood != d.Status.Wanted {
		return rec.LastGood
	}
	return rec.Prior
}

// clustersWith returns the clusters of a stage, sorted, whose records match.
func (d *decider) clustersWith(stage string, matches func(v1alpha1.ClusterRecord) bool) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(d.ledger)) {
		if rec := d.ledger[name]; (stage == "" || rec.Stage == stage) && matches(rec) {
			names = append(names, name)
		}
	}
	return names
}
