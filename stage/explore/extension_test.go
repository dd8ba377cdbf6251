package explore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/explore"
)

// TestTimesOfDrawnDelays: the time is spread as the distribution, not uniformly between its bounds.
func TestTimesOfDrawnDelays(t *testing.T) {
	set, err := stage.Compile(stage.Options{Extensions: true}, stage.Parse("s.yaml", []byte(`
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: run, annotations: {stagecraft-go.github.io/delay: "exponential: {mean: 10s}"}}
spec:
  resourceRef: {kind: Pod}
  selector: {matchExpressions: [{key: .status.phase, operator: In, values: [Pending]}]}
  next: {statusTemplate: 'phase: Running'}
`)))
	require.NoError(t, err)
	g, err := explore.Explore(t.Context(), set, explore.Options{}, object(t, "{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: default}, status: {phase: Pending}}"))
	require.NoError(t, err)
	running, err := explore.ParseTarget("phase=Running")
	require.NoError(t, err)
	times, err := g.TimeTo(running, explore.TimeOptions{Samples: 20_000})
	require.NoError(t, err)
	require.InEpsilon(t, 10, times.Mean.Seconds(), .03)
	require.InEpsilon(t, 6.93, times.Quantile(.5).Value.Seconds(), .03)
	require.InEpsilon(t, 23.03, times.Quantile(.9).Value.Seconds(), .03)
	require.Equal(t, "exponential (mean 10s)", explore.FormatDelay(g.Transitions[0].Delay))
	require.Less(t, times.Max, 10*time.Minute)
}
