package staged

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// isBatched reports whether the clusters of a stage are divided: into batches, or one by one.
func (s *stage) isBatched() bool { return s.maxConcurrency != nil || s.perCluster != nil }

// batching is the field that divides the clusters.
func (s *stage) batching() string {
	switch {
	case s.perCluster != nil:
		return "perCluster"
	case s.maxConcurrency != nil:
		return "maxConcurrency"
	}
	return "the placement by name"
}

// batchSize returns how many clusters a batch may have.
func (s *stage) batchSize(clusters int) int {
	least := (clusters + maxBatches - 1) / maxBatches
	if s.perCluster != nil {
		return max(1, least)
	}
	if s.maxConcurrency == nil {
		return max(1, clusters)
	}
	return max(1, s.maxConcurrency.of(clusters), least)
}

// maxBatches is how many batches a stage may have: their numbers must fit into batchDigits.
const maxBatches = 9999

func (d *decider) batchName(i, n int) string {
	if !d.policy.stages[i].isBatched() {
		return d.policy.stages[i].full
	}
	return d.policy.stages[i].full + "." + strconv.Itoa(n+1)
}

// divide divides the clusters of a stage that has the workload into batches. It is false if that is
// not possible.
func (d *decider) divide(i int) bool {
	s, rec := d.policy.stages[i], &d.Status.Stages[i]
	switch {
	case !d.inWaves(i):
		rec.Batches, rec.StartedBatches = nil, 0
		return true
	case d.clusters != nil:
		if !d.assign(i) {
			return false
		}
	case len(rec.Batches) == 0:
		d.stall("ClustersUnknown", "%s of stage %q needs the clusters, which are not known", s.batching(), s.Name)
		return false
	}
	if rec.StartedBatches == 0 && len(rec.Batches) > 0 {
		d.beginBatch(i, 0)
	}
	return true
}

// assign brings the batches of a stage up to date. A cluster stays in its batch while the stage
// selects it. A cluster that joins goes into a batch that has not begun, or, if the stage is passed
// or the rollout is over, receives the workload at once. It is false if a cluster lacks the label
// by which a batch selects it.
func (d *decider) assign(i int) bool {
	s, rec := d.policy.stages[i], &d.Status.Stages[i]
	all := slices.DeleteFunc(d.ordered(s), func(c string) bool { return d.contested([]string{c}) != "" })
	for _, name := range all {
		if label := d.clusters[name][d.policy.clusterLabel]; label != name && !d.seen.Can.OldRevision {
			d.stall("ClusterLabel", "cluster %s has no label %s=%s, by which a batch could select it", name, d.policy.clusterLabel, name)
			return false
		}
	}
	b := &batches{list: rec.Batches, begun: int(rec.StartedBatches), size: s.batchSize(len(all)), in: map[string]bool{}}
	if !s.isBatched() {
		return d.assignWhole(i, all)
	}
	b.keep(func(name string, begun bool) bool {
		return d.selects(i, name) || d.clusters[name] == nil && begun
	})
	if len(b.list) == 0 {
		b.add(d.served(i), 0)
		b.begun = len(b.list)
	}
	if i != d.active() || d.isDone(i) {
		b.add(all, 0)
		b.begun = len(b.list)
	}
	b.add(all, b.begun)
	rec.Batches, rec.StartedBatches = b.trimmed(), int32(b.begun)
	return true
}

// assignWhole brings the only wave of a stage up to date. A cluster that joins while the stage soaks
// is late: it is served, and the stage does not wait for it.
func (d *decider) assignWhole(i int, all []string) bool {
	rec := &d.Status.Stages[i]
	var old v1alpha1.Batch
	if len(rec.Batches) == 1 {
		old = rec.Batches[0]
	}
	if len(all) == 0 {
		rec.Batches, rec.StartedBatches = nil, 0
		return true
	}
	if rec.SatisfiedSince != nil && rec.Phase == v1alpha1.Soaking && i == d.active() {
		old.Late = without(all, slices.DeleteFunc(slices.Clone(old.Clusters), func(c string) bool { return slices.Contains(old.Late, c) }))
	}
	if !slices.Equal(old.Clusters, all) {
		old.Clusters = all
	}
	if len(without(all, old.Late)) == 0 {
		old.Late = nil // the clusters that it waited for have left
	}
	rec.Batches, rec.StartedBatches = []v1alpha1.Batch{old}, min(1, rec.StartedBatches)
	if i != d.active() && rec.CompletedAt != nil {
		rec.StartedBatches = 1
	}
	return true
}

// without returns the names that are not among others; nil without one.
func without(names, others []string) (left []string) {
	for _, name := range names {
		if !slices.Contains(others, name) {
			left = append(left, name)
		}
	}
	return left
}

// ordered returns the names of the clusters of a stage in the order in which they are divided.
func (d *decider) ordered(s *stage) []string {
	names := d.selected(s)
	if s.SortBy == "" {
		return names
	}
	slices.SortStableFunc(names, func(a, b string) int {
		x, has := d.clusters[a][s.SortBy]
		y, hasToo := d.clusters[b][s.SortBy]
		switch {
		case has && !hasToo:
			return -1
		case !has && hasToo:
			return 1
		}
		return cmp.Compare(x, y)
	})
	return names
}

