package explore

import (
	"slices"
	"time"
)

const (
	negligible = 1e-9          // of all runs; a smaller remainder is dropped
	maxPoints  = 1 << 21       // on the grid
	maxWork    = 400 * 1 << 20 // additions of points before runs are sampled instead
)

// convolve computes the times exactly, except for rounding to the grid. It reports false if that
// takes too long.
func (w *timing) convolve(t *Times) bool {
	c := convolution{timing: w, grid: w.grid(t.Max), pending: make([]distribution, len(w.moves)), steps: make([]int, len(w.moves))}
	c.pending[w.from] = distribution{shares: []float64{1}}
	for c.remaining() > negligible {
		if !c.advance() {
			return false
		}
	}
	t.Grid, t.Error, t.Unknown = c.grid, time.Duration(c.worst)*c.grid/2, c.unknown
	var mean float64
	for i, share := range c.arrived.shares {
		if share > 0 {
			t.Reach += share
			at := time.Duration(c.arrived.first+i) * c.grid
			mean += share * float64(at)
			t.points, t.shares = append(t.points, at), append(t.shares, t.Reach)
		}
	}
	if t.Reach > 0 {
		t.Mean = t.within(time.Duration(mean/t.Reach), 0).Value
	}
	if 1-t.Reach < 2*negligible {
		t.Reach = 1
	}
	return true
}

// grid returns a distance of grid points that gives some ten thousand points up to the longest
// time: 1, 2 or 5 times a power of ten.
func (w *timing) grid(longest time.Duration) time.Duration {
	if longest == never {
		w.eachMove(func(_ int, m move) { longest = max(longest, 16*m.greatest()) })
	}
	finest := max(longest/(1<<15), time.Nanosecond)
	for g := time.Nanosecond; ; g *= 10 {
		for _, n := range []time.Duration{1, 2, 5} {
			if g*n >= finest {
				return g * n
			}
		}
	}
}

// A distribution is shares of runs at points of the grid.
type distribution struct {
	first  int
	shares []float64
}

func (m distribution) sum() (s float64) {
	for _, x := range m.shares {
		s += x
	}
	return s
}

// add adds shares[i] at the point first+i.
func (m *distribution) add(first int, shares []float64) {
	if len(m.shares) == 0 {
		m.first, m.shares = first, slices.Clone(shares)
		return
	}
	if first < m.first {
		m.shares = append(make([]float64, m.first-first), m.shares...)
		m.first = first
	}
	if short := first + len(shares) - m.first - len(m.shares); short > 0 {
		m.shares = append(m.shares, make([]float64, short)...)
	}
	for i, s := range shares {
		m.shares[first-m.first+i] += s
	}
}

// A convolution moves the runs from State to State until nearly all have ended.
type convolution struct {
	*timing
	grid    time.Duration
	pending []distribution // runs that have reached a State and not left it yet
	steps   []int          // the largest number of rounded delays on the way to a State
	arrived distribution
	worst   int // the largest number of rounded delays of a run that arrived
	unknown float64
	// additions so far
	work int
}

// remaining is the share of the runs that have not ended.
func (c *convolution) remaining() (share float64) {
	for _, m := range c.pending {
		share += m.sum()
	}
	return share
}

// advance moves all runs forward by one State. Without loops the order is such that one call is
// enough. It reports false if that takes too long.
func (c *convolution) advance() bool {
	for _, id := range c.reachable {
		runs := c.pending[id]
		c.pending[id] = distribution{}
		switch {
		case c.work > maxWork || len(runs.shares) > maxPoints:
			return false
		case len(runs.shares) == 0 || !c.reachesTarget[id]:
		case c.isTarget[id]:
			c.arrived.add(runs.first, runs.shares)
			c.worst = max(c.worst, c.steps[id])
		case c.graph.States[id].Unexplored:
			c.unknown += runs.sum()
		default:
			for _, m := range c.moves[id] {
				c.apply(id, runs, m)
			}
		}
	}
	return true
}

// apply moves the share of the runs that takes a transition to the next State.
func (c *convolution) apply(id int, runs distribution, m move) {
	if !c.reachesTarget[m.to] {
		return
	}
	steps := c.steps[id]
	if m.greatest() != m.least() || m.least()%c.grid != 0 {
		steps++
	}
	c.steps[m.to] = max(c.steps[m.to], steps)
	d := newDelays(m, c.grid)
	first, shares := d.after(runs, m.chance)
	c.pending[m.to].add(first, shares)
	c.work += len(shares)
}

// A delays is the distribution of one delay on the grid: a share at once, and the rest at the
// points from first to last. All points between those two have the same share.
type delays struct {
	atOnce      float64
	first, last int
	head, tail  float64 // at first and last
	each        float64 // between them
}

// newDelays rounds a delay that is uniform in [min, max) to the nearest points of the grid.
func newDelays(m move, grid time.Duration) delays {
	low, high, h := float64(m.least()), float64(m.greatest()), float64(grid)
	d := delays{first: int(low/h + 0.5), last: int(high/h + 0.5)}
	if m.min < 0 && m.max > 0 {
		d.atOnce = float64(-m.min) / float64(m.max-m.min)
	}
	if d.first == d.last {
		d.head = 1 - d.atOnce
		return d
	}
	density := (1 - d.atOnce) / (high - low)
	d.head = density * ((float64(d.first)+0.5)*h - low)
	d.tail = density * (high - (float64(d.last)-0.5)*h)
	d.each = density * h
	return d
}

// after returns the distribution of the runs after the delay. The points between first and last are
// a moving sum.
func (d delays) after(runs distribution, chance float64) (first int, shares []float64) {
	n, width := len(runs.shares), d.last-d.first
	base := d.first
	if d.atOnce > 0 {
		base = 0
	}
	shares = make([]float64, d.last-base+n)
	window := 0.0
	for i := range n + width {
		if d.last-d.first > 1 {
			if in := i - 1; in >= 0 && in < n {
				window += runs.shares[in]
			}
			if out := i - width; out >= 0 && out < n {
				window -= runs.shares[out]
			}
		}
		shares[i+d.first-base] += chance * d.each * max(window, 0)
	}
	for i, s := range runs.shares {
		shares[i+d.first-base] += chance * d.head * s
		shares[i+d.last-base] += chance * d.tail * s
		shares[i] += chance * d.atOnce * s
	}
	return runs.first + base, shares
}
