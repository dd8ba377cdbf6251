package queues_test

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/examples/simulator/queues"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/sweep"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

// TestTheory compares the formulas with values of textbooks.
func TestTheory(t *testing.T) {
	for _, tc := range []struct {
		model string
		load  float64
		class int
		want  float64
	}{
		{"M/M/1", 0.5, 0, 1}, {"M/M/1", 0.9, 0, 9}, {"M/D/1", 0.9, 0, 4.5}, {"M/U/1", 0.75, 0, 2},
		{"M/M/4", 0.5, 0, 0.1739130435 / 2}, // C(4, 2) = 4/23
		{"priorities", 0.8, 0, 0.8 / 0.6}, {"priorities", 0.8, 1, 0.8 / (0.6 * 0.2)},
	} {
		m, ok := queues.Named(tc.model)
		require.True(t, ok)
		require.InDelta(t, tc.want, m.Wait(tc.load, tc.class), 1e-9, "%v", tc)
	}
	_, ok := queues.Named("G/G/1")
	require.False(t, ok)
}

func models() (names []string) {
	for _, m := range queues.Models() {
		names = append(names, m.Name)
	}
	return names
}

// TestIntervalsContainTheAnswers is the study itself: the intervals of all models contain the
// theoretical values. At this level the test should fail once in a hundred studies.
func TestIntervalsContainTheAnswers(t *testing.T) {
	s := queues.Study(models(), []float64{0.6}, queues.Run{Warmup: 500, Customers: 8000})
	result, err := sweep.Do(t.Context(), s, sweep.Options{})
	require.NoError(t, err)
	answers := 0
	for _, e := range result.Estimates(0.999) {
		if want, ok := queues.Answer(e); ok {
			answers++
			require.True(t, e.Contains(want), "%s: %s, want %v", e.Point, e, want)
			require.Less(t, e.Half(), 0.5*want)
		} else {
			require.Zero(t, e.Count)
		}
	}
	require.Equal(t, 6, answers)
}

// TestCoverage counts how many of 1,000 small sweeps have an interval that contains the answer: 95
// of 100, within 2. The whole of it, with longer runs and all models, is go run . -study coverage.
func TestCoverage(t *testing.T) {
	s := queues.Coverage([]string{"M/D/1"}, 1000, queues.Run{Warmup: 50, Customers: 300})
	result, err := sweep.Do(t.Context(), s, sweep.Options{})
	require.NoError(t, err)
	for _, c := range queues.Count(result.Estimates(0.95)) {
		t.Log(c)
		require.Equal(t, 1000, c.Sweeps)
		require.InDelta(t, 0.95, float64(c.Contained)/1000, 0.02, "%s", c)
	}
}

// TestLittlesLawIsChecked checks that the check finds a customer that is left over, and a customer
// that is not counted for as long as it stays.
func TestLittlesLawIsChecked(t *testing.T) {
	sim, err := simulation.New(stage.MustCompile(), simulation.Options{})
	require.NoError(t, err)
	station := queues.NewStation(sim, 1, 1)
	require.NoError(t, station.CheckLittle())
	station.Arrive(0, time.Second)
	station.Arrive(0, time.Second)
	require.ErrorContains(t, station.CheckLittle(), "2 customers are left")
	_, err = sim.Settle(context.Background(), time.Hour)
	require.NoError(t, err)
	require.NoError(t, station.CheckLittle())
	require.Equal(t, 0.5, station.MeanWait(0, 0))
	require.Equal(t, 1.0, station.MeanWait(0, 1))
	require.True(t, math.IsNaN(station.MeanWait(0, 2)))
}
