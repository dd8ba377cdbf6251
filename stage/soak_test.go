package stage_test

import (
	"flag"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

var soakPods = flag.Int("soak", 0, "play so many pods in TestSoak")

// TestSoak plays the life of many pods in virtual time and prints what it cost: `make soak`.
func TestSoak(t *testing.T) {
	if *soakPods == 0 {
		t.Skip("a long run: make soak, or -soak N")
	}
	begin, transitions := time.Now(), 0
	sim, err := simulation.New(general(t), simulation.Options{Trace: func(e stage.TraceEvent) {
		require.NotEqual(t, stage.Failed, e.Kind, e.String())
		if e.Kind == stage.Played {
			transitions++
		}
	}})
	require.NoError(t, err)
	cluster := sim.Cluster()
	for i := range *soakPods {
		create(t, cluster, newPod(fmt.Sprintf("pod-%d", i), ""))
	}
	created, bytes := time.Now(), heap()
	settled, err := sim.Settle(t.Context(), time.Hour)
	require.NoError(t, err)
	require.True(t, settled)
	played := time.Since(created)
	t.Logf("%d pods: created in %s, %d transitions in %s (%.0f/s), %.0f B of heap a pod before and %.0f after",
		*soakPods, created.Sub(begin).Round(time.Millisecond), transitions, played.Round(time.Millisecond), float64(transitions)/played.Seconds(),
		float64(bytes)/float64(*soakPods), float64(heap())/float64(*soakPods))
	require.Equal(t, 2**soakPods, transitions, "pod-create and pod-ready")
	runtime.KeepAlive(cluster)
}
