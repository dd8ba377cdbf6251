package scheduling

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// prioritySort puts Pods of higher priority first. Pods of the same priority are in the order in
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
	errors    int      // how often it was tried without Nodes since one was found
	changes   uint64   // how many changes of the cluster it was tried with
	again     bool     // it is tried again without a change
	makesRoom bool     // its last try deleted other Pods
	gated     bool     // something changed while it made room: it is tried again only when a Pod leaves
}

// The backoff, and the time after which a Pod is tried again in any case, are those of
// kube-scheduler.
const (
	initialBackoff = time.Second
	maxBackoff     = 10 * time.Second
	flushAfter     = 5 * time.Minute
	flushInterval  = 30 * time.Second
)

// backoffEnds is the time until which Pods with fewer tries come first.
func (p *QueuedPodInfo) backoffEnds() time.Time {
	attempts := p.Attempts
	if p.errors > 0 {
		attempts = p.errors
	}
	if attempts == 0 {
		return time.Time{}
	}
	backoff := initialBackoff
	for i := 1; i < attempts && backoff < maxBackoff; i++ {
		backoff *= 2
	}
	return p.Timestamp.Add(min(backoff, maxBackoff)).Truncate(time.Second)
}

// dueAt is when a Pod that was put aside is tried again in any case. That is more than 5 minutes
// later, at a whole or a half minute. If the cluster had no Node, it is when the backoff is over.
func (p *QueuedPodInfo) dueAt() time.Time {
	if len(p.rejecters) == 0 {
		return p.backoffEnds().Add(time.Second)
	}
	return p.Timestamp.Add(flushAfter).Truncate(flushInterval).Add(flushInterval)
}

// catchUp counts attempts that were not made, because they would have come to the same.
func (p *QueuedPodInfo) catchUp(now time.Time) {
	for at := p.dueAt(); !p.gated && at.Before(now); at = p.dueAt() {
		p.Timestamp = at
		p.count()
	}
}

// count counts an attempt.
func (p *QueuedPodInfo) count() {
	if len(p.rejecters) > 0 {
		p.Attempts++
		p.errors = 0
	} else {
		p.errors++
	}
}

// A queue is the scheduling queue, with the three parts of kube-scheduler's queue. The Pods in
// active are tried next. The Pods in backoff failed a short time ago, and are tried if active is
// empty. For the Pods in waiting, nothing has changed since the last try. All Pods are in pods.
//
// No time passes while Pods are tried, so that active is soon empty: how long a backoff is decides
// about the order only. Pods that were tried without Nodes wait in any case until it is over.
type queue struct {
	sort    QueueSortPlugin
	hints   map[string]EnqueueExtensions
	pods    map[types.NamespacedName]*QueuedPodInfo
	active  []*QueuedPodInfo // in the order of sort
	backoff []*QueuedPodInfo // in the order of the ends of their backoffs
	waiting map[types.NamespacedName]*QueuedPodInfo
	seq     uint64
	changes uint64 // how many changes of the cluster there were
	trying  *QueuedPodInfo
	missed  []ClusterEvent // since trying began
}

