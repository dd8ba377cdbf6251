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

// add puts a task into the queue, or forward if it stands there for later.
func (q *queue) add(t *task, at time.Time) {
	if t.index > 0 && !at.Before(t.at) {
		return
	}
	q.seq++
	t.at, t.seq = at, q.seq
	if t.index > 0 {
		heap.Fix(q, t.index-1)
		return
	}
	heap.Push(q, t)
}

func (q *queue) remove(t *task) {
	if t.index > 0 {
		heap.Remove(q, t.index-1)
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
	q.items[i].index, q.items[j].index = i+1, j+1
}

func (q *queue) Push(x any) {
	q.items = append(q.items, x.(*task))
	x.(*task).index = len(q.items)
}

func (q *queue) Pop() any {
	last := len(q.items) - 1
	t := q.items[last]
	q.items[last] = nil
	q.items = q.items[:last]
	t.index = 0
	return t
}
