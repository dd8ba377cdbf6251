package load

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// A Clock calls functions at a time. A *simulation.Simulation is one.
type Clock interface {
	Now() time.Time
	At(t time.Time, do func(context.Context) error)
}

// Schedule calls a function for each arrival, with the index of the arrival, at its time counted
// from now. Arrivals at the same time come in the order of the list. Only the next arrival is
// registered with the Clock, so a schedule can have very many arrivals.
func Schedule(c Clock, arrivals []time.Duration, arrive func(ctx context.Context, n int) error) {
	p := &schedule{clock: c, start: c.Now(), arrivals: arrivals, arrive: arrive, order: make([]int, len(arrivals))}
	for n := range p.order {
		p.order[n] = n
	}
	slices.SortStableFunc(p.order, func(a, b int) int { return cmp.Compare(arrivals[a], arrivals[b]) })
	p.wait()
}

// A schedule holds the arrivals that are still to come.
type schedule struct {
	clock    Clock
	start    time.Time
	arrivals []time.Duration
	arrive   func(context.Context, int) error
	order    []int // indexes of the arrivals to come
}

// wait registers the next arrival.
func (p *schedule) wait() {
	if len(p.order) > 0 {
		p.clock.At(p.start.Add(p.arrivals[p.order[0]]), p.next)
	}
}

// next calls the function for one arrival. It registers the following arrival first, so that the
// schedule goes on if the function fails and the run is continued.
func (p *schedule) next(ctx context.Context) error {
	n := p.order[0]
	p.order = p.order[1:]
	p.wait()
	return p.arrive(ctx, n)
}
