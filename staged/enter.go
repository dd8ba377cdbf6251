package staged

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// enter starts the first stage from i on that is not skipped, if that stage may start. If all are
// skipped, the rollout ends in the stage before i.
func (d *decider) enter(i int) bool {
	first := i
	for i < len(d.policy.stages) && d.skips(i) {
		i++
	}
	ended := i == len(d.policy.stages)
	if !ended && !d.mayStart(i) {
		return false
	}
	for j := first; j < i; j++ {
		rec := &d.Status.Stages[j]
		rec.Phase, rec.CompletedAt, rec.Message = v1alpha1.Skipped, wholeSecond(d.now), "its selectors match no cluster"
	}
	if !ended {
		d.event("Normal", "StageStarted", "stage %q", d.policy.stages[i].Name)
		d.start(i)
		return true
	}
	if first > 0 {
		d.finish(first - 1)
	} else {
		d.stall("NoClusters", "the selectors of no stage match a cluster")
	}
	return false
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
		if slices.ContainsFunc(s.selectors, func(selector labels.Selector) bool { return selector.Matches(labels.Set(have)) }) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// mayStart reports whether a stage may start. If not, it records why.
func (d *decider) mayStart(i int) bool {
	s, rec := d.policy.stages[i], &d.Status.Stages[i]
	opens, found := opening(s.windows, d.now)
	switch {
	case s.Paused:
		d.paused = true
		d.Message = "paused"
	case rec.Phase == v1alpha1.RolledBack:
		d.stall("RolledBack", "stage %q was rolled back until the spec changes: %s", s.Name, rec.Message)
		return false
	case s.maxConcurrency != nil && d.clusters == nil:
		d.stall("ClustersUnknown", "maxConcurrency of stage %q needs the clusters, which are not known", s.Name)
		return false
	case s.Approval != nil && s.Approval.Before && rec.ApprovedBefore == "":
		d.Message = "waits for the annotation " + v1alpha1.ApprovalPrefix + "before." + s.Name
	case opens.IsZero():
		d.Message = "waits for a window, and none will ever open"
	case !found:
		d.recheckAt(opens)
		d.Message = "waits for a window: none opens before " + opens.UTC().Format(time.DateOnly)
	case opens.After(d.now):
		d.recheckAt(opens)
		d.Message = "waits for a window: the next opens at " + opens.UTC().Format(time.RFC3339)
	default:
		return true
	}
	d.explain(s.Name, "not started: "+d.Message)
	d.Message = fmt.Sprintf("stage %q is not started: %s", s.Name, d.Message)
	return false
}

// start makes a stage the active one.
func (d *decider) start(i int) {
	rec := &d.Status.Stages[i]
	rec.Phase, rec.Message, rec.Counts = v1alpha1.Progressing, "", v1alpha1.Counts{}
	rec.StartedAt, rec.SatisfiedSince, rec.CompletedAt = wholeSecond(d.now), nil, nil
	d.Status.ActiveStage = rec.Name
}

// divide divides the clusters of a stage with maxConcurrency into batches. A cluster stays in its
// batch; a new cluster goes into a batch that has not begun. It is false if that is not possible.
func (d *decider) divide(i int) bool {
	s, rec := d.policy.stages[i], &d.Status.Stages[i]
	switch {
	case s.maxConcurrency == nil:
		return true
	case d.clusters != nil:
		if !d.assign(s, rec) {
			return false
		}
	case len(rec.Batches) == 0:
		d.stall("ClustersUnknown", "maxConcurrency of stage %q needs the clusters, which are not known", s.Name)
		return false
	}
	rec.Batch = min(max(rec.Batch, 1), int32(len(rec.Batches)))
	return true
}

// assign puts the clusters of a stage that are in no batch into one. It is false if a cluster lacks
// the label by which a batch selects it.
func (d *decider) assign(s *stage, rec *v1alpha1.StageStatus) bool {
	all := d.selected(s)
	size := max(1, s.maxConcurrency.of(len(all)), (len(all)+maxBatches-1)/maxBatches)
	rec.Batches = slices.Clone(rec.Batches)
	divided := map[string]bool{}
	for _, b := range rec.Batches {
		for _, name := range b.Clusters {
			divided[name] = true
		}
	}
	for _, name := range all {
		if label := d.clusters[name][d.policy.clusterLabel]; label != name {
			d.stall("ClusterLabel", "cluster %s has no label %s=%s, by which a batch could select it", name, d.policy.clusterLabel, name)
			return false
		}
		if !divided[name] {
			rec.Batches = withCluster(rec.Batches, name, int(rec.Batch), size)
		}
	}
	return true
}

// maxBatches is how many batches a stage may have: their numbers must fit into batchDigits.
const maxBatches = 9999

// withCluster adds a cluster to the last batch, if that has not begun and is not full, else to a
// new batch. The first begun batches have begun.
func withCluster(batches []v1alpha1.Batch, cluster string, begun, size int) []v1alpha1.Batch {
	last := len(batches) - 1
	if last >= begun && len(batches[last].Clusters) < size {
		batches[last].Clusters = append(slices.Clone(batches[last].Clusters), cluster)
		return batches
	}
	return append(batches, v1alpha1.Batch{Clusters: []string{cluster}})
}

// nextBatch starts the next batch of a stage. It is false if there is none.
func (d *decider) nextBatch(i int) bool {
	rec := &d.Status.Stages[i]
	if int(rec.Batch) >= len(rec.Batches) {
		return false
	}
	rec.Batch++
	rec.Phase, rec.StartedAt, rec.SatisfiedSince = v1alpha1.Progressing, wholeSecond(d.now), nil
	d.event("Normal", "BatchStarted", "batch %d of %d of stage %q", rec.Batch, len(rec.Batches), rec.Name)
	return true
}
