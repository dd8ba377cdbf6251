package scheduling

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// prioritySort puts Pods of higher priority first, and those of the same priority in the order in
// which they entered the queue.
type prioritySort struct{}

func (prioritySort) Name() string { return "PrioritySort" }

func (prioritySort) Less(a, b *QueuedPodInfo) bool {
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), a.Timestamp.Compare(b.Timestamp), cmp.Compare(a.seq, b.seq)) < 0
}

// A QueuedPodInfo is a Pod that waits for a Node.
type QueuedPodInfo struct {
	*PodInfo
	// Timestamp is when the Pod entered the queue: when it was created or, later, when it was last
	// found to fit on no Node.
	Timestamp time.Time
	// Attempts is how often it was tried.
	Attempts int

	seq       uint64   // the order of entering the queue
	rejecters []string // the plugins that were against it when it was last tried
	changes   uint64   // how many changes of the cluster it was tried with
}

// Backoff and the time after which a Pod is tried again whatever happens are those of kube-scheduler.
const (
	initialBackoff = time.Second
	maxBackoff     = 10 * time.Second
	flushAfter     = 5 * time.Minute
	flushInterval  = 30 * time.Second
)

// backoffEnds is until when a Pod has to let those pass that were not tried so often.
func (p *QueuedPodInfo) backoffEnds() time.Time {
	if p.Attempts == 0 {
		return p.Timestamp
	}
	backoff := initialBackoff
	for i := 1; i < p.Attempts && backoff < maxBackoff; i++ {
		backoff *= 2
	}
	return p.Timestamp.Add(min(backoff, maxBackoff)).Truncate(time.Second)
}

// A queue is the scheduling queue, with kube-scheduler's three parts: active has the Pods that are
// tried next, backoff those that failed a short time ago, which are tried if active is empty, and
// unschedulable those for which nothing has changed since they were last tried. All Pods are in pods.
type queue struct {
	sort    QueueSortPlugin
	pods    map[types.NamespacedName]*QueuedPodInfo
	active  []*QueuedPodInfo // in the order of sort
	backoff []*QueuedPodInfo // in the order of the ends of their backoffs
	waiting map[types.NamespacedName]*QueuedPodInfo
	seq     uint64
	changes uint64    // how many changes of the cluster there were
	started time.Time // from when the intervals of the flush count
}

func newQueue(sort QueueSortPlugin) queue {
	return queue{sort: sort, pods: map[types.NamespacedName]*QueuedPodInfo{}, waiting: map[types.NamespacedName]*QueuedPodInfo{}}
}

func (q *queue) compareActive(a, b *QueuedPodInfo) int {
	switch {
	case q.sort.Less(a, b):
		return -1
	case q.sort.Less(b, a):
		return 1
	}
	return cmp.Compare(a.seq, b.seq)
}

func compareBackoff(a, b *QueuedPodInfo) int {
	return cmp.Or(a.backoffEnds().Compare(b.backoffEnds()), cmp.Compare(a.seq, b.seq))
}

func insert(list []*QueuedPodInfo, p *QueuedPodInfo, compare func(a, b *QueuedPodInfo) int) []*QueuedPodInfo {
	at, _ := slices.BinarySearchFunc(list, p, compare)
	return slices.Insert(list, at, p)
}

func takeOut(list []*QueuedPodInfo, p *QueuedPodInfo) []*QueuedPodInfo {
	if len(list) > 0 && list[0] == p {
		return list[1:] // mostly, and without moving the many that may follow
	}
	return slices.DeleteFunc(list, func(other *QueuedPodInfo) bool { return other == p })
}

func (q *queue) add(p *PodInfo, now time.Time) {
	q.seq++
	queued := &QueuedPodInfo{PodInfo: p, Timestamp: now, seq: q.seq}
	q.pods[p.Name()] = queued
	q.active = insert(q.active, queued, q.compareActive)
}

func (q *queue) remove(name types.NamespacedName) {
	p := q.pods[name]
	delete(q.pods, name)
	delete(q.waiting, name)
	q.active, q.backoff = takeOut(q.active, p), takeOut(q.backoff, p)
}

// next returns the Pod to be tried now, nil if there is none.
func (q *queue) next(now time.Time) *QueuedPodInfo {
	for len(q.backoff) > 0 && !q.backoff[0].backoffEnds().After(now) {
		p := q.backoff[0]
		q.backoff = q.backoff[1:]
		q.active = insert(q.active, p, q.compareActive)
	}
	switch {
	case len(q.active) > 0:
		return q.active[0]
	case len(q.backoff) > 0:
		return q.backoff[0]
	}
	return nil
}

// reject puts the Pod that next returned aside, until something changes that may matter to the
// plugins that were against it.
func (q *queue) reject(p *QueuedPodInfo, rejecters []string, now time.Time) {
	q.active, q.backoff = takeOut(q.active, p), takeOut(q.backoff, p)
	q.seq++
	p.Attempts++
	p.seq, p.Timestamp, p.rejecters, p.changes = q.seq, now, rejecters, q.changes
	q.waiting[p.Name()] = p
}

// move has a Pod tried again that was put aside.
func (q *queue) move(p *QueuedPodInfo, now time.Time) {
	delete(q.waiting, p.Name())
	if p.backoffEnds().After(now) {
		q.backoff = insert(q.backoff, p, compareBackoff)
	} else {
		q.active = insert(q.active, p, q.compareActive)
	}
}

// changed moves the Pods to which a change of the cluster may matter.
func (q *queue) changed(ch reconcile.Change, now time.Time) (moved bool) {
	q.changes++
	var ready []*QueuedPodInfo
	for _, p := range q.waiting {
		if queueingHint(p, ch) {
			ready = append(ready, p)
		}
	}
	slices.SortFunc(ready, func(a, b *QueuedPodInfo) int { return cmp.Compare(a.seq, b.seq) })
	for _, p := range ready {
		q.move(p, now)
	}
	return len(ready) > 0
}

// flush moves the Pods that were put aside 5 minutes ago, and returns when the next ones will be.
// That happens each 30 seconds, as in kube-scheduler, but only to Pods since whose attempt something
// has changed: for the others it would come to the same.
func (q *queue) flush(now time.Time) (next time.Time) {
	if q.started.IsZero() {
		q.started = now
	}
	for _, p := range q.waiting {
		if p.changes == q.changes {
			continue
		}
		after := p.Timestamp.Add(flushAfter).Sub(q.started)
		at := q.started.Add(after.Truncate(flushInterval) + flushInterval)
		if !at.After(now) {
			q.move(p, now)
		} else if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	return next
}
