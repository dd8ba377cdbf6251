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
	// From is the id of the State from which the time is counted. Default 0, the first start.
	From int
	// Samples is the number of random runs to simulate. With 0 no run is simulated if the time can
	// be computed by convolution; otherwise 100,000.
	Samples int
	// Seed decides the random runs.
	Seed uint64
}

// Times says how long objects take to reach a [Target]. Times are found in one of two ways.
//
// By convolution: the distributions of the delays are added on a grid, each rounded to the nearest
// point, over all paths. The last 1e-9 of the runs is dropped. All times are exact to within Error:
// half a Grid for each delay on the way that is not a multiple of it.
//
// By sampling, if delays of several objects run at the same time, or if loops take too long:
// Samples random runs are simulated on the graph. Intervals have a confidence of 99%.
//
// A delay of more than a century counts as a century.
type Times struct {
	// Reach is the share of the runs that reach the target. If Samples is 0 it is exact, except for
	// Unknown.
	Reach float64
	// Unknown is the share of the runs that leave the explored States, or that are ended after
	// 100,000 transitions or a century. It is unknown whether they reach the target.
	Unknown float64
	// Min and Max bound the time of all runs that reach the target. Max is -1 without a bound. If
	// delays of several objects run at the same time, they are the extremes of the samples.
	Min, Max time.Duration
	// Mean is the mean time of the runs that reach the target.
	Mean time.Duration
	// Samples is the number of simulated runs; 0 if the times were computed by convolution.
	Samples int
	// Grid and Error describe the convolution; they are 0 if the runs were sampled.
	Grid, Error time.Duration
	// TimeDependent reports that a State on the way is TimeDependent, so that all times are
	// approximate.
	TimeDependent bool

	points []time.Duration // at which runs arrive, in ascending order
	shares []float64       // shares[i] of the runs have arrived at points[i]
}

// An Interval is a time and its bounds.
type Interval struct{ Value, Low, High time.Duration }

// String prints `5.2s`, or `5.2s (5.1s to 5.3s)` if a bound is more than a millisecond away.
func (i Interval) String() string {
	round := func(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
	if i.Value-i.Low <= time.Millisecond && i.High-i.Value <= time.Millisecond {
		return round(i.Value).String()
	}
	return fmt.Sprintf("%s (%s to %s)", round(i.Value), round(i.Low), round(i.High))
}

var errNoState = errors.New("explore: no such state")

// TimeTo computes how long Stages take from a State to the first State that meets the target.
// Actions are left out: to measure the time after one, set TimeOptions.From to the State to which
// it leads. The error is about a State that the graph does not have.
func (g *Graph) TimeTo(target Target, o TimeOptions) (*Times, error) {
	if o.From < 0 || o.From >= len(g.States) || o.Samples < 0 {
		return nil, fmt.Errorf("%w: %d", errNoState, o.From)
	}
	w := g.timingTo(target, o.From)
	t := &Times{Min: w.shortest(), Max: w.longest()}
	for _, id := range w.reachable {
		t.TimeDependent = t.TimeDependent || g.States[id].TimeDependent && !w.isTarget[id]
	}
	if o.Samples > 0 || w.concurrent || w.hasDraws() || !w.convolve(t) {
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

// Quantile returns the time by which a share of the runs that reach the target has arrived: 0.5 for
// the median. It is zero if no run does.
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

// within returns an interval of d ± e, cut to Min and Max.
func (t *Times) within(d, e time.Duration) Interval {
	clip := func(d time.Duration) time.Duration {
		if t.Max >= 0 {
			d = min(d, t.Max)
		}
		return max(d, t.Min)
	}
	return Interval{clip(d), clip(d - e), clip(d + e)}
}
