package kube

import (
	"container/list"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

const (
	seriesWindow    = 6 * time.Minute // without an occurrence: the next one is a new Event
	maxRecentEvents = 4096            // Events whose further occurrences can be counted
)

// recentEvents are the Events that were recorded last, at most maxRecentEvents. The Event without
// an occurrence for the longest time is dropped first.
type recentEvents struct {
	mu     sync.Mutex
	known  map[eventKey]*list.Element // of *countedEvent
	recent *list.List                 // the most recent first
}

// A countedEvent is an Event and how often it was seen.
type countedEvent struct {
	key    eventKey
	event  types.NamespacedName // where it is recorded
	last   types.NamespacedName // the name under which the last occurrence would be recorded as a new Event
	seen   time.Time
	count  int64
	stored bool // whether the server knows of the last occurrence
}

func newRecentEvents() *recentEvents {
	return &recentEvents{known: map[eventKey]*list.Element{}, recent: list.New()}
}

// next returns the Event that an occurrence is counted on, and the number of the occurrence. If
// that is 1, the Event has to be created. It is 0 for an occurrence that was recorded before, which
// has the same name: its request is sent again because the answer was lost.
func (s *recentEvents) next(e occurrence) (types.NamespacedName, int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.eventOf(e)
	switch {
	case k.last == e.event && k.stored:
		return k.event, 0
	case k.last == e.event:
	case k.count == 1 && !k.stored, e.seen.Sub(k.seen) > seriesWindow:
		k.begin(e)
	default:
		k.last, k.seen, k.stored = e.event, e.seen, false
		k.count++
	}
	return k.event, k.count
}

// eventOf returns the Event that an occurrence is counted on. A new one may replace the oldest.
func (s *recentEvents) eventOf(e occurrence) *countedEvent {
	if at := s.known[e.eventKey]; at != nil {
		s.recent.MoveToFront(at)
		return at.Value.(*countedEvent)
	}
	if s.recent.Len() >= maxRecentEvents {
		oldest := s.recent.Remove(s.recent.Back()).(*countedEvent)
		delete(s.known, oldest.key)
	}
	k := &countedEvent{key: e.eventKey}
	k.begin(e)
	s.known[e.eventKey] = s.recent.PushFront(k)
	return k
}

// begin makes an occurrence the first of its Event.
func (k *countedEvent) begin(e occurrence) {
	k.event, k.last, k.seen, k.count, k.stored = e.event, e.event, e.seen, 1, false
}

// restart makes an occurrence the first, because the server no longer has the Event that counts it.
func (s *recentEvents) restart(e occurrence) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.eventOf(e).begin(e)
}

// settle records how a request ended, and returns its error.
func (s *recentEvents) settle(e occurrence, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.eventOf(e); k.last == e.event {
		k.stored = err == nil || apierrors.IsAlreadyExists(err)
	}
	return err
}
