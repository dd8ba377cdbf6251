package scheduling

import (
	"cmp"
	"container/heap"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
)

// bindings are the assumed Pods. They are looked at when they, or one of their claims, change, and when
// their time has come: a look at all of them for each Pod would take the square of their number.
type bindings struct {
	pods    map[types.NamespacedName]*assumedPod
	ofClaim map[types.NamespacedName][]types.NamespacedName // the Pods, by claim
	touched map[types.NamespacedName]bool                   // Pods that have changed, or whose claims have
	times   bindingTimes                                    // for each Pod its time, and perhaps times that no longer hold
}

func (b *bindings) add(a *assumedPod) {
	if b.pods == nil { // most clusters never have one
		b.pods, b.touched = map[types.NamespacedName]*assumedPod{}, map[types.NamespacedName]bool{}
		b.ofClaim = map[types.NamespacedName][]types.NamespacedName{}
	}
	b.pods[a.Name()], b.touched[a.Name()] = a, true
	for _, claim := range a.claimNames() {
		b.ofClaim[claim] = append(b.ofClaim[claim], a.Name())
	}
	heap.Push(&b.times, bindingTime{a.due(), a})
}

func (b *bindings) remove(a *assumedPod) {
	delete(b.pods, a.Name())
	delete(b.touched, a.Name())
	for _, claim := range a.claimNames() {
		if left := without(b.ofClaim[claim], a.Name()); len(left) > 0 {
			b.ofClaim[claim] = left
		} else {
			delete(b.ofClaim, claim)
		}
	}
}

// claimNames are the names of the claims of a Pod.
func (p *PodInfo) claimNames() (names []types.NamespacedName) {
	for _, claim := range p.claims {
		names = append(names, types.NamespacedName{Namespace: p.namespace, Name: claim.name})
	}
	return names
}

// changed takes in that a Pod has changed, if it is one of them.
func (b *bindings) changed(pod types.NamespacedName) {
	if b.pods[pod] != nil {
		b.touched[pod] = true
	}
}

// claimChanged takes in that a claim has changed.
func (b *bindings) claimChanged(claim types.NamespacedName) {
	for _, pod := range b.ofClaim[claim] {
		b.touched[pod] = true
	}
}

// look takes in the state of the claims of a Pod.
func (b *bindings) look(c control.Call, a *assumedPod) {
	before := a.due()
	if a.lookAt(c); !a.due().Equal(before) {
		heap.Push(&b.times, bindingTime{a.due(), a})
	}
}

// toLookAt returns the Pods to which something has happened, or whose time has come, in the order in
// which they entered the queue.
func (b *bindings) toLookAt(now time.Time) (pods []*assumedPod) {
	for at := b.next(); !at.IsZero() && !at.After(now); at = b.next() {
		b.touched[heap.Pop(&b.times).(bindingTime).pod.Name()] = true
	}
	for name := range b.touched {
		pods = append(pods, b.pods[name])
	}
	clear(b.touched)
	slices.SortFunc(pods, func(x, y *assumedPod) int { return cmp.Compare(x.seq, y.seq) })
	return pods
}

// next returns the earliest time of a Pod; zero without one.
func (b *bindings) next() time.Time {
	for len(b.times) > 0 {
		if first := b.times[0]; b.pods[first.pod.Name()] == first.pod && first.pod.due().Equal(first.at) {
			return first.at
		}
		heap.Pop(&b.times)
	}
	return time.Time{}
}

// A bindingTime is when the scheduler looks at an assumed Pod.
type bindingTime struct {
	at  time.Time
	pod *assumedPod
}

// bindingTimes is a heap by time.
type bindingTimes []bindingTime

func (t bindingTimes) Len() int           { return len(t) }
func (t bindingTimes) Less(i, j int) bool { return t[i].at.Before(t[j].at) }
func (t bindingTimes) Swap(i, j int)      { t[i], t[j] = t[j], t[i] }
func (t *bindingTimes) Push(x any)        { *t = append(*t, x.(bindingTime)) }

func (t *bindingTimes) Pop() any {
	last := len(*t) - 1
	x := (*t)[last]
	*t = (*t)[:last]
	return x
}
