package autoscaling_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/controllers/autoscaling"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

var trainKind = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Train"}

// autoscaledTrain plays a minute of an autoscaler of a custom resource whose Pods use twice what
// they should, and returns how many wagons it has then and the conditions of the autoscaler.
func autoscaledTrain(t *testing.T, selector string) (wagons any, conditions map[string]string) {
	double := func(q autoscaling.Query) (values []autoscaling.Value, err error) {
		for _, pod := range q.Pods {
			values = append(values, autoscaling.Value{Pod: pod.GetName(), Quantity: resource.MustParse("20"), Time: q.Now, Window: time.Minute})
		}
		return values, nil
	}
	target := autoscaling.Target{Kind: trainKind, Resource: "trains", SpecReplicas: ".spec.wagons", StatusReplicas: ".status.wagons", Selector: ".status.pods"}
	set, err := stage.Compile(stage.Options{})
	require.NoError(t, err)
	sim, err := simulation.New(set, simulation.Options{
		Start: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Kinds: []memory.Kind{{GroupVersionKind: trainKind, Status: true}},
		Controllers: []reconcile.Controller{autoscaling.HorizontalPodAutoscalers(autoscaling.Options{Metrics: double, Targets: []autoscaling.Target{target}})},
	})
	require.NoError(t, err)
	defer sim.Close()
	require.NoError(t, sim.Cluster().Load(context.Background(), fmt.Appendf(nil, `
{apiVersion: example.com/v1, kind: Train, metadata: {name: t}, spec: {wagons: 1}, status: {wagons: 1, pods: %q}}
---
{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {train: t}}, spec: {containers: [{name: c, image: i}]},
  status: {phase: Running, startTime: "2026-01-01T00:00:00Z", conditions: [{type: Ready, status: "True", lastTransitionTime: "2026-01-01T00:00:00Z"}]}}
---
{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: t}, spec: {maxReplicas: 10,
  scaleTargetRef: {apiVersion: example.com/v1, kind: Train, name: t},
  metrics: [{type: Pods, pods: {metric: {name: passengers}, target: {type: AverageValue, averageValue: "10"}}}]}}
`, selector)))
	require.NoError(t, sim.Advance(context.Background(), 20*time.Second))
	train, err := sim.Cluster().Get(context.Background(), trainKind, types.NamespacedName{Namespace: "default", Name: "t"})
	require.NoError(t, err)
	hpa, err := sim.Cluster().Get(context.Background(), schema.GroupVersionKind{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}, types.NamespacedName{Namespace: "default", Name: "t"})
	require.NoError(t, err)
	list, _, _ := unstructured.NestedSlice(hpa.Object, "status", "conditions")
	conditions = map[string]string{}
	for _, v := range list {
		c := v.(map[string]any)
		conditions[c["type"].(string)] = fmt.Sprint(c["status"], " ", c["reason"])
	}
	return train.Object["spec"].(map[string]any)["wagons"], conditions
}

// TestACustomResourceIsScaled by the paths of its subresource scale.
func TestACustomResourceIsScaled(t *testing.T) {
	wagons, conditions := autoscaledTrain(t, "train=t")
	require.Equal(t, int64(2), wagons)
	require.Equal(t, "True ValidMetricFound", conditions["ScalingActive"])
}

// TestSelectorsThatCannotBeUsed: without a selector, or with one that cannot be read, nothing is
// scaled, with the reason of kube-controller-manager.
func TestSelectorsThatCannotBeUsed(t *testing.T) {
	for _, selector := range []string{"", "train in"} {
		wagons, conditions := autoscaledTrain(t, selector)
		require.Equal(t, int64(1), wagons)
		require.Equal(t, "False InvalidSelector", conditions["ScalingActive"], "%q", selector)
	}
}
