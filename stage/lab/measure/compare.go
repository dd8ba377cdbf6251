package measure

import (
	"fmt"
	"math"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/printable"
	"github.com/stagecraft-go/stagecraft/stage/lab/record"
)

// A Comparison is one metric measured in two runs.
type Comparison struct {
	Metric     string
	A, B       Summary
	Difference float64 // of the means, B - A
	Ratio      float64 // of the means, B / A
	// P is the p-value of the Kolmogorov-Smirnov test: the probability that two samples of the same
	// distribution differ at least as much as these. The test assumes that the values are
	// independent. If objects wait for each other they are not, and P is too small. P is NaN for
	// series, and if one of the runs has no values.
	P float64
}

// Compare measures two runs with the same metrics.
func Compare(a, b record.Log, metrics ...Metric) []Comparison {
	compared := make([]Comparison, len(metrics))
	for i, m := range metrics {
		before, after := m.Sample(a), m.Sample(b)
		p := math.NaN()
		if m.Series == nil {
			p = kolmogorovSmirnov(before, after)
		}
		compared[i] = Comparison{
			Metric: m.Name, A: before.Summary(), B: after.Summary(), P: p,
			Difference: after.Mean() - before.Mean(), Ratio: after.Mean() / before.Mean(),
		}
	}
	return compared
}

// String prints the means, 99th percentiles, counts and P on one line.
func (c Comparison) String() string {
	return fmt.Sprintf("%s: mean %.4g → %.4g (%+.4g, x%.3g), p99 %.4g → %.4g, n %d → %d, p %.2g",
		printable.Text(c.Metric), c.A.Mean, c.B.Mean, c.Difference, c.Ratio, c.A.P99, c.B.P99, c.A.Count, c.B.Count, c.P)
}

// kolmogorovSmirnov is the p-value of the Kolmogorov-Smirnov test for two samples without weights,
// by the limit for large samples with the correction of Stephens for samples of ten or more.
func kolmogorovSmirnov(a, b Sample) float64 {
	n, m := a.Count(), b.Count()
	if n == 0 || m == 0 {
		return math.NaN()
	}
	root := math.Sqrt(n * m / (n + m))
	return kolmogorov((root + 0.12 + 0.11/root) * distance(a, b))
}

// distance is the largest distance between the two empirical distribution functions.
func distance(a, b Sample) (largest float64) {
	i, j := 0, 0
	for i < len(a.sorted) && j < len(b.sorted) {
		v := min(a.sorted[i].value, b.sorted[j].value)
		for i < len(a.sorted) && a.sorted[i].value <= v {
			i++
		}
		for j < len(b.sorted) && b.sorted[j].value <= v {
			j++
		}
		largest = max(largest, math.Abs(float64(i)/a.Count()-float64(j)/b.Count()))
	}
	return largest
}

// kolmogorov is the probability that Kolmogorov's distribution exceeds x: 2 Σ (-1)^(k-1) exp(-2 k²
// x²).
func kolmogorov(x float64) float64 {
	if x < 0.2 {
		return 1 // to twelve digits; the sum converges slowly there
	}
	sum, sign := 0.0, 1.0
	for k := 1.0; k <= 100; k++ {
		sum += sign * math.Exp(-2*k*k*x*x)
		sign = -sign
	}
	return min(max(2*sum, 0), 1)
}
