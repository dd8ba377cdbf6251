package timing

import "time"

// A View is the position of one watcher in a sequence of events. Each event reaches the View after
// a delay, in order. Pause stops the View, Deliver moves it forward by some events, and Resume lets
// it catch up at once. A View must not be used from several goroutines at once.
type View[E any] struct {
	delay  time.Duration
	events []late[E]
	paused bool
	allow  int // the number of events that are due in spite of a pause or a delay
}

// A late event has happened, but was not seen yet.
type late[E any] struct {
	event    E
	happened time.Time
	at       time.Time // when it is seen
}

// NewView returns a view without events.
func NewView[E any](delay time.Duration) *View[E] { return &View[E]{delay: delay} }

// Add adds an event that happens now.
func (v *View[E]) Add(e E, now time.Time) {
	v.events = append(v.events, late[E]{e, now, now.Add(v.delay)})
}

// Next returns the time at which the next event is seen. It returns false without an event, or if
// the view is paused.
func (v *View[E]) Next() (time.Time, bool) {
	switch {
	case len(v.events) == 0:
		return time.Time{}, false
	case v.allow > 0:
		return v.events[0].happened, true
	}
	return v.events[0].at, !v.paused
}

// Take returns the next event that is seen at the time now, or false without one.
func (v *View[E]) Take(now time.Time) (e E, ok bool) {
	at, ok := v.Next()
	if !ok || at.After(now) {
		return e, false
	}
	e = v.events[0].event
	v.events[0] = late[E]{}
	v.events = v.events[1:]
	v.allow = max(0, v.allow-1)
	return e, true
}

// Behind returns the number of events that have happened, but were not seen yet.
func (v *View[E]) Behind() int { return len(v.events) }

// SetDelay sets the delay of later events. Events are still seen in order.
func (v *View[E]) SetDelay(d time.Duration) { v.delay = d }

// Pause stops the view: it sees no more events.
func (v *View[E]) Pause() { v.paused, v.allow = true, 0 }

// Resume ends a pause. Overdue events are seen at once.
func (v *View[E]) Resume() { v.paused = false }

// Deliver makes the view see the next n events at once.
func (v *View[E]) Deliver(n int) { v.allow = min(v.allow+max(n, 0), len(v.events)) }
