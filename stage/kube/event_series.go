package kube

import (
	"container/list"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

const (
	seriesWindow    = 6 * time.Minute // without an occurrence: the next one is a new Event
	maxRecentEvents = 4096            // Events whose further occurrences can be counted
	maxBooked       = 16              // occurrences of one Event whose answers are awaited
)

// recentEvents are the Events that were recorded last, at most maxRecentEvents. The Event without
// an occurrence for the longest time is dropped first.
type recentEvents struct {
	mu     sync.Mutex
	known  map[eventKey]*list.Element // of *countedEvent
	recent *list.List                 // the most recent first
}

// A countedEvent is what is known of the occurrences with one key.
type countedEvent struct {
	key    eventKey
	series *series
	last   types.NamespacedName // the name of the last occurrence that the server knows of
	booked []*booking           // the occurrences whose requests have no answer, the oldest first
}

// A series is an Event and how often it was seen.
type series struct {
	event   types.NamespacedName
	seen    time.Time
	count   int64 // of the occurrences booked on it
	written int64 // the highest count that the server knows of
}

// A booking is the number of an occurrence in a series. It is kept until a request is answered, so
// that the same occurrence is not counted twice, whatever happens in between.
type booking struct {
	name   types.NamespacedName
	series *series
	number int64
	sent   int64 // the count of the last request
}

func newRecentEvents() *recentEvents {
	return &recentEvents{known: map[eventKey]*list.Element{}, recent: list.New()}
}

// next returns the Event that an occurrence is counted on, and its count. If that is 1, the Event
// has to be created. It is 0 for an occurrence that was recorded before, which has the same name:
// its request is sent again because the answer was lost.
func (s *recentEvents) next(e occurrence) (types.NamespacedName, int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.eventOf(e)
	b := k.booking(e)
	if b == nil {
		if k.last == e.event {
			return k.last, 0
		}
		b = k.book(e)
	}
	switch {
	case b.number == 1:
		b.sent = 1
	case b.series.written >= b.number: // with the count of a later one
		k.settle(b)
		return b.series.event, 0
	default:
		b.sent = b.series.count
	}
	return b.series.event, b.sent
}

// eventOf returns what is known of an occurrence. A new one may replace the oldest.
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
	s.known[e.eventKey] = s.recent.PushFront(k)
	return k
}

// booking returns the booking of an occurrence; nil if it has none.
func (k *countedEvent) booking(e occurrence) *booking {
	for _, b := range k.booked {
		if b.name == e.event {
			return b
		}
	}
	return nil
}

// book counts an occurrence on the series, or begins one.
func (k *countedEvent) book(e occurrence) *booking {
	if k.series == nil || e.seen.Sub(k.series.seen) > seriesWindow {
		k.series = &series{event: e.event}
	}
	k.series.count++
	k.series.seen = e.seen
	b := &booking{name: e.event, series: k.series, number: k.series.count}
	if len(k.booked) >= maxBooked {
		k.booked = slices.Delete(k.booked, 0, 1)
	}
	k.booked = append(k.booked, b)
	return b
}

// settle ends a booking, because the server knows of the occurrence.
func (k *countedEvent) settle(b *booking) {
	k.last = b.name
	k.booked = slices.DeleteFunc(k.booked, func(other *booking) bool { return other == b })
}

// restart makes an occurrence the first, because the server no longer has the Event that counts it.
func (s *recentEvents) restart(e occurrence) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.eventOf(e)
	k.series = &series{event: e.event, seen: e.seen, count: 1}
	if b := k.booking(e); b != nil {
		b.series, b.number, b.sent = k.series, 1, 1
	}
}

// settle records how a request ended, and returns its error.
func (s *recentEvents) settle(e occurrence, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.eventOf(e)
	if b := k.booking(e); b != nil && (err == nil || apierrors.IsAlreadyExists(err)) {
		b.series.written = max(b.series.written, b.sent)
		k.settle(b)
	}
	return err
}
