package staged

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/stagecraft-go/stagecraft/internal/printable"
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
	if rec.Stage != stage && rec.Desired == v1alpha1.Withdrawn {
		rec.Desired = "" // it waits for the turn of its new stage
	}
	rec.Stage = stage
	if known && rec.Applied != "" && c.Applied == "" && rec.Desired == v1alpha1.Hold && d.isHeld(c.Name) {
		d.event("Warning", "Escaped", "%s was held at %s and received something else, because it lost an object or was open for a moment: probably %s", c.Name,
			d.revisionName(fleet.RevisionID(rec.Applied)), d.revisionName(d.seen.Workload.Revision))
	}
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

// isOnItsWayOut reports whether what a cluster has was observed as applied from placements only that are gone, or
// must be removed.
func (d *decider) isOnItsWayOut(cluster string) bool {
	names := d.applied[cluster]
	return len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool {
		rec := d.owned(name)
		return d.exists(name) && (rec == nil || !rec.Removing)
	})
}

// wasHeld reports whether a placement is recorded to have held a cluster: a program that sees the
// status, and the placements later, takes nothing back.
func (d *decider) wasHeld(cluster string) bool {
	return slices.ContainsFunc(d.Status.Placements, func(o v1alpha1.OwnedPlacement) bool { return slices.Contains(o.Clusters, cluster) })
}

// isRecorded reports whether something is known of a cluster in addition to its stage.
func isRecorded(rec v1alpha1.ClusterRecord) bool {
	return rec != (v1alpha1.ClusterRecord{Stage: rec.Stage})
}

// writeLedger writes the table into the status. It leaves out clusters that have
// only a stage.
func (d *decider) writeLedger() {
	groups := map[v1alpha1.ClusterRecord][]string{}
	for name, rec := range d.ledger {
		if isRecorded(rec) {
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

// desire records what each cluster should have: the wanted revision where its turn has come, what
// it has anywhere else. A stage that has failed gives nothing more.
func (d *decider) desire() {
	turn := map[string]bool{}
	for i := range d.policy.stages {
		for _, name := range d.turnOf(i) {
			turn[name] = turn[name] || !hasFailed(d.Status.Stages[i].Phase) || d.ledger[name].Desired == cmp.Or(d.Status.Wanted, v1alpha1.Hold)
		}
	}
	for name, rec := range d.ledger {
		switch {
		case rec.Back != "" && d.isPlaceable(rec.Back):
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
			rec.Desired = cmp.Or(rec.Desired, d.kept(name, rec), d.joined(name, rec))
		case d.isHeld(name):
			rec.Desired = v1alpha1.Hold
		default:
			rec.Desired = d.joined(name, rec)
		}
		d.ledger[name] = rec
	}
}

// kept returns the revision that a cluster has and may keep. What it was never good with and had not before
// may be on its way out, and does not come back before its turn.
func (d *decider) kept(name string, rec v1alpha1.ClusterRecord) string {
	if rec.LastGood == "" && d.isFresh(name) {
		return ""
	}
	return rec.Applied
}

// joined returns the revision for a cluster that has nothing and belongs to a stage that was passed
// or skipped before the wanted revision came; "": no revision, or one that cannot be placed any more.
// Then the cluster waits, by name, for the turn of its stage.
func (d *decider) joined(name string, rec v1alpha1.ClusterRecord) string {
	i := d.policy.index(rec.Stage)
	if i < 0 || !d.seen.Can.Content || d.isPassed(name) {
		return ""
	}
	switch with := d.Status.Stages[i].FulfilledWith; {
	case with == "":
	case d.seen.Can.OldRevision && d.isPlaceable(with):
		return with
	case with != d.Status.Wanted:
		d.undelivered = append(d.undelivered, fmt.Sprintf("%s (%s)", name, d.revisionName(fleet.RevisionID(with))))
	}
	return ""
}

// isPlaceable reports whether a revision can be brought to clusters now: the source holds it, or its
// content is kept and the transport can place it.
func (d *decider) isPlaceable(id string) bool {
	kept := d.seen.Workload.Kept
	return id == d.Status.Wanted || d.seen.Can.OldRevision && (kept == nil || slices.Contains(kept, fleet.RevisionID(id)))
}

// noteUndelivered says which held clusters have something unknown, and which clusters have joined a stage
// and cannot have its revision.
func (d *decider) noteUndelivered() {
	unknown := d.clustersWith("", func(c v1alpha1.ClusterRecord) bool { return c.Desired == v1alpha1.Hold && c.Applied == "" })
	if unknown = slices.DeleteFunc(unknown, func(c string) bool { return !d.isHeld(c) }); d.seen.Can.Content && len(unknown) > 0 {
		why := fmt.Sprintf("it is not known what %s has: it gets a turn of its own", firstOf(unknown, ", "))
		d.explain(d.Status.ActiveStage, why)
		d.Message += "; " + why
	}
	had := meta.IsStatusConditionTrue(d.Status.Conditions, "CannotDeliver")
	if len(d.undelivered) == 0 {
		return
	}
	slices.Sort(d.undelivered)
	why := fmt.Sprintf("the source does not hold the revision any more that clusters of passed stages have: %s wait for the turn of their stage", firstOf(d.undelivered, ", "))
	if d.explain(d.Status.ActiveStage, why); !had {
		d.event("Warning", "CannotDeliver", "%s", why)
	}
	d.done, d.Message = false, d.Message+"; "+why
}

// noteFault says why what the source asks for is no revision.
func (d *decider) noteFault() {
	if why := d.seen.Workload.Fault; why != "" {
		d.explain(d.Status.ActiveStage, why)
		d.Message += "; " + printable.Line(why)
	}
}

// isFresh reports whether a cluster had nothing of the workload before the policy brought it: the
// transport saw that, or the author of the policy vouches for it.
func (d *decider) isFresh(cluster string) bool {
	rec := d.ledger[cluster]
	if rec.Fresh || rec.LastGood != "" {
		return rec.Fresh
	}
	i := d.policy.index(rec.Stage)
	return i >= 0 && d.policy.stages[i].WithdrawFirst
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
	i := d.policy.index(d.ledger[cluster].Stage)
	if i < 0 || d.policy.stages[i].perCluster == nil {
		return true
	}
	under, total := 0, 0
	for _, c := range d.ledger {
		if c.Stage == d.policy.stages[i].Name {
			total++
			if c.Back != "" && c.Desired == c.Back && c.Applied != c.Back {
				under++
			}
		}
	}
	return under < d.policy.stages[i].maxUnavailable(total)
}

// fulfill records that the clusters of a stage are good with the revision that they have, unless they are
// set aside, or the stage does not select them any more.
func (d *decider) fulfill(i int, evidence fleet.Evidence) {
	rec := &d.Status.Stages[i]
	rec.FulfilledWith = d.Status.Wanted
	good := slices.DeleteFunc(slices.Clone(d.turnOf(i)), func(c string) bool { return d.clusters != nil && !d.selects(i, c) })
	for _, b := range rec.Batches {
		if b.SetAside != "" {
			good = without(good, b.Clusters)
		}
	}
	for _, name := range good {
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
