// Package timequeue orders elements by the time at which they are due.
//
// # Concurrency
//
// A Queue and its elements must not be used from several goroutines at once.
package timequeue

import "time"

// A Timer is what an element of a [Queue] embeds. The zero value is in no queue.
type Timer struct {
	at  time.Time
	seq uint64 // of its seat in the queue; 0 outside of a queue
}

// At returns the time at which the element is due, or was due if it is no longer in a queue.
func (t *Timer) At() time.Time { return t.at }

// Queued reports whether the element is in a queue.
func (t *Timer) Queued() bool { return t.seq != 0 }

func (t *Timer) self() *Timer { return t }

// Timed is a pointer to a struct that embeds a [Timer].
type Timed interface {
	comparable
	self() *Timer
}

// A Queue orders elements by time, and elements of equal times in the order in which they were set.
// Setting and popping cost O(log n), removing O(1). The zero value is empty.
//
// It is a heap of seats with four children per node. A seat is a time and a pointer to an element.
// The heap is never searched: an element that is set again or removed leaves a stale seat in the
// heap. So with a million elements an operation touches a few cache lines, and not one element at
// each level.
type Queue[T Timed] struct {
	seats []seat[T]
	stale int
	seq   uint64 // of the last seat that was taken
}

// A seat is valid as long as its seq equals the seq of its element.
type seat[T Timed] struct {
	seconds int64 // since 1970
	seq     uint64
	item    T
	nanos   int32
}

func (p *seat[T]) isStale() bool { return p.item.self().seq != p.seq }

func (p *seat[T]) before(q *seat[T]) bool {
	if p.seconds != q.seconds {
		return p.seconds < q.seconds
	}
	if p.nanos != q.nanos {
		return p.nanos < q.nanos
	}
	return p.seq < q.seq
}

// Len is the number of elements.
func (q *Queue[T]) Len() int { return len(q.seats) - q.stale }

// Set puts an element into the queue, or moves it to the new time.
func (q *Queue[T]) Set(item T, at time.Time) {
	q.Remove(item)
	q.seq++
	t := item.self()
	t.at, t.seq = at, q.seq
	q.seats = append(q.seats, seat[T]{at.Unix(), q.seq, item, int32(at.Nanosecond())})
	q.up(len(q.seats) - 1)
}

// Remove removes an element. It does nothing for an element that is not in the queue.
func (q *Queue[T]) Remove(item T) {
	t := item.self()
	if t.seq == 0 {
		return
	}
	t.seq = 0
	q.stale++
	q.tidy()
}

// Next returns the time of the first element.
func (q *Queue[T]) Next() (time.Time, bool) {
	for len(q.seats) > 0 && q.seats[0].isStale() {
		q.drop()
		q.stale--
	}
	if len(q.seats) == 0 {
		return time.Time{}, false
	}
	return q.seats[0].item.self().at, true
}

// First returns the first element, or false if the queue is empty.
func (q *Queue[T]) First() (item T, ok bool) {
	if _, ok := q.Next(); !ok {
		return item, false
	}
	return q.seats[0].item, true
}

// Pop removes and returns the first element if it is due.
func (q *Queue[T]) Pop(now time.Time) (item T, ok bool) {
	if at, ok := q.Next(); !ok || at.After(now) {
		return item, false
	}
	item = q.seats[0].item
	item.self().seq = 0
	q.drop()
	q.tidy()
	return item, true
}

// drop takes the first seat away.
func (q *Queue[T]) drop() {
	last := len(q.seats) - 1
	q.seats[0] = q.seats[last]
	q.seats[last] = seat[T]{}
	q.seats = q.seats[:last]
	q.down(0)
}

// tidy leaves out the stale seats when they are many.
func (q *Queue[T]) tidy() {
	if q.stale <= 64 || q.stale <= len(q.seats)/2 {
		return
	}
	kept := q.seats[:0]
	for _, p := range q.seats {
		if !p.isStale() {
			kept = append(kept, p)
		}
	}
	clear(q.seats[len(kept):])
	q.seats, q.stale = kept, 0
	for i := len(kept)/children + 1; i >= 0; i-- {
		q.down(i)
	}
}

// children is the number of children of a node: the children of i begin at children*i + 1.
const children = 4

func (q *Queue[T]) up(i int) {
	moved := q.seats[i]
	for i > 0 {
		parent := (i - 1) / children
		if !moved.before(&q.seats[parent]) {
			break
		}
		q.seats[i] = q.seats[parent]
		i = parent
	}
	q.seats[i] = moved
}

func (q *Queue[T]) down(i int) {
	if i >= len(q.seats) {
		return
	}
	moved := q.seats[i]
	for {
		first := q.first(i)
		if first < 0 || !q.seats[first].before(&moved) {
			break
		}
		q.seats[i] = q.seats[first]
		i = first
	}
	q.seats[i] = moved
}

// first is the child of a node that comes first; -1 if it has none.
func (q *Queue[T]) first(i int) int {
	begin := children*i + 1
	if begin >= len(q.seats) {
		return -1
	}
	best := begin
	for c := begin + 1; c < min(begin+children, len(q.seats)); c++ {
		if q.seats[c].before(&q.seats[best]) {
			best = c
		}
	}
	return best
}
