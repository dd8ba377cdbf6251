package scheduling_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/reads"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/scheduling"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

// A nodeCount counts how often it is called for a Node.
type nodeCount struct{ asked int }

func (*nodeCount) Name() string { return "NodeCount" }

func (n *nodeCount) Filter(*scheduling.Cycle, *scheduling.NodeInfo) scheduling.Status {
	n.asked++
	return scheduling.Status{}
}

// TestWorkPerPod checks the cost of BenchmarkTenThousandPods by counts, because times vary.
// kube-scheduler looks at 493 of 1,200 Nodes for each Pod, for any number of Pods.
func TestWorkPerPod(t *testing.T) {
	reads.Pause(t)
	few, many := workOf(t, 100), workOf(t, 500)
	require.LessOrEqual(t, many.asked, 493*500)
	perPod := float64(many.allocations-few.allocations) / 400
	t.Log(perPod, "allocations a Pod")
	require.Less(t, perPod, 400.0)
}

// work is the cost of scheduling: calls for Nodes, and allocations.
type work struct{ asked, allocations int }

func workOf(t *testing.T, pods int) work {
	count := &nodeCount{}
	profile := scheduling.DefaultProfile()
	profile.Plugins = append(profile.Plugins, count)
	sim, err := simulation.New(stage.MustCompile(), simulation.Options{
		Controllers: []reconcile.Controller{scheduling.Scheduler(scheduling.Options{Profile: &profile})},
	})
	require.NoError(t, err)
	require.NoError(t, sim.Cluster().Load(t.Context(), []byte(podsOfOneService(pods))))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	require.NoError(t, sim.Advance(t.Context(), time.Minute))
	runtime.ReadMemStats(&after)
	return work{count.asked, int(after.Mallocs - before.Mallocs)}
}
