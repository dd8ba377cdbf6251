package batch_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/clustertest"
	"github.com/stagecraft-go/stagecraft/stage/presets"
)

func TestAJobCompletes(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{Nodes: 2, Pods: presets.PodFast})
	c.Load(clustertest.Manifest("job"))
	c.Settle()
	c.RequireStatus("Job", "sums", `
completionTime: "2026-01-01T00:00:00Z"
conditions:
- lastProbeTime: "2026-01-01T00:00:00Z"
  lastTransitionTime: "2026-01-01T00:00:00Z"
  message: Reached expected number of succeeded pods
  reason: CompletionsReached
  status: "True"
  type: SuccessCriteriaMet
- lastProbeTime: "2026-01-01T00:00:00Z"
  lastTransitionTime: "2026-01-01T00:00:00Z"
  message: Reached expected number of succeeded pods
  reason: CompletionsReached
  status: "True"
  type: Complete
ready: 0
startTime: "2026-01-01T00:00:00Z"
succeeded: 5
terminating: 0
uncountedTerminatedPods: {}
`)
	c.RequireCurrent("Job", "sums")
	require.Len(t, c.List("Pod", "job-name=sums"), 5)
	for _, p := range c.List("Pod", "") {
		require.Empty(t, p.GetFinalizers())
	}
	require.Empty(t, c.Errors)
}

func TestAJobRunsAsManyPodsAsItMay(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{Nodes: 2, Pods: presets.PodGeneral})
	c.Load(clustertest.Manifest("job"))
	for range 100 {
		c.Advance(time.Second)
		active, _ := c.Field("Job", "sums", "status", "active").(int64)
		require.LessOrEqual(t, active, int64(2))
	}
	c.RequireCurrent("Job", "sums")
	require.Equal(t, int64(5), c.Field("Job", "sums", "status", "succeeded"))
}
