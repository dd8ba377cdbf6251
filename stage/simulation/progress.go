package simulation

import (
	"time"

	"k8s.io/apimachinery/pkg/watch"
)

// Progress is how far a run is.
type Progress struct {
	// Now is the virtual time.
	Now time.Time
	// End is when the Advance or Settle that runs will end at the latest; Now if none runs.
	End time.Time
	// Objects is how many there are of the kinds that the simulation looks at: those of its Stages, controllers and functions.
	Objects int
	// Events is how many watch events there were of them since the start.
	Events uint64
	// Done is how many things were done since the start: functions called, Stages played, keys reconciled.
	Done uint64
}

// Progress tells how far the run is. What was written since the last Step is not counted yet.
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

// did counts a thing that was done, and tells of it.
func (s *Simulation) countDone() {
	s.progress.Done++
	if s.options.Progress != nil {
		s.options.Progress(s.Progress())
	}
}

// running notes the end of a run for as long as it runs. The end may be past what Times can tell.
func (s *Simulation) startRun(end time.Time) (done func()) {
	s.progress.End = end
	return func() { s.progress.End = time.Time{} }
}
