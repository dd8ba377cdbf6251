package statistics_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/lab/statistics"
)

// TestStudent compares quantiles with the table of any textbook.
func TestStudent(t *testing.T) {
	for _, tc := range []struct{ share, freedom, want float64 }{
		{0.975, 1, 12.706204736}, {0.975, 2, 4.302652730}, {0.975, 9, 2.262157163}, {0.975, 29, 2.045229642},
		{0.975, 1e6, 1.959966}, {0.95, 4, 2.131846786}, {0.995, 9, 3.249835542}, {0.75, 1, 1}, {0.5, 7, 0}, {0.0005, 10, -4.586893859},
		{0.9999, 1, 3183.0988},
	} {
		require.InEpsilon(t, 1+tc.want, 1+statistics.Student(tc.share, tc.freedom), 1e-4, "%v", tc)
		if tc.freedom < 1e6 && tc.share < 0.999 {
			require.InDelta(t, tc.want, statistics.Student(tc.share, tc.freedom), 1e-8, "%v", tc)
		}
	}
	for _, bad := range [][2]float64{{0, 1}, {1, 1}, {0.5, 0}, {math.NaN(), 1}, {0.9, math.NaN()}, {-1, 3}} {
		require.True(t, math.IsNaN(statistics.Student(bad[0], bad[1])), "%v", bad)
	}
}

func TestMean(t *testing.T) {
	i := statistics.Mean(0.95, 1, 2, 3, 4, 5)
	require.Equal(t, 3.0, i.Mean)
	require.InDelta(t, math.Sqrt(2.5), i.StdDev, 1e-12)
	require.InDelta(t, 2.7764451052*math.Sqrt(2.5/5), i.Half(), 1e-9)
	require.True(t, i.Contains(3) && i.Contains(i.Low) && !i.Contains(i.High+1e-9))
	require.Equal(t, "3 ± 2 (95 %, n 5)", i.String())

	one := statistics.Mean(0.95, 7)
	require.Equal(t, 7.0, one.Mean)
	require.True(t, math.IsInf(one.Low, -1) && math.IsInf(one.High, 1) && math.IsNaN(one.StdDev))
	require.True(t, math.IsNaN(statistics.Mean(0.95).Mean))
	require.True(t, math.IsNaN(statistics.Mean(0.95, 1, math.NaN()).Low))
	require.True(t, math.IsNaN(statistics.Mean(1.5, 1, 2).Low))
	require.Zero(t, statistics.Mean(0.95, 4, 4, 4).Half(), "what does not vary")
}

// TestDifference shows the effect of pairing: the seeds differ by much more than the variants.
func TestDifference(t *testing.T) {
	a, b := []float64{100, 200, 300}, []float64{101, 202, 303}
	i, err := statistics.Difference(0.95, a, b)
	require.NoError(t, err)
	require.Equal(t, statistics.Mean(0.95, 1, 2, 3), i)
	require.Greater(t, i.Low, -0.5)
	_, err = statistics.Difference(0.95, a, b[:2])
	require.EqualError(t, err, "statistics: 3 values cannot be paired with 2")
}

func TestBand(t *testing.T) {
	require.InDelta(t, 0.1358, statistics.Band(0.95, 100), 1e-4)
	require.Equal(t, 1.0, statistics.Band(0.95, 1))
	require.Equal(t, 1.0, statistics.Band(0.95, 0))
}

// TestIntervalsContainTheMean is the promise of an interval: of 10,000 each of five normal values,
// a share as large as the level contains the mean.
func TestIntervalsContainTheMean(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, level := range []float64{0.5, 0.9, 0.95, 0.99} {
		hits := 0
		for range 10_000 {
			values := make([]float64, 5)
			for i := range values {
				values[i] = 10 + 3*random.NormFloat64()
			}
			if statistics.Mean(level, values...).Contains(10) {
				hits++
			}
		}
		require.InDelta(t, level, float64(hits)/10_000, 0.015)
	}
}

func Example() {
	fifo, gang := []float64{298, 310, 305}, []float64{291, 300, 299} // seeds 1, 2, 3
	fmt.Println(statistics.Mean(0.95, fifo...))
	difference, err := statistics.Difference(0.95, fifo, gang)
	fmt.Println(difference, err)
	// Output:
	// 304.3 ± 15 (95 %, n 3)
	// -7.667 ± 5.2 (95 %, n 3) <nil>
}
