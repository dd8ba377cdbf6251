package fit

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func seconds(values ...float64) []time.Duration {
	d := make([]time.Duration, len(values))
	for i, v := range values {
		d[i] = time.Duration(v * float64(time.Second))
	}
	return d
}

func TestDistance(t *testing.T) {
	uniform := quantiles(seconds(0, 100))
	require.InDelta(t, .25, distance(uniform, seconds(25, 75)), 1e-6, "halves of two samples")
	require.InDelta(t, 1, distance(uniform, seconds(200)), 1e-6)
	require.InDelta(t, .5, distance(uniform, seconds(50)), 1e-6)
	constant := quantiles(seconds(5, 5, 5))
	require.Zero(t, distance(constant, seconds(5, 5)))
	require.InDelta(t, 1, distance(constant, seconds(4)), 1e-6)
	require.InDelta(t, .5, distance(constant, seconds(5, 6)), 1e-6)
}

func TestChance(t *testing.T) {
	require.InDelta(t, 1.358*0.1414, chance(100, 100), 1e-3, "the table of Smirnov")
}

func TestQuantile(t *testing.T) {
	q := quantiles(seconds(0, 10, 20, 30, 40))
	for part, want := range map[float64]float64{-1: 0, 0: 0, .25: 10, .5: 20, .625: 25, .999: 39.96, 1: 40, 2: 40} {
		require.InDelta(t, want, quantile(q, part).Seconds(), 1e-3, part)
	}
}
