package controllers_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/presets"
)

const agent = `
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: c, image: "i:1"}]}
`

func TestADaemonSetRunsOnEachNodeItIsFor(t *testing.T) {
	l := newLab(t, setting{nodes: 3})
	l.patch("Node", "node-001", `{spec: {taints: [{key: dedicated, effect: NoSchedule}]}}`)
	l.load(agent)
	l.settle()
	l.requireStatus("DaemonSet", "agent", `
{currentNumberScheduled: 2, desiredNumberScheduled: 2, numberAvailable: 2, numberMisscheduled: 0, numberReady: 2, observedGeneration: 1, updatedNumberScheduled: 2}`)
	l.requireCurrent("DaemonSet", "agent")

	l.patch("Node", "node-001", `{spec: {taints: null}}`)
	l.settle()
	require.Equal(t, int64(3), l.field("DaemonSet", "agent", "status", "numberAvailable"))

	l.patch("Node", "node-002", `{spec: {taints: [{key: dedicated, effect: NoSchedule}]}}`)
	l.settle()
	require.Equal(t, int64(1), l.field("DaemonSet", "agent", "status", "numberMisscheduled"), "it may go on")
	l.patch("Node", "node-002", `{spec: {taints: [{key: dedicated, effect: NoExecute}]}}`)
	l.settle()
	require.Equal(t, int64(0), l.field("DaemonSet", "agent", "status", "numberMisscheduled"))
	require.Len(t, l.list("Pod", ""), 2)
	l.requireCurrent("DaemonSet", "agent")
	require.Empty(t, l.fails)
}

func TestADaemonSetReplacesOnePodAfterAnother(t *testing.T) {
	for name, strategy := range map[string]string{
		"unavailable": `{spec: {updateStrategy: {rollingUpdate: {maxUnavailable: 2}}}}`,
		"surge":       `{spec: {updateStrategy: {rollingUpdate: {maxSurge: "50%", maxUnavailable: 0}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, setting{nodes: 5, pods: presets.PodGeneral})
			l.load(agent)
			l.patch("DaemonSet", "agent", strategy)
			l.advance(time.Minute)
			l.requireCurrent("DaemonSet", "agent")
			l.patch("DaemonSet", "agent", `{spec: {template: {spec: {containers: [{name: c, image: "i:2"}]}}}}`)
			most, least := 0, 5
			l.steps(10*time.Minute, func() {
				all, ready := l.census()
				least, most = min(least, ready), max(most, all)
			})
			for _, image := range l.images("") {
				require.Equal(t, "i:2", image)
			}
			if name == "surge" {
				require.Equal(t, 5, least)
				require.Greater(t, most, 5)
			} else {
				require.Equal(t, 3, least)
				require.Equal(t, 5, most)
			}
			l.requireCurrent("DaemonSet", "agent")
			require.Empty(t, l.fails)
		})
	}
}
