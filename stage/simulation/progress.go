package simulation

import (
	"time"

	"k8s.io/apimachinery/pkg/watch"
)

// Progress describes how far a run is.
type Progress struct {
	// Now is the virtual time.
	Now time.Time
	// End is the latest time at which the current Advance or Settle ends; Now if there is none.
	End time.Time
	// Objects is the number of objects of the kinds that the simulation observes: those of its
	// Stages, its controllers and the functions of On.
	Objects int
	// Events is the number of their watch events since the start.
	Events uint64
	// Done is the number of functions called, transitions played and keys reconciled since the
	// start.
	Done uint64
}

// Progress returns how far the run is. Writes after the last Step are not counted yet.
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

// countDone counts one more thing that was done, and calls Options.Progress.
func (s *Simulation) countDone() {
	s.progress.Done++
	if s.options.Progress != nil {
		s.options.Progress(s.Progress())
	}
}

// startRun records the end of a run until done is called. The end may be later than what a
// time.Time can hold.
func (s *Simulation) startRun(end time.Time) (done func()) {
	s.progress.End = end
	return func() { s.progress.End = time.Time{} }
}
