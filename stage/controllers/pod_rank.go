package controllers

import (
	"cmp"
	"slices"
	"strconv"
	"time"
)

// A rank is what decides how much a Pod is missed, read once.
type rank struct {
	obj      pod
	uid      string
	node     string
	phase    int
	ready    int
	cost     int64
	since    time.Time // when it became ready; zero if it is not or does not say
	restarts int64
	created  time.Time
}

// phaseOrder is the order in which Pods are given up.
var phaseOrder = map[string]int{"Pending": 0, "Unknown": 1, "Running": 2}

func rankOf(p pod) *rank {
	r := &rank{
		obj: p, uid: string(p.GetUID()), node: p.node(), phase: phaseOrder[p.phase()],
		ready: truth(p.ready()), cost: p.deletionCost(), restarts: p.restarts(),
	}
	r.since, _ = p.readySince()
	r.created, _ = timeAt(p.Object, "metadata", "creationTimestamp")
	return r
}

func ranksOf(pods []pod) []*rank {
	ranks := make([]*rank, len(pods))
	for i, p := range pods {
		ranks[i] = rankOf(p)
	}
	return ranks
}

func (p pod) deletionCost() int64 {
	cost, _ := strconv.ParseInt(annotation(p.Unstructured, "controller.kubernetes.io/pod-deletion-cost"), 10, 32)
	return cost
}

// victims returns the n Pods that are missed least, in the order of kube-controller-manager: not assigned, pending, not ready, of lower deletion cost, on
// a node with more of the related Pods, ready for a shorter time, restarted more often, younger. Times are compared by their order of magnitude.
func victims(active []*rank, onNode map[string]int, n int, now time.Time) []*rank {
	if n >= len(active) {
		return active
	}
	return first(active, n, func(a, b *rank) int {
		return cmp.Or(
			cmp.Compare(truth(a.node != ""), truth(b.node != "")),
			cmp.Compare(a.phase, b.phase),
			cmp.Compare(a.ready, b.ready),
			cmp.Compare(a.cost, b.cost),
			cmp.Compare(onNode[b.node], onNode[a.node]),
			byMagnitude(a, b, now, a.since, b.since),
			cmp.Compare(b.restarts, a.restarts),
			byMagnitude(a, b, now, a.created, b.created),
			cmp.Compare(a.uid, b.uid),
		)
	})
}

// first returns the n smallest of a list, in their order. Most of the time n is small and the list long.
func first[T any](all []T, n int, compare func(a, b T) int) []T {
	least := make([]T, 0, n+1)
	for _, v := range all {
		if len(least) == n && compare(v, least[n-1]) >= 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(least, v, compare)
		least = slices.Insert(least, at, v)
		least = least[:min(len(least), n)]
	}
	return least
}

// byMagnitude puts the Pod whose time is more recent, in powers of two, first. Pods of the same magnitude are chosen by uid, that is at random.
func byMagnitude(a, b *rank, now, ta, tb time.Time) int {
	if ta.IsZero() || tb.IsZero() || ta.Equal(tb) {
		return 0
	}
	return cmp.Or(cmp.Compare(magnitude(now.Sub(ta)), magnitude(now.Sub(tb))), cmp.Compare(a.uid, b.uid))
}

func magnitude(d time.Duration) (n int) {
	for ; d > 0; d >>= 1 {
		n++
	}
	return n
}
