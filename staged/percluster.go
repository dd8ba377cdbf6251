package staged

import (
	"fmt"
	"maps"
	"strings"

	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// A tally counts the clusters of a stage with perCluster.
type tally struct {
	assessment         // of all clusters together
	unavailable int    // clusters that have begun, are not set aside, and are no success
	waiting     string // why the first of these is no success
	setAside    []string
	late        int // how many of these are set aside because their delivery takes too long
	total       int
}

// progressClusters works on an active stage with perCluster. It reports whether the active stage,
// or one of its clusters, has changed.
func (d *decider) progressClusters(i int) bool {
	s, rec := d.policy.stages[i], &d.Status.Stages[i]
	t := d.tally(i)
	rec.Counts = t.counts
	if s.readsTime {
		d.recheckAt(d.now.Add(timeStep))
	}
	if d.noteDelivery(i, t.assessment) {
		return true
	}
	if allowed := max(0, min(s.maxFailures.of(t.total), t.total-1)); len(t.setAside) > allowed {
		rec.SatisfiedSince, rec.Soak = nil, nil
		why := fmt.Sprintf("%d of %d clusters are set aside, at most %d may be: %s", len(t.setAside), t.total, allowed, firstOf(t.setAside, "; "))
		if len(t.setAside)-t.late > allowed {
			return d.fail(i, why)
		}
		d.wait(rec, v1alpha1.Progressing, why) // a delivery that takes too long fails nothing by itself
		return false
	}
	next := d.nextBatch(rec)
	if why := d.stageLate(s, rec, t, next); why != "" {
		return d.fail(i, why)
	}
	if next >= 0 && t.unavailable < s.maxUnavailable(t.total) && !d.isPaused(i) {
		rec.SatisfiedSince, rec.Soak = nil, nil
		return d.startBatch(i, next)
	}
	switch {
	case t.unavailable > 0:
		rec.SatisfiedSince, rec.Soak = nil, nil
		d.wait(rec, v1alpha1.Progressing, fmt.Sprintf("%s (%d of %d clusters are without success, at most %d may be)",
			t.waiting, t.unavailable, t.total, s.maxUnavailable(t.total)))
		d.paused = d.isPaused(i)
		return false
	case t.Satisfaction != Satisfied:
		rec.SatisfiedSince, rec.Soak = nil, nil
		d.wait(rec, v1alpha1.Progressing, t.reason)
		return false
	}
	d.recordSatisfied(rec, true)
	return d.pass(i, t.assessment)
}

// stageLate says that the deadline of the whole stage has passed; "": it has not.
func (d *decider) stageLate(s *stage, rec *v1alpha1.StageStatus, t tally, next int) string {
	if s.stageDeadline > 0 && (t.unavailable > 0 || next >= 0) && len(t.undelivered) == 0 && d.hasEnded(&rec.StageWaited, s.stageDeadline) {
		return fmt.Sprintf("the stage was not satisfied within %s: %d of %d clusters have begun, %d of them are without success",
			s.stageDeadline, rec.StartedBatches, t.total, t.unavailable)
	}
	return ""
}

// firstOf joins the first three, and says how many more there are.
func firstOf(all []string, separator string) string {
	if len(all) > 3 {
		all = append(all[:3:3], fmt.Sprintf("and %d more", len(all)-3))
	}
	return strings.Join(all, separator)
}

// tally assesses each cluster that has begun, and records since when it is satisfied, or why it is
// set aside.
func (d *decider) tally(i int) tally {
	s, rec := d.policy.stages[i], &d.Status.Stages[i]
	t := tally{assessment: assessment{finding: finding{Satisfaction: Satisfied}, bound: true, hasDestinations: true, evidence: fleet.EvidenceExact, undelivered: map[string]string{}}}
	for n := range rec.Batches {
		if len(rec.Batches[n].Clusters) > 0 && d.isPresent(rec.Batches[n]) {
			t.total++
		}
	}
	for _, p := range d.begun(i) {
		if p.absent {
			continue
		}
		a := d.assessCluster(rec, p)
		t.counts, t.evidence = sum(t.counts, a.counts), min(t.evidence, a.evidence)
		maps.Copy(t.undelivered, a.undelivered)
		d.count(&t, s, &rec.Batches[p.batch], a)
	}
	if least := s.minDestinations(); t.total < least {
		t.finding = unsatisfied("%d destinations, want at least %d%s", t.total, least, d.newAssessor(i).choice())
	}
	return t
}

// count counts one cluster.
func (d *decider) count(t *tally, s *stage, b *v1alpha1.Batch, a assessment) {
	name, now := b.Clusters[0], wholeSecond(d.now)
	if b.StartedAt == nil {
		b.StartedAt = now
	}
	ok := a.Satisfaction == Satisfied && !a.failing
	switch {
	case !ok:
		b.SatisfiedSince, b.Soak = nil, nil
	case b.SatisfiedSince == nil:
		b.SatisfiedSince = now
	}
	delivered := a.bound && len(a.undelivered) == 0
	if !delivered {
		b.Waited = nil
	}
	late := !ok && delivered && b.SetAside == "" && s.clusterDeadline > 0 && d.hasEnded(&b.Waited, s.clusterDeadline)
	switch {
	case ok:
		b.SetAside = ""
	case a.failing:
		b.SetAside = a.failure
	case late:
		b.SetAside = fmt.Sprintf("the condition did not hold within %s: %s", s.clusterDeadline, a.reason)
	case b.SetAside == "":
		b.SetAside = d.ledger[name].SetAside
	}
	if b.SatisfiedSince != nil && s.minSuccess > 0 && !d.isExpedited() && !d.hasEnded(&b.Soak, s.minSuccess) {
		end := wholeSecond(d.now.Add(s.minSuccess + d.seen.Now.Error - d.counted(b.Soak, s.minSuccess)))
		ok, a.reason = false, fmt.Sprintf("the condition must hold until %s", end.UTC().Format("15:04:05Z07:00"))
	}
	switch {
	case b.SetAside != "":
		if t.setAside = append(t.setAside, name+": "+b.SetAside); b.SetAside == d.ledger[name].SetAside {
			t.late++
		}
	case !ok:
		if t.unavailable++; t.waiting == "" {
			t.waiting = name + ": " + a.reason
		}
	}
}

func sum(a, b v1alpha1.Counts) v1alpha1.Counts {
	return v1alpha1.Counts{Objects: a.Objects + b.Objects, Satisfied: a.Satisfied + b.Satisfied,
		Unknown: a.Unknown + b.Unknown, Destinations: a.Destinations + b.Destinations}
}
