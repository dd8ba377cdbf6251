package workloads_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/clustertest"
	"github.com/stagecraft-go/stagecraft/stage/presets"
)

func TestADaemonSetRunsOnEachNodeItIsFor(t *testing.T) {
	l := clustertest.New(t, clustertest.Options{Nodes: 3})
	l.Patch("Node", "node-001", `{spec: {taints: [{key: dedicated, effect: NoSchedule}]}}`)
	l.Load(clustertest.Manifest("daemonset"))
	l.Settle()
	l.RequireStatus("DaemonSet", "agent", `
{currentNumberScheduled: 2, desiredNumberScheduled: 2, numberAvailable: 2, numberMisscheduled: 0, numberReady: 2, observedGeneration: 1, updatedNumberScheduled: 2}`)
	l.RequireCurrent("DaemonSet", "agent")

	l.Patch("Node", "node-001", `{spec: {taints: null}}`)
	l.Settle()
	require.Equal(t, int64(3), l.Field("DaemonSet", "agent", "status", "numberAvailable"))

	l.Patch("Node", "node-002", `{spec: {taints: [{key: dedicated, effect: NoSchedule}]}}`)
	l.Settle()
	require.Equal(t, int64(1), l.Field("DaemonSet", "agent", "status", "numberMisscheduled"), "it may go on")
	l.Patch("Node", "node-002", `{spec: {taints: [{key: dedicated, effect: NoExecute}]}}`)
	l.Settle()
	require.Equal(t, int64(0), l.Field("DaemonSet", "agent", "status", "numberMisscheduled"))
	require.Len(t, l.List("Pod", ""), 2)
	l.RequireCurrent("DaemonSet", "agent")
	require.Empty(t, l.Errors)
}

func TestADaemonSetReplacesOnePodAfterAnother(t *testing.T) {
	for name, strategy := range map[string]string{
		"unavailable": `{spec: {updateStrategy: {rollingUpdate: {maxUnavailable: 2}}}}`,
		"surge":       `{spec: {updateStrategy: {rollingUpdate: {maxSurge: "50%", maxUnavailable: 0}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			l := clustertest.New(t, clustertest.Options{Nodes: 5, Pods: presets.PodGeneral})
			l.Load(clustertest.Manifest("daemonset"))
			l.Patch("DaemonSet", "agent", strategy)
			l.Advance(time.Minute)
			l.RequireCurrent("DaemonSet", "agent")
			l.Patch("DaemonSet", "agent", `{spec: {template: {spec: {containers: [{name: c, image: "i:2"}]}}}}`)
			most, least := 0, 5
			l.EachStep(10*time.Minute, func() {
				all, ready := l.CountPods()
				least, most = min(least, ready), max(most, all)
			})
			for _, image := range l.Images("") {
				require.Equal(t, "i:2", image)
			}
			if name == "surge" {
				require.Equal(t, 5, least)
				require.Greater(t, most, 5)
			} else {
				require.Equal(t, 3, least)
				require.Equal(t, 5, most)
			}
			l.RequireCurrent("DaemonSet", "agent")
			require.Empty(t, l.Errors)
		})
	}
}
