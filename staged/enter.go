package staged

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// enter starts the first stage from i on that is not skipped, if it and the skipped ones may
// start. If all are skipped, the rollout ends in the stage before i.
func (d *decider) enter(i int) bool {
	first := i
	for i < len(d.policy.stages) {
		if !d.mayStart(i) {
			return false
		}
		if !d.skips(i) {
			break
		}
		i++
	}
	for j := first; j < i; j++ {
		d.skip(&d.Status.Stages[j])
	}
	switch {
	case i < len(d.policy.stages):
		d.event("Normal", "StageStarted", "stage %q", d.policy.stages[i].Name)
		d.start(i)
		return true
	case first > 0:
		d.finish(first - 1)
	default:
		d.stall("NoClusters", "the selectors of no stage match a cluster")
	}
	return false
}

// skip records that a stage is skipped.
func (d *decider) skip(rec *v1alpha1.StageStatus) {
	if rec.Phase != v1alpha1.Skipped {
		rec.CompletedAt = wholeSecond(d.now)
		d.endAttempt(rec, fleet.RevisionID(d.Status.Wanted), "Skipped", "its selectors match no cluster")
	}
	rec.Phase, rec.Message, rec.FulfilledWith = v1alpha1.Skipped, "its selectors match no cluster", d.Status.Wanted
}

// skips reports whether to skip a stage because it has no cluster. If the clusters are not known,
// the Binding of the stage shows that later.
func (d *decider) skips(i int) bool {
	s := d.policy.stages[i]
	return s.SkipIfEmpty && d.clusters != nil && len(d.selected(s)) == 0
}

// selected returns the names of the clusters of a stage, sorted.
func (d *decider) selected(s *stage) []string {
	var names []string
	for name, have := range d.clusters {
		if s.selects(have) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (s *stage) selects(have map[string]string) bool {
	return slices.ContainsFunc(s.selectors, func(selector labels.Selector) bool { return selector.Matches(labels.Set(have)) })
}

// selects reports whether a stage selects a cluster that exists.
func (d *decider) selects(i int, cluster string) bool {
	have, exists := d.clusters[cluster]
	return exists && d.policy.stages[i].selects(have)
}

// mayStart reports whether a stage may start, or be skipped. If not, it records why.
func (d *decider) mayStart(i int) bool {
	s, rec := d.policy.stages[i], &d.Status.Stages[i]
	switch {
	case d.isPaused(i):
		d.paused = true
		d.Message = "paused"
	case staysFailed(*rec):
		d.stall(string(rec.Phase), "stage %q was rolled back until another revision comes or a retry is asked for: %s; to try again: %s", s.Name, rec.Message, d.retryText(s.Name))
		return false
	case i > 0 && d.seen.Workload.Unsettled && d.policy.stagesUpdates():
		d.Message = "the source holds something newer than " + d.revisionName(fleet.RevisionID(d.Status.Wanted))
	case d.inWaves(i) && d.clusters == nil:
		d.stall("ClustersUnknown", "%s of stage %q needs the clusters, which are not known", s.batching(), s.Name)
		return false
	case d.contested(d.selected(s)) != "":
		d.stall("Conflict", "stage %q is not started: %s", s.Name, d.contested(d.selected(s)))
		return false
	case d.adopting(i) != "":
		d.Message = d.adopting(i)
	case s.Approval != nil && s.Approval.Before && !d.isApprovedBefore(i):
		if d.stalled != "" {
			return false
		}
	default:
		why := d.closedWindow(s)
		if why == "" {
			return true
		}
		d.Message = why
	}
	d.explain(s.Name, "not started: "+d.Message)
	d.Message = fmt.Sprintf("stage %q is not started: %s", s.Name, d.Message)
	return false
}

// isApprovedBefore reports whether a stage is approved to start. If not, Message says what is
// awaited, and the rollout may be stalled.
func (d *decider) isApprovedBefore(i int) bool {
	s, rec := d.policy.stages[i], &d.Status.Stages[i]
	a := d.askApproval(rec, "before")
	switch {
	case a.approved:
		return true
	case a.rejected != "":
		d.stall("Rejected", "stage %q is not started: rejected by %s", s.Name, a.rejected)
	case d.awaits(s, rec):
		d.stall("ApprovalTimeout", "stage %q is not started: nobody approved within %s: it %s", s.Name, s.approvalTimeout, a.awaits)
	default:
		d.Message = a.awaits
	}
	return false
}

// closedWindow says which window a stage or batch waits for; "" if its windows are open.
func (d *decider) closedWindow(s *stage) string {
	if d.isExpedited() {
		return ""
	}
	opens, found := opening(s.windows, d.now)
	switch {
	case opens.IsZero():
		return "waits for a window, and none will ever open"
	case !found:
		d.recheckAt(opens)
		return "waits for a window: none opens before " + opens.UTC().Format(time.DateOnly)
	case opens.After(d.now):
		d.recheckAt(opens)
		return "waits for a window: the next opens at " + opens.UTC().Format(time.RFC3339)
	}
	return ""
}

// start makes a stage the active one. Batches that have begun before begin again together.
func (d *decider) start(i int) {
	rec := &d.Status.Stages[i]
	rec.Phase, rec.Message, rec.Counts = v1alpha1.Progressing, "", v1alpha1.Counts{}
	rec.StartedAt, rec.SatisfiedSince, rec.CompletedAt = wholeSecond(d.now), nil, nil
	rec.Awaited, rec.Awaiting, rec.Empty = nil, nil, nil
	rec.Soak, rec.Waited, rec.StageWaited, rec.Deliveries = nil, nil, nil, nil
	rec.EnteredAt, rec.Attempt = rec.StartedAt, max(1, rec.Attempt)
	for n := range rec.Batches {
		b := &rec.Batches[n]
		b.SatisfiedSince, b.StartedAt, b.Soak, b.Waited, b.Late = nil, nil, nil, nil, nil
		if d.policy.stages[i].perCluster != nil && n < int(rec.StartedBatches) {
			b.StartedAt = rec.StartedAt
		}
	}
	d.Status.ActiveStage = rec.Name
	d.endRetreatsOf(rec)
}

// endRetreatsOf ends what the clusters of a stage have failed with before its present attempt, also that of
// clusters that were in another stage then.
func (d *decider) endRetreatsOf(rec *v1alpha1.StageStatus) {
	concerned := d.clustersWith(rec.Name, func(v1alpha1.ClusterRecord) bool { return true })
	for n := range rec.Batches {
		b := &rec.Batches[n]
		concerned = append(concerned, b.Clusters...) // a cluster of two stages has the record of the first
		if len(b.Clusters) == 1 && b.SetAside == d.ledger[b.Clusters[0]].SetAside {
			b.SetAside = "" // its delivery took too long
		}
	}
	d.change(concerned, func(c *v1alpha1.ClusterRecord) {
		c.Back, c.SetAside = "", ""
		if c.Desired == v1alpha1.Withdrawn {
			c.Desired = ""
		}
	})
}
