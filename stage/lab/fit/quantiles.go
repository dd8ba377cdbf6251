package fit

import (
	"math"
	"sort"
	"time"
)

// percents say which quantiles are kept. They are closer at the ends, where straight lines between
// distant quantiles would be far from the samples.
var percents = [...]float64{0, 1, 2, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85, 90, 93, 95, 97, 98, 99, 99.5, 100}

// quantiles returns the quantiles of sorted samples at the percents.
func quantiles(sorted []time.Duration) []time.Duration {
	if len(sorted) == 0 {
		return nil
	}
	q := make([]time.Duration, len(percents))
	for i, percent := range percents {
		q[i] = time.Duration(between(sorted, percent/100)).Round(time.Microsecond)
	}
	return q
}

// quantile is the delay at a part, with straight lines between the percents.
func quantile(q []time.Duration, part float64) time.Duration {
	percent := min(max(100*part, 0), 100)
	i := max(sort.SearchFloat64s(percents[:], percent), 1)
	below, above := percents[i-1], percents[i]
	return q[i-1] + time.Duration((percent-below)/(above-below)*float64(q[i]-q[i-1]))
}

// between returns the value at a part, from 0 to 1, of sorted values at equal distances, with
// straight lines in between.
func between(sorted []time.Duration, part float64) float64 {
	at := part * float64(len(sorted)-1)
	i := min(int(at), len(sorted)-1)
	j := min(i+1, len(sorted)-1)
	return float64(sorted[i]) + (at-float64(i))*float64(sorted[j]-sorted[i])
}

// upTo is the probability that a draw from quantiles is at most x; below is the probability that it
// is less.
func upTo(q []time.Duration, x time.Duration) float64 {
	i := sort.Search(len(q), func(i int) bool { return q[i] > x }) // the first beyond x
	switch {
	case i == 0:
		return 0
	case i == len(q):
		return 1
	}
	part := float64(x-q[i-1]) / float64(q[i]-q[i-1])
	return (percents[i-1] + part*(percents[i]-percents[i-1])) / 100
}

func below(q []time.Duration, x time.Duration) float64 {
	i := sort.Search(len(q), func(i int) bool { return q[i] >= x }) // the first that is not below x
	switch {
	case i == 0:
		return 0
	case i == len(q):
		return 1
	}
	part := float64(x-q[i-1]) / float64(q[i]-q[i-1])
	return (percents[i-1] + part*(percents[i]-percents[i-1])) / 100
}

// distance is the Kolmogorov-Smirnov distance of sorted samples from quantiles.
func distance(q, sorted []time.Duration) (d float64) {
	n := float64(len(sorted))
	for i, x := range sorted {
		if i+1 == len(sorted) || sorted[i+1] > x {
			d = max(d, math.Abs(float64(i+1)/n-upTo(q, x)))
		}
		if i == 0 || sorted[i-1] < x {
			d = max(d, math.Abs(float64(i)/n-below(q, x)))
		}
	}
	return d
}

// chance is the distance of n and m samples of one distribution that is exceeded with a chance of
// 5 %.
func chance(n, m int) float64 {
	return math.Sqrt(-math.Log(0.05/2) / 2 * float64(n+m) / (float64(n) * float64(m)))
}
