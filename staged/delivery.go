package staged

import (
	"fmt"
	"slices"

	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// A delivery begins when the object that brings the wanted revision to a cluster was observed, and ends when the
// cluster was observed to have the revision. Each cluster has its clock for deliveryDeadlineSeconds;
// clusters whose deliveries began together share an entry of the status.

// noteDelivery counts how long the deliveries of a stage take, and sets aside the clusters to which one takes too
// long. It reports whether it has: then the stage has to be assessed again.
func (d *decider) noteDelivery(i int, a assessment) (aside bool) {
	limit, rec := d.policy.stages[i].deliveryDeadline, &d.Status.Stages[i]
	known := rec.Deliveries
	if rec.Deliveries = nil; limit == 0 || !d.seen.Can.Content {
		return false
	}
	going := d.underWay(i)
	for _, one := range slices.Concat(known, []v1alpha1.Batch{{Clusters: sortedKeys(going)}}) {
		one.Clusters = slices.DeleteFunc(slices.Clone(one.Clusters), func(c string) bool { return !going[c] })
		if len(one.Clusters) == 0 {
			continue
		}
		for _, c := range one.Clusters {
			delete(going, c)
		}
		if d.hasEnded(&one.Waited, limit) {
			why := fmt.Sprintf("%s was not delivered within %s", d.revisionName(fleet.RevisionID(d.Status.Wanted)), limit)
			aside = d.setAside(one.Clusters, a, why) || aside
		}
		rec.Deliveries = append(rec.Deliveries, one)
	}
	return aside
}

// setAside sets aside those of some clusters that a stage waits for. It reports whether there is one.
func (d *decider) setAside(clusters []string, a assessment, why string) bool {
	awaited := slices.DeleteFunc(slices.Clone(clusters), func(c string) bool { return a.undelivered[c] == "" })
	d.change(awaited, func(c *v1alpha1.ClusterRecord) { c.SetAside = why })
	return len(awaited) > 0
}

// underWay returns the clusters of a stage to which a delivery has begun and has not ended. Clusters that have
// joined too late for the stage, or are set aside, are left out.
func (d *decider) underWay(i int) map[string]bool {
	going := map[string]bool{}
	for _, w := range d.begun(i) {
		clusters := w.clusters
		if w.batch < 0 {
			clusters = d.selected(d.policy.stages[i])
		}
		for _, c := range d.awaited(w, clusters) {
			rec := d.ledger[c]
			has := rec.Applied == d.Status.Wanted && !d.isOnItsWayOut(c)
			if !has && rec.SetAside == "" && d.isTold(c) {
				going[c] = true
			}
		}
	}
	return going
}

// isTold reports whether an object that brings the wanted revision to a cluster was observed.
func (d *decider) isTold(cluster string) bool {
	return slices.ContainsFunc(d.holders[cluster], func(name string) bool {
		if d.seen.Can.OldRevision {
			return string(d.placed[name].Revision) == d.Status.Wanted
		}
		rec := d.owned(name)
		return rec != nil && !rec.Removing && (d.placed[name].Open || !d.policy.stagesUpdates())
	})
}
