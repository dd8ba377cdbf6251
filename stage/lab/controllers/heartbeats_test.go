package controllers_test

import (
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/dev/race"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/clustertest"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/reads"
	"github.com/stagecraft-go/stagecraft/stage/presets"
)

// beating returns a cluster whose Nodes renew their conditions every 20 to 25 seconds.
func beating(t testing.TB, nodes int) *clustertest.Cluster {
	return clustertest.New(t, clustertest.Options{Nodes: nodes, Others: []stage.Source{presets.NodeHeartbeat()}})
}

// BenchmarkHeartbeats lets 1,000 Nodes renew their conditions for an hour, about 160 times each.
func BenchmarkHeartbeats(b *testing.B) {
	c := beating(b, 1000)
	b.ReportAllocs()
	start, written := processorTime(), writes(b, c)
	for b.Loop() {
		c.Advance(time.Hour)
	}
	b.ReportMetric(float64((processorTime()-start).Microseconds())/(writes(b, c)-written), "µs/heartbeat")
	require.Empty(b, c.Errors)
}

// TestAHeartbeatAllocatesLittle limits what one renewal of a Node costs: the Stage, the write, and the
// controllers that see it. A third of the allocations are the conditions themselves. Before, the
// conditions were copied twice more: there were 99 allocations and 10,600 bytes.
func TestAHeartbeatAllocatesLittle(t *testing.T) {
	if race.On {
		t.Skip("the race detector allocates")
	}
	reads.Pause(t)
	c := beating(t, 100)
	var before, after runtime.MemStats
	written := writes(t, c)
	runtime.ReadMemStats(&before)
	c.Advance(time.Hour)
	runtime.ReadMemStats(&after)
	heartbeats := writes(t, c) - written
	require.Greater(t, heartbeats, 100*3600/25.0)
	allocations, bytes := float64(after.Mallocs-before.Mallocs)/heartbeats, float64(after.TotalAlloc-before.TotalAlloc)/heartbeats
	t.Logf("%.1f allocations, %.0f bytes", allocations, bytes)
	require.Less(t, allocations, 58.0)
	require.Less(t, bytes, 6500.0)
}

// writes is how often the cluster has stored something.
func writes(t testing.TB, c *clustertest.Cluster) float64 {
	var latest uint64
	for _, node := range c.List("Node", "") {
		version, err := strconv.ParseUint(node.GetResourceVersion(), 10, 64)
		require.NoError(t, err)
		latest = max(latest, version)
	}
	return float64(latest)
}
