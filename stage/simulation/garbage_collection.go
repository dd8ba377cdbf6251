package simulation

import "time"

// GarbageCollection says how long garbage collection takes: background and foreground deletion of
// dependents, and orphaning. The garbage collector of a kube-controller-manager without flags
// deletes 20 objects a second, which is Each: 50 ms. With the zero value garbage collection takes
// no time, but watchers see each step.
type GarbageCollection struct {
	Delay time.Duration // from a change to the step that it causes
	Each  time.Duration // between two steps; a step writes at most one object
}

// A collector does the steps of garbage collection when they are due.
type collector struct {
	GarbageCollection
	next time.Time // earliest time of the next step
}

// nextCollection returns when the next step of garbage collection is due.
func (s *Simulation) nextCollection() (time.Time, bool) {
	since, waits := s.cluster.Uncollected()
	at := since.Add(s.collector.Delay)
	if at.Before(s.collector.next) {
		at = s.collector.next
	}
	return at, waits
}

// collect does a step of garbage collection, if one is due now.
func (s *Simulation) collect() bool {
	if at, ok := s.nextCollection(); !ok || at.After(s.now) {
		return false
	}
	s.collector.next = s.now.Add(s.collector.Each)
	return s.cluster.Collect()
}
