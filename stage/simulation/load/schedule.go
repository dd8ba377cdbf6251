package load

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// A Clock calls functions at their time. A *simulation.Simulation is one.
type Clock interface {
	Now() time.Time
	At(t time.Time, do func(context.Context) error)
}

// Play has a function called for each arrival, at its time counted from now on, with its place in the list. Arrivals at the same time come
// in the order of the list. Only one of them waits at the clock at a time, so that there may be very many.
func Schedule(c Clock, arrivals []time.Duration, arrive func(ctx context.Context, n int) error) {
	p := &schedule{clock: c, start: c.Now(), arrivals: arrivals, arrive: arrive, order: make([]int, len(arrivals))}
	for n := range p.order {
		p.order[n] = n
	}
	slices.SortStableFunc(p.order, func(a, b int) int { return cmp.Compare(arrivals[a], arrivals[b]) })
	p.wait()
}

// A player knows the arrivals that are to come.
type schedule struct {
	clock    Clock
	start    time.Time
	arrivals []time.Duration
	arrive   func(context.Context, int) error
	order    []int // of those to come
}

func (p *schedule) wait() {
	if len(p.order) > 0 {
		p.clock.At(p.start.Add(p.arrivals[p.order[0]]), p.next)
	}
}

// next lets one arrive. The one after it waits even if that fails, so that a run that is continued goes on.
func (p *schedule) next(ctx context.Context) error {
	n := p.order[0]
	p.order = p.order[1:]
	p.wait()
	return p.arrive(ctx, n)
}
