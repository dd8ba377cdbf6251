package pods

import (
	"cmp"
	"math/bits"
	"slices"
	"strconv"
	"time"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
)

// A Candidate is a surplus Pod that can be deleted, with the values to compare, which are read
// once.
type Candidate struct {
	Pod          Pod
	uid, node    string
	phase        int // in the order of phaseOrder
	unready      bool
	deletionCost int64
	readySince   time.Time // zero if it is not ready, or does not say since when
	restarts     [2]int64  // of containers, of sidecars
	created      time.Time
	rank         int // how many of the related Pods its Node has
}

// phaseOrder is the order in which phases are deleted.
var phaseOrder = map[string]int{"Pending": 0, "Unknown": 1, "Running": 2}

// UID returns the uid of the Pod.
func (c *Candidate) UID() string { return c.uid }

// CandidateOf reads a Pod.
func CandidateOf(p Pod) *Candidate {
	c := &Candidate{
		Pod: p, uid: string(p.GetUID()), node: p.NodeName(), phase: phaseOrder[p.Phase()], unready: !p.IsReady(),
		deletionCost: p.deletionCost(), restarts: p.restarts(),
	}
	c.readySince, _ = p.readySince()
	c.created, _ = fields.Time(p.Object, "metadata", "creationTimestamp")
	return c
}

// Candidates reads Pods.
func Candidates(pods []Pod) []*Candidate {
	found := make([]*Candidate, len(pods))
	for i, p := range pods {
		found[i] = CandidateOf(p)
	}
	return found
}

func (p Pod) deletionCost() int64 {
	cost, _ := strconv.ParseInt(fields.Annotation(p.Unstructured, "controller.kubernetes.io/pod-deletion-cost"), 10, 32)
	return cost
}

// restarts returns how often the container was restarted that was restarted most, and the same of
// sidecars.
func (p Pod) restarts() (most [2]int64) {
	for _, c := range fields.Maps(p.Object, "status", "containerStatuses") {
		most[0] = max(most[0], fields.Int64(c, 0, "restartCount"))
	}
	for _, c := range fields.Maps(p.Object, "status", "initContainerStatuses") {
		if p.isSidecar(fields.String(c, "name")) {
			most[1] = max(most[1], fields.Int64(c, 0, "restartCount"))
		}
	}
	return most
}

// isSidecar reports whether an init container continues to run.
func (p Pod) isSidecar(name string) bool {
	return slices.ContainsFunc(fields.Maps(p.Object, "spec", "initContainers"), func(c map[string]any) bool {
		return fields.String(c, "name") == name && fields.String(c, "restartPolicy") == "Always"
	})
}

// ToDelete returns the n Pods that a controller deletes first, in the order of
// kube-controller-manager (ActivePodsWithRanks). First are Pods without a Node, then pending Pods,
// Pods that are not ready, Pods of lower deletion cost, Pods on a Node with more of the related
// Pods, Pods that are ready for a shorter time, Pods that restarted more often, and younger Pods.
// It compares times by their order of magnitude. onNode is how many of the related Pods each Node
// has.
func ToDelete(candidates []*Candidate, onNode map[string]int, n int, now time.Time) []*Candidate {
	if n >= len(candidates) {
		return slices.Clone(candidates)
	}
	for _, c := range candidates {
		c.rank = onNode[c.node]
	}
	return smallest(candidates, n, func(a, b *Candidate) int {
		if order := byUsefulness(a, b); order != 0 {
			return order
		}
		return cmp.Or(
			byMagnitude(a, b, now, a.readySince, b.readySince),
			slices.Compare(b.restarts[:], a.restarts[:]),
			byMagnitude(a, b, now, a.created, b.created),
			byUID(a, b),
		)
	})
}

// byUsefulness compares the values that do not depend on the time. It is called for each candidate
// each time that a Pod is deleted.
func byUsefulness(a, b *Candidate) int {
	switch {
	case (a.node == "") != (b.node == ""):
		return trueFirst(a.node == "", b.node == "")
	case a.phase != b.phase:
		return a.phase - b.phase
	case a.unready != b.unready:
		return trueFirst(a.unready, b.unready)
	case a.deletionCost != b.deletionCost:
		return cmp.Compare(a.deletionCost, b.deletionCost)
	}
	return b.rank - a.rank
}

// smallest returns the n smallest elements in their order. It is made for a small n and many
// elements.
func smallest[T any](all []T, n int, compare func(a, b T) int) []T {
	found := make([]T, 0, n+1)
	for _, v := range all {
		if len(found) == n && compare(v, found[n-1]) >= 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(found, v, compare)
		found = slices.Insert(found, at, v)
		found = found[:min(len(found), n)]
	}
	return found
}

// byMagnitude puts the Pod whose time is more recent, in powers of two, first. Pods of the same
// magnitude are ordered by uid, which is random.
func byMagnitude(a, b *Candidate, now, ta, tb time.Time) int {
	if ta.IsZero() || tb.IsZero() || ta.Equal(tb) {
		return 0
	}
	return cmp.Or(cmp.Compare(magnitude(now.Sub(ta)), magnitude(now.Sub(tb))), byUID(a, b))
}

func byUID(a, b *Candidate) int { return cmp.Compare(a.uid, b.uid) }

// magnitude returns the number of binary digits of a duration, 0 if it is negative.
func magnitude(d time.Duration) int { return bits.Len64(uint64(max(d, 0))) }

func trueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}
