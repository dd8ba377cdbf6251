package autoscaling_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/autoscaling"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/clustertest"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

const autoscaled = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata:
      labels: {app: web}
      annotations: {metrics.stagecraft-go.github.io/cpu: 150m}
    spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 100m}}}]}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec: {maxReplicas: 10, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}
`

func conditions(c *clustertest.Cluster) map[string]string {
	found := map[string]string{}
	for _, v := range c.Field("HorizontalPodAutoscaler", "web", "status", "conditions").([]any) {
		condition := v.(map[string]any)
		found[condition["type"].(string)] = condition["status"].(string) + " " + condition["reason"].(string)
	}
	return found
}

// TestAnAutoscalerFollowsAnnotations: with a use of 150 % of the requests and a target of 80 %, the
// replicas double at most, every 15 s. When the Pods use less, the replicas stay for 5 minutes.
func TestAnAutoscalerFollowsAnnotations(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{Nodes: 2})
	start := c.Now()
	scaled := map[time.Duration]int64{}
	require.NoError(t, c.On(clustertest.Kind("Deployment"), func(context.Context, watch.Event) error {
		n, _ := c.Field("Deployment", "web", "spec", "replicas").(int64)
		for _, known := range scaled {
			if known == n {
				return nil
			}
		}
		scaled[c.Now().Sub(start)] = n
		return nil
	}))
	c.Load(autoscaled)
	c.Advance(time.Minute)
	require.Equal(t, map[time.Duration]int64{0: 2, 15 * time.Second: 4, 30 * time.Second: 8, 45 * time.Second: 10}, scaled)
	require.Equal(t, map[string]string{"AbleToScale": "True ReadyForNewScale", "ScalingActive": "True ValidMetricFound", "ScalingLimited": "True TooManyReplicas"}, conditions(c))
	require.Equal(t, []any{map[string]any{"type": "Resource", "resource": map[string]any{
		"name": "cpu", "current": map[string]any{"averageUtilization": int64(150), "averageValue": "150m"},
	}}}, c.Field("HorizontalPodAutoscaler", "web", "status", "currentMetrics"))
	require.Equal(t, "2026-01-01T00:00:45Z", c.Field("HorizontalPodAutoscaler", "web", "status", "lastScaleTime"))
	c.RequireCurrent("HorizontalPodAutoscaler", "web")

	for _, pod := range c.Names("Pod", "app=web") {
		c.Patch("Pod", pod, `{metadata: {annotations: {metrics.stagecraft-go.github.io/cpu: 8m}}}`)
	}
	c.Advance(4 * time.Minute)
	require.Equal(t, int64(10), c.Field("Deployment", "web", "spec", "replicas"))
	require.Equal(t, "True ScaleDownStabilized", conditions(c)["AbleToScale"])
	c.Advance(2 * time.Minute)
	require.Equal(t, int64(1), c.Field("Deployment", "web", "spec", "replicas"))
	require.Empty(t, c.Errors)
}

// TestAnAutoscalerWithoutMetricsSaysSo: no number is invented.
func TestAnAutoscalerWithoutMetricsSaysSo(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{Nodes: 2})
	c.Load(autoscaled)
	c.Patch("Deployment", "web", `{spec: {template: {metadata: {annotations: {metrics.stagecraft-go.github.io/cpu: null}}}}}`)
	c.Advance(time.Minute)
	require.Equal(t, int64(2), c.Field("Deployment", "web", "spec", "replicas"))
	require.Equal(t, "False FailedGetResourceMetric", conditions(c)["ScalingActive"])
	version := c.Get("HorizontalPodAutoscaler", "web").GetResourceVersion()
	c.Advance(time.Minute)
	require.Equal(t, version, c.Get("HorizontalPodAutoscaler", "web").GetResourceVersion(), "a status that stays is not written again")

	c.Patch("Deployment", "web", `{spec: {template: {metadata: {annotations: {metrics.stagecraft-go.github.io/cpu: much}}}}}`)
	c.Advance(time.Minute)
	var message string
	for _, v := range c.Field("HorizontalPodAutoscaler", "web", "status", "conditions").([]any) {
		if condition := v.(map[string]any); condition["type"] == "ScalingActive" {
			message = condition["message"].(string)
		}
	}
	require.Contains(t, message, "metadata.annotations[metrics.stagecraft-go.github.io/cpu] of Pod web-")
	require.NoError(t, c.Cluster().Delete(context.Background(), clustertest.Kind("Deployment"), types.NamespacedName{Namespace: "default", Name: "web"}, metav1.DeleteOptions{}))
	c.Advance(time.Minute)
	require.Equal(t, "False FailedGetScale", conditions(c)["AbleToScale"])
	require.Empty(t, c.Errors)
}

// TestLooksThatAreLeftOutChangeNothing compares with a function that might depend on the time, so
// that no look is left out.
func TestLooksThatAreLeftOutChangeNothing(t *testing.T) {
	run := func(o autoscaling.Options) (history []string, looks int) {
		set, err := stage.Compile(stage.Options{})
		require.NoError(t, err)
		sim, err := simulation.New(set, simulation.Options{
			Start: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Controllers: []reconcile.Controller{autoscaling.HorizontalPodAutoscalers(o)},
			Reconcile: reconcile.Options{Trace: func(reconcile.TraceEvent) { looks++ }},
		})
		require.NoError(t, err)
		note := func(_ context.Context, e watch.Event) error {
			obj := e.Object.(*unstructured.Unstructured)
			history = append(history, fmt.Sprint(sim.Now().Format("15:04:05"), obj.Object["spec"], obj.Object["status"]))
			return nil
		}
		require.NoError(t, sim.On(clustertest.Kind("HorizontalPodAutoscaler"), note))
		require.NoError(t, sim.On(clustertest.Kind("Deployment"), note))
		pod := "{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {app: web}, annotations: {metrics.stagecraft-go.github.io/cpu: 150m}}, " +
			"spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 100m}}}]}, " +
			"status: {phase: Running, startTime: '2026-01-01T00:00:00Z', conditions: [{type: Ready, status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z'}]}}"
		require.NoError(t, sim.Cluster().Load(context.Background(), []byte(autoscaled+"---\n"+pod)))
		for _, cpu := range []string{"150m", "70m", "300m", "80m", "10m", "81m", ""} {
			require.NoError(t, sim.Advance(context.Background(), 23*time.Minute+7*time.Second))
			data := fmt.Appendf(nil, `{"metadata": {"annotations": {"metrics.stagecraft-go.github.io/cpu": %q}}}`, cpu)
			_, err := sim.Cluster().Patch(context.Background(), clustertest.Kind("Pod"), types.NamespacedName{Namespace: "default", Name: "p"}, types.MergePatchType, data, metav1.PatchOptions{})
			require.NoError(t, err)
		}
		require.NoError(t, sim.Advance(context.Background(), time.Hour))
		return history, looks
	}
	all, allLooks := run(autoscaling.Options{Metrics: autoscaling.FromAnnotations})
	some, looks := run(autoscaling.Options{})
	require.Equal(t, all, some)
	require.Less(t, looks, allLooks/2)
}
