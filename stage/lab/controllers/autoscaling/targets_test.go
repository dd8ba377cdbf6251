package autoscaling_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/autoscaling"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

var trainKind = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Train"}

// A train is the result of an autoscaler of a custom resource.
type train struct {
	wagons     any
	conditions map[string]string
	events     []string // warnings
}

// autoscaledTrain plays a minute of an autoscaler of a custom resource whose Pods use twice their
// target. A function can refuse writes.
func autoscaledTrain(t *testing.T, selector string, refuse func(*memory.Review) error) (found train) {
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
		Start: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Kinds: []memory.Kind{{GroupVersionKind: trainKind, Status: true}}, Reconcile: reconcile.Options{Events: true},
		Controllers: []reconcile.Controller{autoscaling.HorizontalPodAutoscalers(autoscaling.Options{Metrics: double, Targets: []autoscaling.Target{target}})},
	})
	require.NoError(t, err)
	defer sim.Close()
	sim.Cluster().Extend(memory.Hooks{Name: "refuse", Validate: refuse})
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
	get := func(kind schema.GroupVersionKind) map[string]any {
		obj, err := sim.Cluster().Get(context.Background(), kind, types.NamespacedName{Namespace: "default", Name: "t"})
		require.NoError(t, err)
		return obj.Object
	}
	list, _, _ := unstructured.NestedSlice(get(autoscalerKind), "status", "conditions")
	found.conditions = map[string]string{}
	for _, v := range list {
		c := v.(map[string]any)
		found.conditions[c["type"].(string)] = fmt.Sprint(c["status"], " ", c["reason"])
	}
	found.wagons, _, _ = unstructured.NestedFieldNoCopy(get(trainKind), "spec", "wagons")
	events, err := sim.Cluster().List(context.Background(), schema.GroupVersionKind{Version: "v1", Kind: "Event"}, "default", metav1.ListOptions{})
	require.NoError(t, err)
	for _, e := range events.Items {
		if e.Object["type"] == "Warning" {
			found.events = append(found.events, fmt.Sprint(e.Object["reason"], ": ", e.Object["message"]))
		}
	}
	return found
}

var autoscalerKind = schema.GroupVersionKind{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}

// TestACustomResourceIsScaled by the paths of its subresource scale.
func TestACustomResourceIsScaled(t *testing.T) {
	found := autoscaledTrain(t, "train=t", nil)
	require.Equal(t, int64(2), found.wagons)
	require.Equal(t, "True ValidMetricFound", found.conditions["ScalingActive"])
	require.Empty(t, found.events)
}

// TestSelectorsThatCannotBeUsed: without a selector, or with a faulty one, the autoscaler scales
// nothing. It gives the reason and the Event of kube-controller-manager.
func TestSelectorsThatCannotBeUsed(t *testing.T) {
	_, unreadable := labels.Parse("train in")
	for selector, event := range map[string]string{
		"":         "SelectorRequired: selector is required",
		"train in": "InvalidSelector: couldn't convert selector into a corresponding internal selector object: " + unreadable.Error(),
	} {
		found := autoscaledTrain(t, selector, nil)
		require.Equal(t, int64(1), found.wagons)
		require.Equal(t, "False InvalidSelector", found.conditions["ScalingActive"], "%q", selector)
		require.Contains(t, found.events, event)
	}
}

var errRefused = errors.New("refused by a webhook")

// TestWritesThatAreRefused: a refused write of the scale is in the status and an Event, a refused
// write of the status in an Event.
func TestWritesThatAreRefused(t *testing.T) {
	found := autoscaledTrain(t, "train=t", func(v *memory.Review) error {
		if v.Resource.Resource == "trains" && v.Old != nil {
			return errRefused
		}
		return nil
	})
	require.Equal(t, int64(1), found.wagons)
	require.Equal(t, "False FailedUpdateScale", found.conditions["AbleToScale"])
	require.Equal(t, []string{"FailedRescale: New size: 2; reason: pods metric passengers above target; error: refused by a webhook"}, found.events)

	found = autoscaledTrain(t, "train=t", func(v *memory.Review) error {
		if v.Resource.Resource == "horizontalpodautoscalers" && v.Old != nil {
			return errRefused
		}
		return nil
	})
	require.Empty(t, found.conditions)
	require.Equal(t, []string{"FailedUpdateStatus: refused by a webhook"}, found.events)
}
