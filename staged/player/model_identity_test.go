package player_test

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// checkIdentity is S2 for one cluster: the reports that were seen of it are of the revision, and it was
// really healthy with that.
func (h *history) checkIdentity(a *actor, name, stage string, wanted version, d design) {
	if h.members[name] == nil {
		return
	}
	if _, has := h.arrived[name][wanted]; !has {
		h.broken("S2: stage %s is fulfilled for %s, and %s never had it", stage, wanted, name)
		return
	}
	old := h.oldReport(a, name, wanted)
	since, ever := h.wasFit(name, wanted)
	if old == nil && since {
		return
	}
	if d.none || !d.staged { // reports of any revision count
		h.counts["unverified passes"]++
		return
	}
	switch {
	case h.isHole(old, name, wanted):
	case old == nil && ever && h.kind == overSpace: // it came back before what was between had arrived, as far as can be seen
		h.counts["passes by a report of an earlier stay"]++
	case old != nil:
		h.broken("S2: stage %s is fulfilled for %s, and the report of %s is of image %d", stage, wanted, name, old.about)
	default:
		h.broken("S2: stage %s is fulfilled for %s, and %s was never healthy with it", stage, wanted, name)
	}
}

// checkAggregate is S2 over K0 for a cluster that never had the workload. Only one thing excuses it: the Binding
// had other clusters when its CombinedStatus was written. An aggregate names no cluster, and KubeStellar writes
// none whose values stay the same (3.1: "any report" stands for health). These are counted apart.
func (h *history) checkAggregate(a *actor, stage, cluster string) {
	for k, obj := range a.seen {
		of := obj.GetLabels()["status.kubestellar.io/binding-policy"]
		if k.kind != combinedStatusKind || of != "s.stage."+stage && !strings.HasPrefix(of, "s.stage."+stage+".") {
			continue
		}
		if b := a.seen[key{bindingKind, nameOf(of)}]; b != nil && h.isDestination(b.Object, cluster) && !slices.Contains(h.combined[obj], cluster) {
			h.counts["passes by an aggregate of other clusters"]++
			return
		}
	}
	h.broken("S2: stage %s is fulfilled, and %s never had the workload", stage, cluster)
}

// wasFit reports whether each object of a version was good in a cluster since its last delivery, or ever.
func (h *history) wasFit(cluster string, v version) (since, ever bool) {
	since, ever = true, true
	for object, image := range map[string]int{"web": v.web, "api": v.api} {
		turn, was := h.fit[cluster+"/"+object][image]
		since = since && (image == 0 || was && turn >= h.deliveredAt[cluster+"/"+object][image])
		ever = ever && (image == 0 || was)
	}
	return since, ever
}

// isHole reports whether Ordered evidence cannot see that a report is from before a delivery. It is counted
// apart: an agent has written a cached status late, and an autoscaler has raised the generation before (b), or
// the time alone counts (c), since it is not known what the cluster had before, or which generation it had
// reported when the delivery was ordered.
func (h *history) isHole(old *statusRead, cluster string, v version) bool {
	switch before := h.previous[cluster][v]; {
	case old == nil:
		return false
	case old.scaled:
		h.counts["known hole of Ordered (b)"]++
	case h.uncounted[cluster+"/"+old.object][v.imageOf(old.object)]:
		h.counts["known hole of Ordered (c): no report before the delivery, or in its second"]++
	case h.from[cluster][h.idOf(v)] != h.idOf(before):
		h.counts["known hole of Ordered (c)"]++
	default:
		return false
	}
	return true
}

// oldReport returns what a player has seen of an object of a cluster, if that is from before the delivery of
// a version: Ordered evidence must find that out.
func (h *history) oldReport(a *actor, cluster string, v version) *statusRead {
	if h.kind != overSpace {
		return nil
	}
	for object, image := range map[string]int{"web": v.web, "api": v.api} {
		seen := a.seen[key{workStatusKind, types.NamespacedName{Namespace: cluster, Name: "ws-" + object}}]
		read := h.reads[seen]
		if read != nil && image > 0 && read.about != image && read.turn < h.deliveredAt[cluster+"/"+object][image] {
			return read
		}
	}
	return nil
}
