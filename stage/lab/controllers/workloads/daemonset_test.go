package workloads_test

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/clustertest"
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
	require.Equal(t, int64(0), c.Field("DaemonSet", "agent", "status", "numberMisscheduled"), "a Node whose Pod may go on is no reason to look")
	c.Patch("DaemonSet", "agent", `{metadata: {labels: {look: again}}}`)
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

// podsThatFail makes Pods fail half a second after they were bound, and removes them as soon as
// they are deleted.
const podsThatFail = `
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: fail}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector: {matchExpressions: [{key: .status.phase, operator: In, values: [Pending]}, {key: .metadata.deletionTimestamp, operator: DoesNotExist}]}
  delay: {durationMilliseconds: 500}
  next: {statusTemplate: "{phase: Failed}"}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: gone}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector: {matchExpressions: [{key: .metadata.deletionTimestamp, operator: Exists}]}
  next: {delete: true}
`

// TestADaemonSetReplacesFailedPodsLater: a Pod that fails while the delay lasts is looked at again
// after the whole delay, as kube-controller-manager does.
func TestADaemonSetReplacesFailedPodsLater(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{Nodes: 1, Pods: func() stage.Source { return stage.Parse("pods.yaml", []byte(podsThatFail)) }})
	var created []float64
	start := c.Now()
	require.NoError(t, c.On(clustertest.Kind("Pod"), func(_ context.Context, e watch.Event) error {
		if e.Type == watch.Added {
			created = append(created, c.Now().Sub(start).Seconds())
		}
		return nil
	}))
	c.Load(clustertest.Manifest("daemonset"))
	c.Advance(time.Hour)
	require.Equal(t, []float64{0, 0.5, 2, 4.5, 9, 17.5, 34, 66.5, 131, 259.5, 516, 1028.5, 1929, 2829.5}, created)

	c.Patch("DaemonSet", "agent", `{spec: {minReadySeconds: 1}}`)
	c.Advance(time.Minute)
	require.Len(t, created, 20, "another generation begins anew")
	require.Empty(t, c.Errors)
}

// TestARolloutWithSurgeLeavesTaintedNodes: an old Pod that may go on but should not be there is
// deleted once enough others are available.
func TestARolloutWithSurgeLeavesTaintedNodes(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{Nodes: 3})
	c.Load(clustertest.Manifest("daemonset"))
	c.Patch("DaemonSet", "agent", `{spec: {updateStrategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}}}`)
	c.Settle()
	c.Patch("Node", "node-001", `{spec: {taints: [{key: dedicated, effect: NoSchedule}]}}`)
	c.Settle()
	require.Len(t, c.List("Pod", ""), 3)
	c.Patch("DaemonSet", "agent", `{spec: {template: {spec: {containers: [{name: c, image: "i:2"}]}}}}`)
	c.Settle()
	require.Equal(t, []string{"i:2", "i:2"}, slices.Collect(maps.Values(c.Images(""))))
	require.Empty(t, c.Errors)
}
