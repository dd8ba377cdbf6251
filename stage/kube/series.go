package kube

import (
	"container/list"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

const (
	window     = 6 * time.Minute // without an occurrence, after which the next one is an Event of its own
	remembered = 4096            // Events that more occurrences can be counted on
)

// series remembers the Events that were recorded lately, the least recent of which are forgotten first.
type series struct {
	mu     sync.Mutex
	known  map[sameness]*list.Element // of *streak
	recent *list.List                 // the most recent first
}

// A streak is an Event and how often it was seen.
type streak struct {
	same   sameness
	event  types.NamespacedName // where it is recorded
	last   types.NamespacedName // the name that the last occurrence was to be recorded under
	seen   time.Time
	count  int64
	stored bool // whether the server knows of the last occurrence
}

func newSeries() *series {
	return &series{known: map[sameness]*list.Element{}, recent: list.New()}
}

// next says which Event an occurrence is to be counted on, and the how manieth it is: the first is an Event to create. It is 0 for one that was
// recorded already: names tell occurrences apart, and one that comes again may be the repetition of a request whose answer was lost.
func (s *series) next(e occurrence) (types.NamespacedName, int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.streak(e)
	switch {
	case k.last == e.event && k.stored:
		return k.event, 0
	case k.last == e.event:
	case k.count == 1 && !k.stored, e.seen.Sub(k.seen) > window:
		k.begin(e)
	default:
		k.last, k.seen, k.stored = e.event, e.seen, false
		k.count++
	}
	return k.event, k.count
}

// streak returns that of an occurrence, and makes room for a new one.
func (s *series) streak(e occurrence) *streak {
	if at := s.known[e.sameness]; at != nil {
		s.recent.MoveToFront(at)
		return at.Value.(*streak)
	}
	if s.recent.Len() >= remembered {
		oldest := s.recent.Remove(s.recent.Back()).(*streak)
		delete(s.known, oldest.same)
	}
	k := &streak{same: e.sameness}
	k.begin(e)
	s.known[e.sameness] = s.recent.PushFront(k)
	return k
}

// begin makes an occurrence the first.
func (k *streak) begin(e occurrence) {
	k.event, k.last, k.seen, k.count, k.stored = e.event, e.event, e.seen, 1, false
}

// restart makes an occurrence the first, because the Event that it was to be counted on is gone.
func (s *series) restart(e occurrence) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streak(e).begin(e)
}

// settle takes note of how a request ended, and returns its error.
func (s *series) settle(e occurrence, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.streak(e); k.last == e.event {
		k.stored = err == nil || apierrors.IsAlreadyExists(err)
	}
	return err
}
