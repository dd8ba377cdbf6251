package delay

import (
	"cmp"
	"fmt"
	"math"
	"time"
)

// A distribution is exponential with a mean, log-normal with a median and the standard deviation of
// its logarithm, or empirical.
type distribution struct {
	mean   time.Duration
	median time.Duration
	sigma  float64
	points []point
}

// A point is a quantile: a delay is at most value, with the probability chance.
type point struct {
	chance float64
	value  time.Duration
	path   string // in the text
}

func compareFloats(a, b float64) int { return cmp.Compare(a, b) }

// longestDraw limits a draw, so that it fits into a Duration.
const longestDraw = time.Duration(1) << 61

// chanceOf turns a random number into a probability between 0 and 1, both excluded.
func chanceOf(random uint64) float64 { return (float64(random>>12) + 0.5) / (1 << 52) }

// pick returns the draw for a random number, rounded to microseconds.
func (d *distribution) pick(random uint64) time.Duration { return d.quantile(chanceOf(random)) }

// quantile returns the delay that a draw does not exceed, with a given probability. It rounds
// because the last bits of logarithms differ from machine to machine.
func (d *distribution) quantile(chance float64) time.Duration {
	var ns float64
	switch {
	case d.mean > 0:
		ns = -float64(d.mean) * math.Log1p(-chance)
	case d.median > 0:
		ns = float64(d.median) * math.Exp(d.sigma*normalQuantile(chance))
	default:
		ns = interpolate(d.points, chance)
	}
	return time.Duration(min(ns, float64(longestDraw))).Round(time.Microsecond)
}

func normalQuantile(chance float64) float64 { return math.Sqrt2 * math.Erfinv(2*chance-1) }

func interpolate(points []point, chance float64) float64 {
	for i := 1; i < len(points); i++ {
		a, b := points[i-1], points[i]
		if chance <= b.chance {
			part := (chance - a.chance) / (b.chance - a.chance)
			return float64(a.value) + part*float64(b.value-a.value)
		}
	}
	return float64(points[len(points)-1].value)
}

// least and greatest are the bounds of the draws.
func (d *distribution) least() time.Duration {
	if len(d.points) > 0 {
		return d.points[0].value
	}
	return 0
}

func (d *distribution) greatest() time.Duration { return d.pick(math.MaxUint64) }

// String prints "exponential (mean 3s)", "log-normal (median 3s, p90 8s)" or "quantiles (p50 3s,
// p90 8s)".
func (d *distribution) String() string {
	p50, p90 := d.quantile(0.5), d.quantile(0.9)
	switch {
	case d.mean > 0:
		return fmt.Sprintf("exponential (mean %s)", d.mean)
	case d.median > 0:
		return fmt.Sprintf("log-normal (median %s, p90 %s)", d.median, p90)
	default:
		return fmt.Sprintf("quantiles (p50 %s, p90 %s)", p50, p90)
	}
}
