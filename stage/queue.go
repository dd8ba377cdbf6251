package stage

import (
	"container/heap"
	"time"
)

// timer is what an element of a queue embeds.
type timer struct {
	at    time.Time
	seq   uint64 // of elements with equal times, the one that was set first comes first
	place int    // index in the queue plus 1; 0 if it is in none
}

func (t *timer) self() *timer { return t }

type timed interface{ self() *timer }

// A queue holds elements by time. Setting, removing and popping cost O(log n). The zero value is empty.
type queue[T timed] struct {
	items heapOf[T]
	seq   uint64
}

// set puts an element into the queue, or moves it there.
func (q *queue[T]) set(item T, at time.Time) {
	t := item.self()
	q.seq++
	t.at, t.seq = at, q.seq
	if t.place > 0 {
		heap.Fix(&q.items, t.place-1)
		return
	}
	heap.Push(&q.items, item)
}

// remove takes an element out. One that is not in the queue is left alone.
func (q *queue[T]) remove(item T) {
	if place := item.self().place; place > 0 {
		heap.Remove(&q.items, place-1)
	}
}

// next is the time of the first element.
func (q *queue[T]) next() (time.Time, bool) {
	if len(q.items) == 0 {
		return time.Time{}, false
	}
	return q.items[0].self().at, true
}

// pop takes the first element whose time has come.
func (q *queue[T]) pop(now time.Time) (item T, ok bool) {
	if at, ok := q.next(); !ok || at.After(now) {
		return item, false
	}
	return heap.Pop(&q.items).(T), true
}

// heapOf implements heap.Interface.
type heapOf[T timed] []T

func (h heapOf[T]) Len() int { return len(h) }

func (h heapOf[T]) Less(i, j int) bool {
	a, b := h[i].self(), h[j].self()
	if !a.at.Equal(b.at) {
		return a.at.Before(b.at)
	}
	return a.seq < b.seq
}

func (h heapOf[T]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].self().place, h[j].self().place = i+1, j+1
}

func (h *heapOf[T]) Push(x any) {
	*h = append(*h, x.(T))
	x.(T).self().place = len(*h)
}

func (h *heapOf[T]) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	(*h)[last] = *new(T)
	*h = (*h)[:last]
	x.self().place = 0
	return x
}
