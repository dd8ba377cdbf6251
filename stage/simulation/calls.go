package simulation

import (
	"context"
	"time"
)

// A call is a function of the user that is to be called at a time.
type call struct {
	at  time.Time
	seq uint64
	do  func(context.Context) error
}

// calls is a heap.Interface: the earliest first, and of equal times the one that was added first.
type calls struct {
	items []call
	count uint64
}

func (c *calls) next() uint64 {
	c.count++
	return c.count
}

func (c *calls) Len() int { return len(c.items) }

func (c *calls) Less(i, j int) bool {
	a, b := c.items[i], c.items[j]
	if !a.at.Equal(b.at) {
		return a.at.Before(b.at)
	}
	return a.seq < b.seq
}

func (c *calls) Swap(i, j int) { c.items[i], c.items[j] = c.items[j], c.items[i] }
func (c *calls) Push(x any)    { c.items = append(c.items, x.(call)) }

func (c *calls) Pop() any {
	last := len(c.items) - 1
	x := c.items[last]
	c.items[last] = call{}
	c.items = c.items[:last]
	return x
}
