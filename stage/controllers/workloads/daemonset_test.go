package workloads_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/clustertest"
	"github.com/stagecraft-go/stagecraft/stage/presets"
)

func TestADaemonSetRunsOnEachNodeItIsFor(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{Nodes: 3})
	c.Patch("Node", "node-001", `{spec: {taints: [{key: dedicated, effect: NoSchedule}]}}`)
	c.Load(clustertest.Manifest("daemonset"))
	c.Settle()
	c.RequireStatus("DaemonSet", "agent", `
{currentNumberScheduled: 2, desiredNumberScheduled: 2, numberAvailable: 2, numberMisscheduled: 0, numberReady: 2, observedGeneration: 1, updatedNumberScheduled: 2}`)
	c.RequireCurrent("DaemonSet", "agent")

	c.Patch("Node", "node-001", `{spec: {taints: null}}`)
	c.Settle()
	require.Equal(t, int64(3), c.Field("DaemonSet", "agent", "status", "numberAvailable"))

	c.Patch("Node", "node-002", `{spec: {taints: [{key: dedicated, effect: NoSchedule}]}}`)
	c.Settle()
	require.Equal(t, int64(1), c.Field("DaemonSet", "agent", "status", "numberMisscheduled"), "it may go on")
	c.Patch("Node", "node-002", `{spec: {taints: [{key: dedicated, effect: NoExecute}]}}`)
	c.Settle()
	require.Equal(t, int64(0), c.Field("DaemonSet", "agent", "status", "numberMisscheduled"))
	require.Len(t, c.List("Pod", ""), 2)
	c.RequireCurrent("DaemonSet", "agent")
	require.Empty(t, c.Errors)
}

func TestADaemonSetReplacesOnePodAfterAnother(t *testing.T) {
	for name, strategy := range map[string]string{
		"unavailable": `{spec: {updateStrategy: {rollingUpdate: {maxUnavailable: 2}}}}`,
		"surge":       `{spec: {updateStrategy: {rollingUpdate: {maxSurge: "50%", maxUnavailable: 0}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			c := clustertest.New(t, clustertest.Options{Nodes: 5, Pods: presets.PodGeneral})
			c.Load(clustertest.Manifest("daemonset"))
			c.Patch("DaemonSet", "agent", strategy)
			c.Advance(time.Minute)
			c.RequireCurrent("DaemonSet", "agent")
			c.Patch("DaemonSet", "agent", `{spec: {template: {spec: {containers: [{name: c, image: "i:2"}]}}}}`)
			most, least := 0, 5
			c.EachStep(10*time.Minute, func() {
				all, ready := c.CountPods()
				least, most = min(least, ready), max(most, all)
			})
			for _, image := range c.Images("") {
				require.Equal(t, "i:2", image)
			}
			if name == "surge" {
				require.Equal(t, 5, least)
				require.Greater(t, most, 5)
			} else {
				require.Equal(t, 3, least)
				require.Equal(t, 5, most)
			}
			c.RequireCurrent("DaemonSet", "agent")
			require.Empty(t, c.Errors)
		})
	}
}
