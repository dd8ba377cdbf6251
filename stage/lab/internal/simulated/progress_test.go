package simulated_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

const workload = `{apiVersion: v1, kind: Node, metadata: {name: node-1}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: work}, spec: {completions: 6, parallelism: 2,
  template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}
`

// TestARunThatWasStoppedGoesOn stops a run after each single action, looks at the cluster, and
// continues. The result is the same as in a run without stops.
func TestARunThatWasStoppedGoesOn(t *testing.T) {
	run := func(stop bool) (lines []string) {
		var cancel context.CancelFunc
		sim, err := simulation.New(stage.MustCompile(presets.NodeFast(), presets.PodGeneral()), simulation.Options{
			Seed: 1, Controllers: controllers.All(controllers.Options{}), Filter: controllers.Bound,
			Trace: func(e stage.TraceEvent) { lines = append(lines, fmt.Sprint(e.Time, e)) },
			Progress: func(simulation.Progress) {
				if stop {
					cancel()
				}
			},
		})
		require.NoError(t, err)
		require.NoError(t, sim.Cluster().Load(t.Context(), []byte(workload)))
		stops, end := 0, sim.Now().Add(time.Hour)
		for err = context.Canceled; err != nil; {
			var ctx context.Context
			ctx, cancel = context.WithCancel(t.Context())
			if err = sim.Advance(ctx, end.Sub(sim.Now())); err != nil {
				require.ErrorIs(t, err, context.Canceled)
				stops++
			}
			cancel()
			_, listErr := sim.Cluster().List(t.Context(), pods, "", metav1.ListOptions{})
			require.NoError(t, listErr)
		}
		require.Equal(t, stop, stops > 50, "stopped %d times", stops)
		require.Equal(t, end, sim.Now())
		return lines
	}
	require.Equal(t, run(false), run(true))
}

func TestProgressTellsHowFarARunIs(t *testing.T) {
	var last simulation.Progress
	calls := uint64(0)
	sim, err := simulation.New(stage.MustCompile(presets.NodeFast(), presets.PodFast()), simulation.Options{Progress: func(p simulation.Progress) {
		calls++
		require.Equal(t, calls, p.Done)
		require.False(t, p.Now.Before(last.Now))
		require.GreaterOrEqual(t, p.Events, last.Events)
		last = p
	}})
	require.NoError(t, err)
	start := sim.Now()
	require.Equal(t, simulation.Progress{Now: start, End: start}, sim.Progress())
	require.NoError(t, sim.Cluster().Load(t.Context(), []byte(web)))
	sim.At(start.Add(time.Second), func(ctx context.Context) error {
		return sim.Cluster().Delete(ctx, pods, types.NamespacedName{Namespace: "default", Name: "web"}, metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
	})
	require.NoError(t, sim.Advance(t.Context(), time.Minute))
	require.Equal(t, simulation.Progress{Now: start.Add(time.Second), End: start.Add(time.Minute), Objects: 1, Events: 2, Done: 2}, last)
	require.Equal(t, simulation.Progress{Now: start.Add(time.Minute), End: start.Add(time.Minute), Objects: 0, Events: 4, Done: 2}, sim.Progress(),
		"the Pod was shown to leave, then as gone")
}
