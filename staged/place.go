package staged

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stagecraft-go/stagecraft/staged/fleet"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// A wave is the clusters of a stage that have their turn together: the whole stage, or a batch.
type wave struct {
	name     string // of its placement
	stage    int
	batch    int      // -1: the placement selects clusters by their labels
	clusters []string // of the batch
	absent   bool     // none of the clusters of the batch exists any more
}

// byName reports whether placements name their clusters: with updates: Staged, so that no cluster joins
// before the turn of the stage, and where the transport has no selectors.
func (d *decider) byName() bool { return d.policy.stagesUpdates() || d.seen.Can.OldRevision }

// inWaves reports whether the clusters of a stage are divided.
func (d *decider) inWaves(i int) bool { return d.policy.stages[i].isBatched() || d.byName() }

// begun returns the waves of a stage that have begun.
func (d *decider) begun(i int) []wave {
	s, rec := d.policy.stages[i], &d.Status.Stages[i]
	if !d.inWaves(i) {
		return []wave{{name: s.full, stage: i, batch: -1}}
	}
	var all []wave
	for n, b := range rec.Batches[:rec.StartedBatches] {
		if len(b.Clusters) > 0 {
			all = append(all, wave{d.batchName(i, n), i, n, b.Clusters, !d.isPresent(b)})
		}
	}
	return all
}

// isPresent reports whether a cluster of a batch exists, as far as clusters are known.
func (d *decider) isPresent(b v1alpha1.Batch) bool {
	return d.clusters == nil || slices.ContainsFunc(b.Clusters, func(name string) bool { return d.clusters[name] != nil })
}

// listPlacements lists which placements must exist, and which to remove.
func (d *decider) listPlacements() {
	i := d.active()
	wanted := d.wanted(i)
	d.desire()
	switch {
	case d.seen.Can.OldRevision:
		d.placeByRevision(i)
		return
	case i < 0:
		d.placeAdopted()
		d.holdLater(nil)
		return
	}
	d.placeAdopted()
	for _, w := range wanted {
		if p := d.placed[w.name]; p != nil && p.Taken {
			d.stall("NameTaken", "%s %s exists and does not belong to this StagedBindingPolicy: rename the stage", d.kind(), w.name)
			continue
		}
		d.Place = append(d.Place, d.place(w))
	}
	d.release(wanted)
	d.holdLater(wanted)
}

// wanted returns the waves of the active stage and, under retention Keep, of passed ones.
func (d *decider) wanted(active int) (all []wave) {
	for j := range d.policy.stages[:active+1] {
		switch rec := &d.Status.Stages[j]; {
		case j == active:
		case d.policy.object.Spec.Retention != v1alpha1.Keep || !keepsWorkload(rec.Phase):
			continue
		case rec.Phase == v1alpha1.Skipped && len(d.selected(d.policy.stages[j])) == 0:
			continue
		case d.inWaves(j) && d.clusters != nil && !d.assign(j):
			continue
		case !d.inWaves(j):
			rec.Batches, rec.StartedBatches = nil, 0
		}
		all = append(all, d.begun(j)...)
	}
	return all
}

// keepsWorkload reports whether a passed stage in this phase still has the workload, under retention
// Keep. One that was skipped serves the clusters that have joined since.
func keepsWorkload(phase v1alpha1.Phase) bool {
	return phase != v1alpha1.RolledBack && phase != v1alpha1.Pending
}

// noteClusters brings the clusters in the records up to date with what was observed.
func (d *decider) noteClusters() {
	for n := range d.Status.Placements {
		rec := &d.Status.Placements[n]
		if p := d.placed[rec.Name]; p != nil && p.Ready && !slices.Equal(p.Has, rec.Clusters) {
			rec.Clusters = p.Has
		}
	}
}

// place returns the placement of a wave, and gives it a new version if it must change.
func (d *decider) place(w wave) fleet.Placement {
	p := d.placementOf(w)
	d.acceptAdopted(p)
	return d.versioned(p)
}

// versioned gives a placement its version: a new one if it must change.
func (d *decider) versioned(p fleet.Placement) fleet.Placement {
	rec, hash := d.own(p.Name, p.Stage), d.specHash(p)
	if rec.Spec != hash || rec.Removing || d.seen.Can.OldRevision && d.isOutrun(p, rec.Version) {
		d.Status.Version++
		rec.Version, rec.Spec, rec.Removing = d.Status.Version, hash, false
	}
	p.Version = rec.Version
	return p
}

