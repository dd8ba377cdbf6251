package explore

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"
)

// TimeOptions of [Graph.TimeTo]. The zero value is the default.
type TimeOptions struct {
	// From is the place of the State that the time is counted from. Default 0, the first start.
	From int
	// Samples is how many runs are drawn. 0: none if the time can be computed by convolution, else 100,000.
	Samples int
	// Seed decides what is drawn.
	Seed uint64
}

// Times are how long it takes to reach a [Target]. They are found in one of two ways.
//
// By convolution: the distributions of the delays are added up on a grid, each rounded to the nearest point, over all paths; what is left
// when all but 1e-9 of the runs have ended is dropped. All times are right to within Error: half a Grid for each delay on the way that is
// not a multiple of it.
//
// By samples, if delays of several objects race each other, or if loops go on for too long: Samples runs are drawn on the graph.
// Intervals have a confidence of 99%.
//
// Delays of more than a century are taken for one.
type Times struct {
	// Reach is the share of runs that ever get there. If Samples is 0 it is exact, but for Unknown.
	Reach float64
	// Unknown is the share of runs that leave what was explored, or are given up after 100,000 transitions or a century. They may get
	// there or not.
	Unknown float64
	// Min and Max bound the time of all runs that get there. Max is -1 if there is no bound. If several objects race they are the
	// extremes that were drawn.
	Min, Max time.Duration
	// Mean is that of the runs that get there.
	Mean time.Duration
	// Samples is how many runs were drawn; 0: convolution.
	Samples int
	// Grid and Error belong to convolution, and are 0 if there is none.
	Grid, Error time.Duration
	// TimeDependent reports that a State on the way is: all times are approximate.
	TimeDependent bool

	points []time.Duration // at which runs arrive, in ascending order
	shares []float64       // of the runs that have arrived by then; as many
}

// An Interval is a time and what bounds it.
type Interval struct{ Value, Low, High time.Duration }

// String prints `5.2s`, or `5.2s (5.1s to 5.3s)` if the bounds are more than a millisecond away.
func (i Interval) String() string {
	round := func(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
	if i.Value-i.Low <= time.Millisecond && i.High-i.Value <= time.Millisecond {
		return round(i.Value).String()
	}
	return fmt.Sprintf("%s (%s to %s)", round(i.Value), round(i.Low), round(i.High))
}

var errNoState = errors.New("explore: no such state")

// TimeTo computes how long Stages take from a State to the first one that meets the target. Actions are left out: to measure from one, set
// TimeOptions.From to where it leads. The error is that of a State which the graph does not have.
func (g *Graph) TimeTo(target Target, o TimeOptions) (*Times, error) {
	if o.From < 0 || o.From >= len(g.States) || o.Samples < 0 {
		return nil, fmt.Errorf("%w: %d", errNoState, o.From)
	}
	w := g.timingTo(target, o.From)
	t := &Times{Min: w.shortest(), Max: w.longest()}
	for _, id := range w.reachable {
		t.TimeDependent = t.TimeDependent || g.States[id].TimeDependent && !w.isTarget[id]
	}
	if o.Samples > 0 || w.concurrent || !w.convolve(t) {
		w.sample(t, cmp.Or(o.Samples, 100_000), o.Seed)
	}
	return t, nil
}

// By returns the share of all runs that have arrived by a time.
func (t *Times) By(d time.Duration) float64 {
	n := sort.Search(len(t.points), func(i int) bool { return t.points[i] > d })
	if n == 0 {
		return 0
	}
	return t.shares[n-1]
}

// Quantile returns the time by which a share of the runs that get there has arrived: 0.5 for the median. It is zero if none does.
func (t *Times) Quantile(share float64) Interval {
	if len(t.points) == 0 {
		return Interval{}
	}
	if t.Samples == 0 {
		return t.within(t.at(share*t.Reach), t.Error)
	}
	n := float64(len(t.points))
	spread := z99 * sqrt(share*(1-share)/n)
	rank := func(share float64) time.Duration {
		return t.points[min(max(int(share*n), 0), len(t.points)-1)]
	}
	return Interval{rank(share), rank(share - spread), rank(share + spread)}
}

// at is the first point at which a share of all runs has arrived.
func (t *Times) at(share float64) time.Duration {
	n, _ := slices.BinarySearch(t.shares, share-1e-9) // the runs that were dropped do not count
	return t.points[min(n, len(t.points)-1)]
}

// within puts bounds around a time.
func (t *Times) within(d, e time.Duration) Interval {
	clip := func(d time.Duration) time.Duration {
		if t.Max >= 0 {
			d = min(d, t.Max)
		}
		return max(d, t.Min)
	}
	return Interval{clip(d), clip(d - e), clip(d + e)}
}
