package timing

import "time"

// A View is what a watcher has seen of what happens: each event reaches it after a delay, in order.
// Its position can be set: Pause keeps it where it is, Deliver moves it on by some events, Resume
// lets it catch up at once. It must not be used from several goroutines at once.
type View[E any] struct {
	delay  time.Duration
	events []late[E]
	paused bool
	allow  int // events that are due although the view is paused, or their delay is not over
}

// A late event is one that happened and was not seen yet.
type late[E any] struct {
	event    E
	happened time.Time
	at       time.Time // when it is seen
}

// NewView returns a view that has seen nothing.
func NewView[E any](delay time.Duration) *View[E] { return &View[E]{delay: delay} }

// Add adds an event that happens now.
func (v *View[E]) Add(e E, now time.Time) {
	v.events = append(v.events, late[E]{e, now, now.Add(v.delay)})
}

// Next returns when the next event is seen. It is false if there is none, or if the view is paused.
func (v *View[E]) Next() (time.Time, bool) {
	switch {
	case len(v.events) == 0:
		return time.Time{}, false
	case v.allow > 0:
		return v.events[0].happened, true
	}
	return v.events[0].at, !v.paused
}

// Take returns the next event that is seen by now.
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

// Behind returns how many events have happened and were not seen yet.
func (v *View[E]) Behind() int { return len(v.events) }

// SetDelay sets after which time the events that follow are seen. None is seen before an earlier
// one.
func (v *View[E]) SetDelay(d time.Duration) { v.delay = d }

// Pause has the view see nothing more.
func (v *View[E]) Pause() { v.paused, v.allow = true, 0 }

// Resume ends a pause. What is overdue is seen at once.
func (v *View[E]) Resume() { v.paused = false }

// Deliver has the view see the next n events at once.
func (v *View[E]) Deliver(n int) { v.allow = min(v.allow+max(n, 0), len(v.events)) }