// served returns the clusters of a stage, sorted, that have the workload from a placement of it
// and are still selected.
func (d *decider) served(i int) (names []string) {
	s := d.policy.stages[i]
	for _, o := range d.Status.Placements {
		if o.Stage != s.Name || o.Removing || !d.exists(o.Name) {
			continue
		}
		for _, name := range d.holds(o.Name) {
			if d.selects(i, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// hadClusters reports whether a stage has, or once had, a cluster.
func (d *decider) hadClusters(i int) bool {
	s, rec := d.policy.stages[i], d.Status.Stages[i]
	return rec.Empty != nil || rec.SatisfiedSince != nil || rec.Counts.Destinations > 0 || slices.ContainsFunc(d.Status.Placements,
		func(o v1alpha1.OwnedPlacement) bool { return o.Stage == s.Name && len(o.Clusters) > 0 })
}

// batches are the batches of a stage while clusters are assigned to them.
type batches struct {
	list  []v1alpha1.Batch
	begun int // the first of them have begun
	size  int
	in    map[string]bool // clusters that have a batch
}

// keep leaves out the clusters that are not to stay.
func (b *batches) keep(stays func(name string, begun bool) bool) {
	for n := range b.list {
		leaves := func(name string) bool { return !stays(name, n < b.begun) || b.in[name] }
		if slices.ContainsFunc(b.list[n].Clusters, leaves) {
			b.list[n].Clusters = slices.DeleteFunc(slices.Clone(b.list[n].Clusters), leaves)
		}
		for _, name := range b.list[n].Clusters {
			b.in[name] = true
		}
	}
}

// add puts clusters that have no batch into the batches from one on that have room, or into new
// ones.
func (b *batches) add(names []string, from int) {
	for _, name := range names {
		if b.in[name] {
			continue
		}
		b.in[name] = true
		for from < len(b.list) && len(b.list[from].Clusters) >= b.size {
			from++
		}
		if from < len(b.list) || len(b.list) == maxBatches {
			into := &b.list[min(from, maxBatches-1)]
			into.Clusters = append(slices.Clone(into.Clusters), name)
		} else {
			b.list = append(b.list, v1alpha1.Batch{Clusters: []string{name}})
		}
	}
}

// trimmed returns the batches without the last ones that are empty and have not begun.
func (b *batches) trimmed() []v1alpha1.Batch {
	end := len(b.list)
	for end > b.begun && len(b.list[end-1].Clusters) == 0 {
		end--
	}
	return b.list[:end]
}

// nextBatch returns the first batch that has not begun and has a cluster; -1 without one.
func (d *decider) nextBatch(rec *v1alpha1.StageStatus) int {
	for n := int(rec.StartedBatches); n < len(rec.Batches); n++ {
		if len(rec.Batches[n].Clusters) > 0 {
			return n
		}
	}
	return -1
}

// onlyEmptyBatches returns the next batch of a stage if all clusters of the begun batches have
// left it, so that nothing is waited for there; -1 otherwise.
func (d *decider) onlyEmptyBatches(i int) int {
	rec := &d.Status.Stages[i]
	for _, b := range rec.Batches[:rec.StartedBatches] {
		if len(b.Clusters) > 0 && d.isPresent(b) {
			return -1
		}
	}
	return d.nextBatch(rec)
}

// startBatch starts a batch, if that may start now. It reports whether it did.
func (d *decider) startBatch(i, n int) bool {
	s, rec := d.policy.stages[i], &d.Status.Stages[i]
	if why := d.heldBatch(s, rec, n); why != "" {
		d.hold(rec, why)
		return false
	}
	d.beginBatch(i, n)
	rec.Phase, rec.StartedAt, rec.SatisfiedSince, rec.Soak, rec.Waited = v1alpha1.Progressing, wholeSecond(d.now), nil, nil, nil
	d.event("Normal", "BatchStarted", "batch %d of %d of stage %q", rec.StartedBatches, len(rec.Batches), rec.Name)
	return true
}

// heldBatch says why a batch must wait; "" if it can start now.
func (d *decider) heldBatch(s *stage, rec *v1alpha1.StageStatus, n int) string {
	if s.perCluster == nil && rec.Batches[n].SetAside != "" {
		why := batchRolledBack(n, rec.Batches[n])
		d.stall("RolledBack", "stage %q: %s", s.Name, why)
		return why
	}
	if why := d.contested(rec.Batches[n].Clusters); why != "" {
		d.stall("Conflict", "batch %d of stage %q: %s", n+1, s.Name, why)
		return why
	}
	if s.BatchesInWindows {
		if why := d.closedWindow(s); why != "" {
			return fmt.Sprintf("batch %d of %d %s", n+1, len(rec.Batches), why)
		}
	}
	return ""
}

// beginBatch records that a batch, and every empty one before it, has begun.
func (d *decider) beginBatch(i, n int) {
	rec := &d.Status.Stages[i]
	rec.StartedBatches = int32(n + 1)
	if d.policy.stages[i].perCluster != nil {
		b := &rec.Batches[n]
		b.StartedAt, b.SatisfiedSince, b.Soak, b.Waited = wholeSecond(d.now), nil, nil, nil
	}
}
