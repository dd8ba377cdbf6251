package kueue

import (
	"cmp"
	"slices"
	"time"
)

// A workload is one object of kind Workload.
type workload struct {
	*class
	created time.Time
	order   time.Time // its place among Workloads of equal priority: creation, or the last eviction
	message string    // of its condition QuotaReserved=False
	parked  bool      // as its class is, alone
	// while it has quota
	reserved time.Time
	seen     time.Time // by the runner; zero while the admission is not written yet
	evicted  bool
	done     bool
}

// A class is the Workloads of a queue that are scheduled alike: they are equal except for their
// names.
type class struct {
	*Template
	queue   *queue
	cpu     int64
	waiting []*workload // by order
	// parked says that one of them was tried without success, so that all of them wait until
	// something in the cohort changes (SchedulingEquivalenceHashing).
	parked bool
}

// A queue is a ClusterQueue.
type queue struct {
	cohort         *cohort
	nominal, limit int64 // limit is the most that it can use, including what it borrows
	usage          int64
	snapshot       int64 // its usage in the current cycle
	classes        []*class
	running        []*workload // with quota, in the order in which they got it
	sticky         *workload   // preempts others, and stays at the head
	used           int64       // ∫ usage dt in thousandths of a CPU × ms
	usedSince      time.Time
}

// A cohort shares its quota.
type cohort struct {
	queues   []*queue
	total    int64
	usage    int64
	snapshot int64
	flush    bool // its parked classes will be tried again
}

func (w *workload) before(other *workload) bool {
	if w.Priority != other.Priority {
		return w.Priority > other.Priority
	}
	return w.order.Before(other.order)
}

// push adds a workload that waits.
func (w *workload) push() {
	i, _ := slices.BinarySearchFunc(w.waiting, w, func(a, b *workload) int { return cmp.Or(a.order.Compare(b.order), -1) })
	w.waiting = slices.Insert(w.waiting, i, w)
}

// head removes and returns the next workload of a queue to try, or nil.
func (q *queue) head() *workload {
	var best *workload
	for _, c := range q.classes {
		if w := c.first(); w != nil && (best == nil || w.before(best)) {
			best = w
		}
	}
	if s := q.sticky; s != nil && slices.Contains(s.waiting, s) && !s.parked && !s.class.parked {
		best = s
	}
	if best != nil {
		i := slices.Index(best.waiting, best)
		best.waiting = slices.Delete(best.waiting, i, i+1)
	}
	return best
}

// first returns the first workload of a class that is not parked.
func (c *class) first() *workload {
	if c.parked {
		return nil
	}
	i := slices.IndexFunc(c.waiting, func(w *workload) bool { return !w.parked })
	if i < 0 {
		return nil
	}
	return c.waiting[i]
}

// park makes a workload wait until something changes: with all workloads of its class, or alone.
func (w *workload) park(alike bool) {
	if alike {
		w.class.parked = true
	} else {
		w.parked = true
	}
}

// unpark schedules another try of all Workloads of a queue.
func (q *queue) unpark() {
	for _, c := range q.classes {
		c.parked = false
		for _, w := range c.waiting {
			w.parked = false
		}
	}
}

// available is how much more a queue could use, by the snapshot.
func (q *queue) available() int64 {
	return min(q.limit-q.snapshot, q.cohort.total-q.cohort.snapshot)
}

func (q *queue) reserve(cpu int64) {
	q.snapshot += cpu
	q.cohort.snapshot += cpu
}

// use changes the usage.
func (q *queue) use(cpu int64, now time.Time) {
	q.used += q.usage * now.Sub(q.usedSince).Milliseconds()
	q.usedSince = now
	q.usage += cpu
	q.cohort.usage += cpu
}

// targets returns the workloads to preempt for a workload that does not fit, or nil if preemption
// does not help. It first tries workloads of queues that borrow, and workloads of lower priority in
// its own queue, so that the workload fits without borrowing. Otherwise it tries its own queue
// alone, even if the workload borrows.
func targets(w *workload) []*workload {
	q := w.queue
	var own, others []*workload
	for _, r := range q.running {
		if r.Priority < w.Priority {
			own = append(own, r)
		}
	}
	for _, o := range q.cohort.queues {
		if o != q && o.snapshot > o.nominal {
			others = append(others, o.running...)
		}
	}
	if found := minimal(w, append(slices.Clone(others), own...), q.nominal); found != nil || len(others) == 0 && len(own) == 0 {
		return found
	}
	return minimal(w, own, q.limit)
}

// minimal removes candidates until the workload fits and its queue uses at most limit. Then it puts
// back the candidates that need not be preempted.
func minimal(w *workload, candidates []*workload, limit int64) []*workload {
	slices.SortStableFunc(candidates, func(a, b *workload) int { return preferred(a, b, w.queue) })
	var gone []*workload
	fits := func() bool { return w.queue.snapshot+w.cpu <= limit && w.cpu <= w.queue.available() }
	for _, c := range candidates {
		if fits() {
			break
		}
		if c.queue == w.queue || c.queue.snapshot > c.queue.nominal {
			c.queue.reserve(-c.cpu)
			gone = append(gone, c)
		}
	}
	ok := fits()
	for i := len(gone) - 2; ok && i >= 0; i-- { // the last one has to go
		gone[i].queue.reserve(gone[i].cpu)
		if fits() {
			gone = slices.Delete(gone, i, i+1)
		} else {
			gone[i].queue.reserve(-gone[i].cpu)
		}
	}
	for _, c := range gone {
		c.queue.reserve(c.cpu)
	}
	if !ok {
		return nil
	}
	return gone
}

// preferred orders candidates: workloads that are preempted in any case, workloads of other queues,
// lower priority, the newest.
func preferred(a, b *workload, own *queue) int {
	first := func(yes bool) int {
		if yes {
			return 0
		}
		return 1
	}
	return cmp.Or(
		cmp.Compare(first(a.evicted), first(b.evicted)),
		cmp.Compare(first(a.queue != own), first(b.queue != own)),
		cmp.Compare(a.Priority, b.Priority),
		b.reserved.Compare(a.reserved),
	)
}