// placementOf returns what a wave asks for. Clusters that would leave the placement stay in it until
// another one holds them.
func (d *decider) placementOf(w wave) fleet.Placement {
	s := d.policy.stages[w.stage]
	p := fleet.Placement{Name: w.name, Stage: s.Name, Revision: fleet.RevisionID(d.Status.Wanted), Hold: d.isFrozen(w)}
	kept := d.guarded(w)
	switch {
	case w.batch >= 0:
		if p.Clusters = w.clusters; len(kept) > 0 {
			p.Clusters = slices.Concat(w.clusters, kept)
		}
	case len(kept) > 0:
		p.Selectors = append(slices.Clone(s.ClusterSelectors), metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
			Key: d.policy.clusterLabel, Operator: metav1.LabelSelectorOpIn, Values: kept}}})
	default:
		p.Selectors = s.ClusterSelectors
	}
	return p
}

// guarded returns the clusters, sorted, that a placement holds, that its wave does not want any more,
// and that would be without the workload if they left it now.
func (d *decider) guarded(w wave) (names []string) {
	p := d.placed[w.name]
	if p == nil || p.Ending || p.Taken || d.clusters == nil {
		return nil
	}
	for _, c := range p.Selects {
		if !d.wants(w, c) && !d.mayLose(c, -1) && !d.isElsewhere(w, c) && (w.batch >= 0 || d.clusters[c][d.policy.clusterLabel] == c) {
			names = append(names, c)
		}
	}
	return names
}

// wants reports whether a wave wants a cluster.
func (d *decider) wants(w wave, cluster string) bool {
	if w.batch >= 0 {
		return slices.Contains(w.clusters, cluster)
	}
	return d.selects(w.stage, cluster)
}

// isElsewhere reports whether a cluster was observed in another placement whose wave wants it.
func (d *decider) isElsewhere(w wave, cluster string) bool {
	for _, name := range d.holders[cluster] {
		if name == w.name || !d.isCurrent(name) || !d.placed[name].Ready || !d.isCover(name, cluster) {
			continue
		}
		j, n := d.stageOf(name)
		if j < 0 {
			continue
		}
		other := wave{name: name, stage: j, batch: -1}
		if d.inWaves(j) {
			if n = max(0, n); n >= int(d.Status.Stages[j].StartedBatches) {
				continue
			}
			other.batch, other.clusters = n, d.Status.Stages[j].Batches[n].Clusters
		}
		if d.wants(other, cluster) {
			return true
		}
	}
	return false
}

// isFrozen reports whether the clusters of a wave keep what they have, where the transport can hold
// one revision only: all except waves that have their turn and were not observed with the wanted
// revision yet.
func (d *decider) isFrozen(w wave) bool {
	if !d.policy.stagesUpdates() {
		return false
	}
	rec := d.Status.Stages[w.stage]
	switch {
	case d.isGoingBack(w):
		return false
	case d.seen.Workload.Unsettled && w.stage > 0, rec.Phase == v1alpha1.Pending, w.batch >= int(rec.StartedBatches), hasFailed(rec.Phase) && rec.Phase != v1alpha1.Failed:
		return true
	case d.hasErrors() && !d.isOpen(w.name):
		return true
	case d.seen.Can.Content:
		return d.isDelivered(w)
	}
	return d.hadTurn(w)
}

// isGoingBack reports whether a cluster of a wave waits for the wanted revision as the one to go back
// to.
func (d *decider) isGoingBack(w wave) bool {
	return slices.ContainsFunc(w.clusters, func(c string) bool {
		rec := d.ledger[c]
		return rec.Back != "" && rec.Back == d.Status.Wanted && rec.Applied != rec.Back
	})
}

// isDelivered reports whether all clusters of a wave that exist were observed with the wanted
// revision.
func (d *decider) isDelivered(w wave) bool {
	return !slices.ContainsFunc(w.clusters, func(c string) bool {
		return (d.clusters == nil || d.clusters[c] != nil) && d.ledger[c].Applied != d.Status.Wanted
	})
}

// hadTurn reports whether the turn of a wave is over, where deliveries are not observed: the
// condition has held.
func (d *decider) hadTurn(w wave) bool {
	rec := d.Status.Stages[w.stage]
	switch {
	case w.stage != d.active() || rec.SatisfiedSince != nil || d.isDone(w.stage) || rec.Phase == v1alpha1.Skipped:
		return true
	case d.policy.stages[w.stage].perCluster != nil:
		return rec.Batches[w.batch].SatisfiedSince != nil
	}
	return w.batch < int(rec.StartedBatches)-1
}

func (d *decider) hasErrors() bool {
	return slices.ContainsFunc(d.seen.Placements, func(p fleet.Placement) bool { return len(p.Errors) > 0 })
}

func (d *decider) isOpen(name string) bool {
	p := d.placed[name]
	return p != nil && p.Open
}

