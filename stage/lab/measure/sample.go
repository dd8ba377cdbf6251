package measure

import (
	"cmp"
	"math"
	"slices"
)

// A Sample is a list of values with weights. The zero value is empty. It is immutable.
type Sample struct {
	sorted []weighted // with weights above 0
	total  float64    // of the weights
}

type weighted struct{ value, weight float64 }

// NewSample returns a sample of values with equal weights.
func NewSample(values ...float64) Sample {
	all := make([]weighted, len(values))
	for i, v := range values {
		all[i] = weighted{v, 1}
	}
	return newSample(all)
}

func newSample(all []weighted) Sample {
	slices.SortFunc(all, func(a, b weighted) int { return cmp.Or(cmp.Compare(a.value, b.value), cmp.Compare(a.weight, b.weight)) })
	s := Sample{sorted: all}
	for _, w := range all {
		s.total += w.weight
	}
	return s
}

// Count returns the number of values.
func (s Sample) Count() float64 { return float64(len(s.sorted)) }

// Values returns the values in ascending order.
func (s Sample) Values() []float64 {
	values := make([]float64, len(s.sorted))
	for i, w := range s.sorted {
		values[i] = w.value
	}
	return values
}

// Mean returns the weighted mean. Like the other statistics, it is NaN without values.
func (s Sample) Mean() float64 { return s.mean(func(v float64) float64 { return v }) }

// StdDev returns the standard deviation of the sample, the root of the mean squared distance from
// the mean.
func (s Sample) StdDev() float64 {
	mean := s.Mean()
	return math.Sqrt(s.mean(func(v float64) float64 { return (v - mean) * (v - mean) }))
}

func (s Sample) mean(of func(float64) float64) float64 {
	sum := 0.0
	for _, w := range s.sorted {
		sum += of(w.value) * w.weight
	}
	return sum / s.total
}

// Min returns the smallest value.
func (s Sample) Min() float64 { return s.Quantile(0) }

// Max returns the largest value.
func (s Sample) Max() float64 { return s.Quantile(1) }

// Quantile returns the smallest value that at least a share of the sample does not exceed; share 0
// gives the smallest and share 1 the largest value.
func (s Sample) Quantile(share float64) float64 {
	if len(s.sorted) == 0 || math.IsNaN(share) {
		return math.NaN()
	}
	want, sum := share*s.total*(1-1e-12), 0.0 // sums of weights are not exact
	for _, w := range s.sorted {
		if sum += w.weight; sum >= want {
			return w.value
		}
	}
	return s.sorted[len(s.sorted)-1].value
}

// A Summary is the statistics of a sample. Without values, all of them except Count are NaN.
type Summary struct {
	Count                           int
	Mean, StdDev                    float64
	Min, Median, P90, P95, P99, Max float64
}

// Summary returns the statistics of the sample.
func (s Sample) Summary() Summary {
	return Summary{
		Count: len(s.sorted), Mean: s.Mean(), StdDev: s.StdDev(),
		Min: s.Min(), Median: s.Quantile(0.5), P90: s.Quantile(0.9), P95: s.Quantile(0.95), P99: s.Quantile(0.99), Max: s.Max(),
	}
}
