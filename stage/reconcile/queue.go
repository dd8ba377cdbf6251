package reconcile

import (
	"container/heap"
	"time"
)

// A queue holds tasks by due time, and of equal times in the order in which they came. It is a
// heap.Interface.
type queue struct {
	items []*task
	seq   uint64
}

// advance puts a task into the queue, or forward if it stands there for later.
func (q *queue) advance(t *task, at time.Time) {
	if t.place > 0 && !at.Before(t.at) {
		return
	}
	q.seq++
	t.at, t.seq = at, q.seq
	if t.place > 0 {
		heap.Fix(q, t.place-1)
		return
	}
	heap.Push(q, t)
}

func (q *queue) remove(t *task) {
	if t.place > 0 {
		heap.Remove(q, t.place-1)
	}
}

func (q *queue) Len() int { return len(q.items) }

func (q *queue) Less(i, j int) bool {
	a, b := q.items[i], q.items[j]
	if !a.at.Equal(b.at) {
		return a.at.Before(b.at)
	}
	return a.seq < b.seq
}

func (q *queue) Swap(i, j int) {
	q.items[i], q.items[j] = q.items[j], q.items[i]
	q.items[i].place, q.items[j].place = i+1, j+1
}

func (q *queue) Push(x any) {
	q.items = append(q.items, x.(*task))
	x.(*task).place = len(q.items)
}

func (q *queue) Pop() any {
	last := len(q.items) - 1
	t := q.items[last]
	q.items[last] = nil
	q.items = q.items[:last]
	t.place = 0
	return t
}
