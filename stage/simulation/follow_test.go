package simulation_test

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

// The bubble's clock is the clock of the machine: in a minute of it an hour passes.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set, err := stage.Compile(stage.Options{})
		require.NoError(t, err)
		sim, err := simulation.New(set, simulation.Options{})
		require.NoError(t, err)
		start := sim.Now()
		var seen []time.Duration
		for _, d := range []time.Duration{0, time.Second, 59 * time.Minute, time.Hour, 61 * time.Minute} {
			sim.At(start.Add(d), func(context.Context) error { seen = append(seen, sim.Now().Sub(start)); return nil })
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute+time.Millisecond)
		defer cancel()
		require.NoError(t, sim.Follow(ctx, 60))
		require.Equal(t, []time.Duration{0, time.Second, 59 * time.Minute, time.Hour}, seen)
		require.Equal(t, time.Hour, sim.Now().Sub(start))
		for _, speed := range []float64{0, -1, math.NaN()} {
			require.Error(t, sim.Follow(t.Context(), speed))
		}
	})
}
