package simulation

import (
	"time"

	"k8s.io/apimachinery/pkg/watch"
)

// Progress describes the progress of a run.
type Progress struct {
	// Now is the virtual time.
	Now time.Time
	// End is the latest time at which the current Advance or Settle ends; Now outside of these
	// calls.
	End time.Time
	// Objects is the number of objects of the kinds that the simulation observes: the kinds of its
	// Stages, its controllers and the functions of On.
	Objects int
	// Events is the number of their watch events since the start.
	Events uint64
	// Done is the number of functions called, transitions played and keys reconciled since the
	// start.
	Done uint64
}

// Progress returns the progress of the run. It does not count writes after the last Step.
func (s *Simulation) Progress() Progress {
	p := s.progress
	p.Now = s.now
	if p.End.Before(p.Now) {
		p.End = p.Now
	}
	return p
}

func (p *Progress) countEvent(e watch.EventType) {
	p.Events++
	switch e {
	case watch.Added:
		p.Objects++
	case watch.Deleted:
		p.Objects--
	}
}

// countDone increments Done, and calls Options.Progress.
func (s *Simulation) countDone() {
	s.progress.Done++
	if s.options.Progress != nil {
		s.options.Progress(s.Progress())
	}
}

// startRun records the end of a run until done is called. The end can be too late for a time.Time.
func (s *Simulation) startRun(end time.Time) (done func()) {
	s.progress.End = end
	return func() { s.progress.End = time.Time{} }
}
