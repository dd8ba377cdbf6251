package hunt_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/dev/race"
	"github.com/stagecraft-go/stagecraft/stage/lab/hunt"
)

// TestAllocationsOfRuns pins what a run costs, in allocations, since times differ: those of labs from
// the ground up are over twice as many. The measured numbers are in README.md.
func TestAllocationsOfRuns(t *testing.T) {
	if race.On {
		t.Skip("the race detector allocates")
	}
	for _, c := range benchmarks() {
		t.Run(c.name, func(t *testing.T) {
			c.options.Workers = 1
			n := testing.AllocsPerRun(1, func() {
				report, err := hunt.Search(c.options, c.start)
				require.NoError(t, err)
				require.Empty(t, report.Failures)
			})
			t.Log(n/100, "allocations a run")
			require.Less(t, n/100, c.allocations)
		})
	}
}
