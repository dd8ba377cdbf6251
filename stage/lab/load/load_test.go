package load_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/load"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

const draws = 20_000

func sample(seed uint64, d load.Distribution) []float64 {
	s := load.MustNew(seed, "test", d)
	values := make([]float64, draws)
	for i := range values {
		values[i] = s.Next()
	}
	slices.Sort(values)
	return values
}

func moments(values []float64) (mean, variance float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		variance += (v - mean) * (v - mean) / float64(len(values))
	}
	return mean, variance
}

// TestDrawsAgreeWithTheory compares mean and variance with their formulas, and the whole sample
// with the distribution function (Kolmogorov and Smirnov: the largest distance exceeds 1.63/√n once
// in a hundred samples).
func TestDrawsAgreeWithTheory(t *testing.T) {
	gamma := math.Gamma
	for _, tc := range []struct {
		of             load.Distribution
		mean, variance float64
		cdf            func(float64) float64
	}{
		{load.Uniform{Low: 2, High: 8}, 5, 3, func(v float64) float64 { return (v - 2) / 6 }},
		{load.Exponential{Mean: 50}, 50, 2500, func(v float64) float64 { return 1 - math.Exp(-v/50) }},
		{
			load.Weibull{Shape: 1.5, Scale: 10}, 10 * gamma(1+1/1.5), 100 * (gamma(1+2/1.5) - math.Pow(gamma(1+1/1.5), 2)),
			func(v float64) float64 { return 1 - math.Exp(-math.Pow(v/10, 1.5)) },
		},
		{
			load.LogNormal{Median: 2, Sigma: 0.5}, 2 * math.Exp(0.125), 4 * math.Exp(0.25) * (math.Exp(0.25) - 1),
			func(v float64) float64 { return (1 + math.Erf(math.Log(v/2)/0.5/math.Sqrt2)) / 2 },
		},
		{
			load.Points{{Share: 0, Value: 1}, {Share: 0.5, Value: 2}, {Share: 1, Value: 5}}, 2.5, 46.0/6 - 6.25,
			func(v float64) float64 { return min((v-1)/2, 0.5) + max((v-2)/6, 0) },
		},
	} {
		t.Run(fmt.Sprintf("%T", tc.of), func(t *testing.T) {
			values := sample(1, tc.of)
			mean, variance := moments(values)
			require.InEpsilon(t, tc.mean, mean, 0.02)
			require.InEpsilon(t, tc.variance, variance, 0.06)
			largest := 0.0
			for i, v := range values {
				largest = max(largest, math.Abs(tc.cdf(v)-float64(i)/draws), math.Abs(tc.cdf(v)-float64(i+1)/draws))
			}
			require.Less(t, largest, 1.63/math.Sqrt(draws))
		})
	}
}

func TestValuesAreEquallyLikely(t *testing.T) {
	count := map[float64]int{}
	for _, v := range sample(1, load.Values{8, 2, 4, 2}) {
		count[v]++
	}
	require.Len(t, count, 3)
	require.InEpsilon(t, draws/4, count[8], 0.05)
	require.InEpsilon(t, draws/2, count[2], 0.05)
	require.Equal(t, 3.5, load.MustNew(1, "", load.Fixed(3.5)).Next())
	require.Equal(t, 7.0, load.LogNormal{Median: 7}.Quantile(0))
}

func TestOutsideKnownQuantilesIsTheNearest(t *testing.T) {
	p := load.Points{{Share: 0.5, Value: 1.94}, {Share: 0.9, Value: 2.5}, {Share: 0.99, Value: 4.32}}
	for share, want := range map[float64]float64{0: 1.94, 0.5: 1.94, 0.7: 2.22, 0.9: 2.5, 0.999: 4.32} {
		require.InDelta(t, want, p.Quantile(share), 1e-9, share)
	}
}

func TestStreamsDoNotDependOnEachOther(t *testing.T) {
	draw := func(seed uint64, name string) float64 { return load.MustNew(seed, name, load.Uniform{High: 1}).Next() }
	require.Equal(t, draw(1, "gaps"), draw(1, "gaps"))
	require.NotEqual(t, draw(1, "gaps"), draw(1, "sizes"))
	require.NotEqual(t, draw(1, "gaps"), draw(2, "gaps"))
	short, long := load.MustNew(1, "sizes", load.Exponential{Mean: 1}), load.MustNew(1, "sizes", load.Exponential{Mean: 60})
	for range 100 {
		require.InEpsilon(t, 60*short.Next(), long.Next(), 1e-9, "the same shares")
	}
}

// uncertain is a distribution that is not of the package.
type uncertain struct{}

func (uncertain) Quantile(share float64) float64 { return 1 / (0.5 - share) }

func TestParametersAreChecked(t *testing.T) {
	inf := math.Inf(1)
	for want, d := range map[string]load.Distribution{
		"no distribution":                    nil,
		"want a finite number":               load.Fixed(inf),
		"want finite Low <= High":            load.Uniform{Low: 2, High: 1},
		"load.Exponential{Mean:-1}: want":    load.Exponential{Mean: -1},
		"want a finite Mean":                 load.Exponential{Mean: math.NaN()},
		"want Shape > 0":                     load.Weibull{Scale: 1},
		"Shape > 0 and Scale >= 0 that give": load.Weibull{Shape: 1e-3, Scale: 1},
		"want Median >= 0":                   load.LogNormal{Median: 1, Sigma: -1},
		"want at least one value":            load.Values{},
		"all finite":                         load.Values{1, inf},
		"want at least one point":            load.Points{},
		"point 1: want shares":               load.Points{{Share: 0.5, Value: 1}, {Share: 0.5, Value: 2}},
		"point 0: want shares":               load.Points{{Share: math.NaN()}},
		"the quantile of 0.5 is +Inf":        uncertain{},
	} {
		_, err := load.New(1, "x", d)
		require.ErrorContains(t, err, want)
		require.Panics(t, func() { load.MustNew(1, "x", d) })
	}
	require.NoError(t, load.Check(load.LogNormal{}))
}

func TestDurationsStayInTheirRange(t *testing.T) {
	for v, want := range map[load.Fixed]time.Duration{1.5: 1500 * time.Millisecond, -3: 0, 1e300: math.MaxInt64, 0.1830000004: 183 * time.Millisecond} {
		require.Equal(t, want, load.MustNew(1, "", v).Duration(), v)
	}
	require.Equal(t, []time.Duration{math.MaxInt64, math.MaxInt64}, load.MustNew(1, "", load.Fixed(9e300)).Arrivals(2))
	require.Empty(t, load.MustNew(1, "", load.Fixed(1)).Arrivals(-1))
}

func TestArrivalsComeInOrderAndAtTheirTimes(t *testing.T) {
	sim, err := simulation.New(stage.MustCompile(), simulation.Options{})
	require.NoError(t, err)
	require.NoError(t, sim.Advance(t.Context(), time.Hour))
	start := sim.Now()
	var lines []string
	load.Schedule(sim, []time.Duration{2 * time.Second, time.Second, 2 * time.Second, 0}, func(_ context.Context, n int) error {
		lines = append(lines, fmt.Sprint(n, " ", sim.Now().Sub(start)))
		if n == 0 {
			return fmt.Errorf("oops")
		}
		return nil
	})
	require.ErrorContains(t, sim.Advance(t.Context(), time.Minute), "oops")
	require.NoError(t, sim.Advance(t.Context(), time.Minute), "goes on after a failure")
	require.Equal(t, []string{"3 0s", "1 1s", "0 2s", "2 2s"}, lines)
	load.Schedule(sim, nil, nil)
}