func newQueue(p Profile) queue {
	q := queue{
		sort: append(pluginsOf[QueueSortPlugin](p), prioritySort{})[0], hints: map[string]EnqueueExtensions{"Priority": priorityHint{}},
		pods: map[types.NamespacedName]*QueuedPodInfo{}, waiting: map[types.NamespacedName]*QueuedPodInfo{},
	}
	for _, plugin := range pluginsOf[EnqueueExtensions](p) {
		q.hints[plugin.Name()] = plugin
	}
	return q
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

func (q *queue) compareBackoff(a, b *QueuedPodInfo) int {
	return cmp.Or(a.backoffEnds().Compare(b.backoffEnds()), q.compareActive(a, b))
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

// add queues a Pod that has waited for that since a time.
func (q *queue) add(p *PodInfo, since time.Time) {
	q.seq++
	queued := &QueuedPodInfo{PodInfo: p, Timestamp: since, seq: q.seq}
	q.pods[p.Name()] = queued
	q.active = insert(q.active, queued, q.compareActive)
}

func (q *queue) remove(name types.NamespacedName) {
	p := q.pods[name]
	delete(q.pods, name)
	delete(q.waiting, name)
	q.active, q.backoff = takeOut(q.active, p), takeOut(q.backoff, p)
}

// pop returns the next Pod to try now, or nil.
func (q *queue) pop() *QueuedPodInfo {
	q.trying, q.missed = nil, nil
	switch {
	case len(q.active) > 0:
		q.trying = q.active[0]
	case len(q.backoff) > 0:
		q.trying = q.backoff[0]
	}
	return q.trying
}

// reject puts the Pod that was tried aside, until a change that can matter to the plugins that
// rejected it. Such a change can already have happened. A Pod whose victims are being deleted is
// not tried meanwhile, and changes until then are forgotten.
func (q *queue) reject(p *QueuedPodInfo, rejecters []string, now time.Time) {
	q.active, q.backoff = takeOut(q.active, p), takeOut(q.backoff, p)
	q.seq++
	p.seq, p.Timestamp, p.rejecters, p.changes, p.again = q.seq, now, rejecters, q.changes, false
	p.count()
	q.waiting[p.Name()] = p
	switch {
	case len(rejecters) == 0 || !slices.ContainsFunc(q.missed, func(e ClusterEvent) bool { return q.mayHelp(p, e) }):
	case p.makesRoom:
		p.gated = true
	default:
		q.move(p, now)
	}
}

// move schedules another try of a Pod that was put aside.
func (q *queue) move(p *QueuedPodInfo, now time.Time) {
	delete(q.waiting, p.Name())
	p.gated = false
	if p.backoffEnds().Before(now.Truncate(time.Second)) {
		q.active = insert(q.active, p, q.compareActive)
	} else {
		q.backoff = insert(q.backoff, p, q.compareBackoff)
	}
}

// changed moves the Pods to which a change of the cluster can matter. If another Pod gives up its
// nominated Node, this does not matter to Pods of higher priority.
func (q *queue) changed(e ClusterEvent, now time.Time) {
	if q.trying != nil {
		q.missed = append(q.missed, e)
	}
	var ready []*QueuedPodInfo
	for _, p := range q.waiting {
		if q.unchanged(p) {
			p.catchUp(now)
		}
		switch {
		case len(p.rejecters) == 0 || p.gated && !e.podLeft() || e.nominated && p.Priority > e.OldPod.Priority || !q.mayHelp(p, e):
		case e.nominated && p.makesRoom && e.OldPod.Name() == p.Name() && nominatedNode(e.New) != "":
			p.gated = true // it has others deleted elsewhere now
		default:
			ready = append(ready, p)
		}
	}
	q.changes++
	slices.SortFunc(ready, func(a, b *QueuedPodInfo) int { return cmp.Compare(a.seq, b.seq) })
	for _, p := range ready {
		q.move(p, now)
	}
}

// updated takes in that a Pod was changed, which may let it through.
func (q *queue) updated(p *QueuedPodInfo, e ClusterEvent, now time.Time) {
	if q.waiting[p.Name()] == nil {
		return
	}
	if p.changes == q.changes {
		p.catchUp(now)
		p.changes--
	}
	if len(p.rejecters) > 0 && q.mayHelp(p, e) {
		q.move(p, now)
	}
}

// mayHelp asks the plugins that were against a Pod whether a change may let it through.
func (q *queue) mayHelp(p *QueuedPodInfo, e ClusterEvent) bool {
	return slices.ContainsFunc(p.rejecters, func(name string) bool {
		plugin := q.hints[name]
		return plugin == nil || plugin.QueueingHint(p.PodInfo, e)
	})
}

// unchanged reports whether trying a Pod would come to the same as the last time.
func (q *queue) unchanged(p *QueuedPodInfo) bool { return p.changes == q.changes && !p.again }

// flush moves the Pods whose time has come: Pods that were put aside 5 minutes ago, and Pods that
// were tried without Nodes. It leaves Pods alone if nothing has changed since they were tried,
// because the result would be the same.
func (q *queue) flush(now time.Time) {
	var due []*QueuedPodInfo
	worth := false
	for _, p := range q.waiting {
		if q.unchanged(p) {
			p.catchUp(now)
		}
		if !p.gated && !p.dueAt().After(now) {
			due = append(due, p)
			worth = worth || !q.unchanged(p)
		}
	}
	for _, p := range due {
		if worth {
			q.move(p, now)
		}
	}
}

// nextFlush is when there will be something to flush, zero if never.
func (q *queue) nextFlush() (next time.Time) {
	for _, p := range q.waiting {
		if at := p.dueAt(); !p.gated && !q.unchanged(p) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next
}
