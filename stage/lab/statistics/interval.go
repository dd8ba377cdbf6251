package statistics

import (
	"fmt"
	"math"
)

// An Interval is a mean and where the true mean is with a probability.
type Interval struct {
	// Level is the probability with which the interval contains the true mean.
	Level float64
	// Count is how many values there are.
	Count int
	// Mean is the mean of the values; NaN without values.
	Mean float64
	// StdDev estimates the standard deviation of a value (divided by n-1). NaN below two values.
	StdDev float64
	// Low and High are the ends. They are infinite with fewer than two values, which say nothing
	// about the error.
	Low, High float64
}

// Mean returns the interval of the mean of independent values. Level is above 0 and below 1; for any
// other the ends are NaN. A value that is NaN makes everything NaN.
func Mean(level float64, values ...float64) Interval {
	n := float64(len(values))
	i := Interval{Level: level, Count: len(values), StdDev: math.NaN()}
	i.Mean = sum(values, func(v float64) float64 { return v }) / n
	half := math.Inf(1)
	if n > 1 {
		i.StdDev = math.Sqrt(sum(values, func(v float64) float64 { return (v - i.Mean) * (v - i.Mean) }) / (n - 1))
		half = Student((1+level)/2, n-1) * i.StdDev / math.Sqrt(n)
	}
	i.Low, i.High = i.Mean-half, i.Mean+half
	return i
}

func sum(values []float64, of func(float64) float64) (total float64) {
	for _, v := range values {
		total += of(v)
	}
	return total
}

// Difference returns the interval of the mean of b - a, where a[i] and b[i] were measured with the
// same seed. The error says that there are not as many of both.
func Difference(level float64, a, b []float64) (Interval, error) {
	if len(a) != len(b) {
		return Interval{}, fmt.Errorf("statistics: %d values cannot be paired with %d", len(a), len(b))
	}
	differences := make([]float64, len(a))
	for i := range a {
		differences[i] = b[i] - a[i]
	}
	return Mean(level, differences...), nil
}

// Half returns half of the width: the ± of the mean.
func (i Interval) Half() float64 { return (i.High - i.Low) / 2 }

// Contains reports whether a value is in the interval, ends included.
func (i Interval) Contains(v float64) bool { return i.Low <= v && v <= i.High }

// String prints "12.3 ± 0.45 (95 %, n 10)".
func (i Interval) String() string {
	return fmt.Sprintf("%.4g ± %.2g (%g %%, n %d)", i.Mean, i.Half(), math.Round(i.Level*1e4)/1e2, i.Count)
}

// Band returns the half-width of a band around the empirical distribution function of n values. With a
// probability of level, the true function differs from the empirical one by at most the half-width,
// everywhere at once, if the values are independent. A result of 1 says nothing.
func Band(level float64, n int) float64 {
	return min(1, math.Sqrt(math.Log(2/(1-level))/(2*float64(n))))
}