// holdLater keeps the clusters of waves whose turn comes again, and whose placements stay as they are
// until then, at what they have. A cluster that goes back to the wanted revision gets it at once.
func (d *decider) holdLater(wanted []wave) {
	if !d.policy.stagesUpdates() {
		return
	}
	for n := range d.Status.Placements {
		rec := &d.Status.Placements[n]
		isWanted := slices.ContainsFunc(wanted, func(w wave) bool { return w.name == rec.Name }) ||
			slices.ContainsFunc(d.Place, func(p fleet.Placement) bool { return p.Name == rec.Name })
		if isWanted || rec.Removing || !d.exists(rec.Name) {
			continue
		}
		seen := d.placed[rec.Name]
		w := wave{name: rec.Name, clusters: seen.Clusters}
		d.Place = append(d.Place, fleet.Placement{Name: rec.Name, Stage: rec.Stage, Clusters: seen.Clusters, Selectors: seen.Selectors,
			Revision: fleet.RevisionID(d.Status.Wanted), Hold: !d.isGoingBack(w), Version: max(rec.Version, seen.Version)})
	}
}

// placeByRevision places in each cluster the revision that it should have, where any revision can be
// placed: clusters of a stage with the same revision share a placement.
func (d *decider) placeByRevision(active int) {
	groups := map[[2]string][]string{}
	for _, name := range d.clustersWith("", func(c v1alpha1.ClusterRecord) bool { return c.Desired != "" && c.Desired != v1alpha1.Hold }) {
		rec := d.ledger[name]
		passed := d.isPassed(name)
		if rec.Desired == v1alpha1.Withdrawn || passed && (!d.isHeld(name) || d.isCoveredBy(active)) {
			for _, holder := range d.holders[name] {
				d.Remove = append(d.Remove, holder+"/"+name)
			}
			continue
		}
		if !d.isPlaceable(rec.Desired) || d.contested([]string{name}) != "" {
			continue // it keeps what it has
		}
		key := [2]string{rec.Stage, rec.Desired}
		groups[key] = append(groups[key], name)
	}
	keys := slices.SortedFunc(maps.Keys(groups), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	used := map[string]bool{}
	for _, key := range keys {
		p := fleet.Placement{Name: d.groupName(key), Stage: key[0], Clusters: groups[key], Revision: fleet.RevisionID(key[1])}
		used[p.Name] = true
		d.Place = append(d.Place, d.versioned(p))
	}
	d.Status.Placements = slices.DeleteFunc(d.Status.Placements, func(o v1alpha1.OwnedPlacement) bool { return !used[o.Name] && d.placed[o.Name] == nil })
}

// isOutrun reports whether a cluster of a placement is held by another one that is newer, from which it comes
// back.
func (d *decider) isOutrun(p fleet.Placement, version int64) bool {
	return slices.ContainsFunc(p.Clusters, func(c string) bool {
		return slices.ContainsFunc(d.holders[c], func(name string) bool { return name != p.Name && d.placed[name].Version > version })
	})
}

// groupName is the name of the placement of clusters of a stage with one revision.
func (d *decider) groupName(key [2]string) string {
	stage := key[0]
	if stage == "" {
		stage = "unselected"
	}
	return d.policy.Name() + v1alpha1.StageSeparator + stage + "." + fleet.RevisionID(key[1]).Short()
}

// isPassed reports whether all stages of a cluster were passed under retention Move.
func (d *decider) isPassed(cluster string) bool {
	return d.policy.object.Spec.Retention != v1alpha1.Keep && d.active() >= 0 && d.mayLose(cluster, -1)
}

// isCoveredBy reports whether the existing clusters of the active stage have the workload, so that the clusters
// of passed stages may lose it.
func (d *decider) isCoveredBy(active int) bool {
	covered := false
	for _, name := range d.turnOf(active) {
		if d.clusters[name] == nil {
			continue // its batch keeps its name, and nothing is delivered there any more
		}
		if d.ledger[name].Applied == "" {
			return false
		}
		covered = true
	}
	return covered && d.missed(active) < 0
}

// acceptAdopted recognizes a placement of another program that was adopted and is as it must be. One
// that carries a version is of a status that was lost. It gets a new version, so that a removal that
// was decided before the loss fails.
func (d *decider) acceptAdopted(want fleet.Placement) {
	rec := d.owned(want.Name)
	if rec == nil || rec.Spec != "" || rec.Version > 0 || rec.Removing || !d.exists(want.Name) {
		return
	}
	seen := d.placed[want.Name]
	if seen.Same && !seen.Hold && slices.Equal(seen.Clusters, want.Clusters) && sameSelectors(seen.Selectors, want.Selectors) {
		rec.Spec = d.specHash(want)
	}
}

// specHash returns the hash of what a placement places where. Whether it holds is no part of that.
func (d *decider) specHash(p fleet.Placement) string {
	if p.Clusters != nil {
		return d.policy.batchHash(p.Clusters) + shortIf(p.Revision, d.seen.Can.OldRevision)
	}
	return hashOf([]any{d.policy.object.Spec.Downsync, p.Selectors})
}

func shortIf(r fleet.RevisionID, yes bool) string {
	if yes {
		return r.Short()
	}
	return ""
}

// sameSelectors compares selectors as an API server stores them: an empty list is an absent one.
func sameSelectors(a, b []metav1.LabelSelector) bool {
	if len(a) == 0 && len(b) == 0 {
		return true
	}
	one, err := json.Marshal(a)
	other, err2 := json.Marshal(b)
	return err == nil && err2 == nil && string(one) == string(other)
}

// kind is what messages call a placement.
func (d *decider) kind() string {
	if d.seen.Can.Kind != "" {
		return d.seen.Can.Kind
	}
	return "placement"
}

// exists reports whether a placement exists, is ours, and is not being removed.
func (d *decider) exists(name string) bool {
	p := d.placed[name]
	return p != nil && !p.Taken && !p.Ending
}

// isCurrent reports whether a placement exists in the version that its record asks for.
func (d *decider) isCurrent(name string) bool {
	rec := d.owned(name)
	return rec != nil && d.exists(name) && d.placed[name].Version == rec.Version
}

// holds returns the clusters that may have the workload from a placement: the clusters that it held last,
// and the clusters that it selects now.
func (d *decider) holds(name string) []string {
	names := map[string]bool{}
	if rec := d.owned(name); rec != nil {
		for _, c := range rec.Clusters {
			names[c] = true
		}
	}
	if p := d.placed[name]; p != nil {
		for _, c := range slices.Concat(p.Has, p.Selects) {
			names[c] = true
		}
	}
	return sortedKeys(names)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// missing says what a wave lacks before it can be assessed; "" if nothing is missing.
func (d *decider) missing(w wave) string {
	p := d.placed[w.name]
	switch {
	case d.seen.Can.OldRevision:
		return d.failed(w)
	case p == nil:
		return fmt.Sprintf("%s %s does not exist yet", d.kind(), w.name)
	case p.Taken || p.Ending:
		return p.Waits
	case d.isOutdated(w):
		return fmt.Sprintf("%s %s is not updated yet", d.kind(), w.name)
	case !p.Ready:
		return p.Waits
	case len(p.Errors) > 0:
		return fmt.Sprintf("%s %s: %s", d.kind(), w.name, firstOf(p.Errors, "; "))
	case d.uncovered(w, p.Has) != "":
		return d.uncovered(w, p.Has)
	case d.policy.stagesUpdates() && !d.isFrozen(w) && !p.Open:
		return fmt.Sprintf("the %s %s does not let new versions through yet", d.seen.Can.Bound, w.name)
	}
	return ""
}

// failed says which errors the transport reports for the clusters of a wave.
func (d *decider) failed(w wave) string {
	for _, p := range d.seen.Placements {
		if len(p.Errors) > 0 && slices.ContainsFunc(p.Has, func(c string) bool { return slices.Contains(w.clusters, c) }) {
			return fmt.Sprintf("%s %s: %s", d.kind(), p.Name, firstOf(p.Errors, "; "))
		}
	}
	return ""
}

// isOutdated reports whether a placement that exists has to be updated first: its version, or what it
// places where, is not what it must be.
func (d *decider) isOutdated(w wave) bool {
	want := d.placementOf(w)
	d.acceptAdopted(want)
	rec := d.owned(w.name)
	return rec == nil || rec.Removing || d.placed[w.name].Version != rec.Version || rec.Spec != d.specHash(want)
}

// stageOf returns the index of the stage to which the name of a placement belongs, and the number of
// the batch, or -1. The index is -1 for a stage that is not in the spec.
func (d *decider) stageOf(name string) (stage, batch int) {
	of := strings.TrimPrefix(name, d.policy.Name()+v1alpha1.StageSeparator)
	if j := d.policy.index(of); j >= 0 {
		return j, -1
	}
	for j, s := range d.policy.stages {
		number, is := strings.CutPrefix(of, s.Name+".")
		if !is {
			continue
		}
		if n, err := strconv.Atoi(number); err == nil && isNumber(number) && n > 0 && len(number) < batchDigits {
			return j, n - 1
		}
		if d.seen.Can.OldRevision && len(number) == 12 {
			return j, -1
		}
	}
	return -1, -1
}
