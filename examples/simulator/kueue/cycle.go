package kueue

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// An entry is a Workload in a cycle of the scheduler.
type entry struct {
	*workload
	fits    bool
	borrows bool
	needs   int64 // how much quota is missing
	targets []*workload
}

// longestPause is the longest pause of the scheduler between cycles in which it admits nothing.
const longestPause = 100 * time.Millisecond

// wake makes the scheduler run a cycle, unless one is about to run.
func (r *run) wake() {
	if !r.awake {
		r.awake = true
		r.after(0, r.cycle)
	}
}

// cycle tries the head of each queue. Nothing changes while it decides. Then it writes the states
// of the Workloads that continue to wait, one after another, before the next cycle begins.
func (r *run) cycle() {
	entries := r.nominate()
	if len(entries) == 0 {
		r.awake, r.pause = false, 0
		return
	}
	r.Cycles++
	slices.SortStableFunc(entries, compareEntries)
	admitted, until := false, r.Now().Add(time.Duration(len(entries))*r.Head)
	var waiting []entry
	messages := map[*workload]string{}
	going := map[*workload]bool{}
	for _, e := range entries {
		if message := r.process(e, going); message != "" {
			messages[e.workload] = message
			waiting = append(waiting, e)
		} else {
			admitted = true
		}
	}
	for _, e := range waiting {
		e.push()
		if e.message != messages[e.workload] {
			e.message = messages[e.workload]
			until = later(until, r.patch())
		}
	}
	if r.pause = min(max(2*r.pause, time.Millisecond), longestPause); admitted {
		r.pause = 0
	}
	r.at(until.Add(r.pause), r.cycle)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// nominate takes the heads and decides which of them fit, each for itself.
func (r *run) nominate() (entries []entry) {
	for _, co := range r.cohorts {
		co.snapshot = co.usage
		for _, q := range co.queues {
			q.snapshot = q.usage
		}
	}
	for _, q := range r.queues {
		w := q.head()
		if w == nil {
			continue
		}
		e := entry{workload: w, fits: w.cpu <= q.available(), borrows: q.snapshot+w.cpu > q.nominal}
		if !e.fits {
			e.needs, e.targets = w.cpu-q.available(), targets(w)
		}
		entries = append(entries, e)
	}
	return entries
}

// compareEntries puts Workloads first that do not borrow, then orders by priority and age.
func compareEntries(a, b entry) int {
	if a.borrows != b.borrows {
		if b.borrows {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), a.order.Compare(b.order))
}

// process admits a Workload, or has others make room for it, or returns why it has to wait.
func (r *run) process(e entry, going map[*workload]bool) (message string) {
	q := e.queue
	switch {
	case e.fits && e.cpu <= q.available():
		q.reserve(e.cpu)
		r.admit(e.workload)
		return ""
	case e.fits:
		return "Workload no longer fits after processing another workload"
	case len(e.targets) == 0:
		e.park(r.Alike)
		if q.sticky == e.workload {
			q.sticky = nil
		}
		return fmt.Sprintf("insufficient unused quota, %d more needed", e.needs)
	case slices.ContainsFunc(e.targets, func(t *workload) bool { return going[t] }):
		return "Workload has overlapping preemption targets with another workload"
	}
	for _, t := range e.targets {
		going[t] = true
		t.queue.reserve(-t.cpu)
		if !t.evicted {
			r.evict(t)
		}
	}
	q.reserve(e.cpu)
	q.sticky = e.workload
	return fmt.Sprintf("insufficient unused quota, %d more needed. Pending the preemption of %d workload(s)", e.needs, len(e.targets))
}
