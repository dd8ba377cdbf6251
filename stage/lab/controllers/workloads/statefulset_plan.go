package workloads

import (
	"slices"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
)

// A plan has the Pods that one reconcile looks at. For an ordered set it leaves out quiet Pods.
type plan struct {
	places    members // existing and missing Pods in range, the lowest first
	condemned members // Pods out of range, the highest first
	surplus   members // the condemned Pods to delete next
	first     *member // the unavailable Pod with the lowest ordinal, which others wait for
	outdated  *member // the Pod to replace next because of its revision, or nil
}

func (r *statefulRun) newPlan(all *setPods) plan {
	outdated := r.highestOutdated(all)
	if !r.ordered {
		condemned := r.outOfRange(all.members)
		return plan{
			places:    withMissing(all.from(r.start).to(r.end), r.start, r.end, control.Room(r.replicas, r.waiting)),
			condemned: condemned, surplus: condemned, outdated: outdated,
		}
	}
	p := plan{
		places: slices.Clone(all.busy.from(r.start).to(r.end)), condemned: r.outOfRange(all.busy),
		surplus: r.highestOutOfRange(all.members), outdated: outdated,
	}
	if missing := all.lowestMissing(r.start, r.end); missing < r.end {
		p.places = slices.Insert(p.places, p.places.below(missing), &member{ordinal: missing})
	}
	if len(p.surplus) > 0 {
		p.first = r.firstUnavailable(all)
	}
	return p
}

// withMissing returns the Pods and the first n ordinals from start to before end without a Pod. Its
// length does not depend on the end.
func withMissing(have members, start, end int64, n int) (places members) {
	fill := func(upTo int64) {
		for ; start < upTo && n > 0; start, n = start+1, n-1 {
			places = append(places, &member{ordinal: start})
		}
	}
	for _, m := range have {
		fill(m.ordinal)
		places = append(places, m)
		start = m.ordinal + 1
	}
	fill(end)
	return places
}

// outOfRange returns the Pods with an ordinal out of range, the highest first.
func (r *statefulRun) outOfRange(all members) members {
	condemned := slices.Concat(all.from(0).to(r.start), all.from(r.end))
	slices.Reverse(condemned)
	return condemned
}

// highestOutOfRange returns the first of the Pods with an ordinal out of range.
func (r *statefulRun) highestOutOfRange(all members) members {
	for _, part := range []members{all.from(r.end), all.from(0).to(r.start)} {
		if n := len(part); n > 0 {
			return members{part[n-1]}
		}
	}
	return nil
}

// firstUnavailable returns the Pod with the lowest ordinal that is not available: others wait for it. It
// returns nil if all Pods are available, or a Pod is missing.
func (r *statefulRun) firstUnavailable(all *setPods) *member {
	missing := all.lowestMissing(r.start, r.end)
	if first := all.busy.from(r.start).to(missing).firstUnavailable(); first != nil || missing < r.end {
		return first
	}
	if first := all.busy.from(0).to(r.start).firstUnavailable(); first != nil {
		return first
	}
	return all.busy.from(r.end).firstUnavailable()
}

// highestOutdated returns the Pod with the highest ordinal that has another revision, once the Pods above it are
// available. It returns nil without such a Pod, or below the partition.
func (r *statefulRun) highestOutdated(all *setPods) (highest *member) {
	update, first := r.history.update.GetName(), max(r.partition, all.highestMissing(r.partition, r.end)+1)
	for revision, of := range all.revisions {
		if in := of.from(first).to(r.end); revision != update && len(in) > 0 && (highest == nil || in[len(in)-1].ordinal > highest.ordinal) {
			highest = in[len(in)-1]
		}
	}
	if highest == nil || all.busy.from(highest.ordinal+1).to(r.end).firstUnavailable() != nil {
		return nil
	}
	return highest
}
