package simulated_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/workloads"
	"github.com/stagecraft-go/stagecraft/stage/lab/load"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
	"github.com/stagecraft-go/stagecraft/stage/reconcile/timing"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

var timedPods = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}

// running has a Pod run after a second.
const running = `
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: running}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector: {matchExpressions: [{key: .status.phase, operator: In, values: [Pending]}, {key: .metadata.labels.hold, operator: DoesNotExist}]}
  delay: {durationMilliseconds: 1000}
  next: {statusTemplate: "{phase: Running}"}
`

// runPods creates Pods on a Node and returns when they run, in seconds.
func runPods(t *testing.T, n int, limits *simulation.Timing, between func(*simulation.Simulation)) (at []float64) {
	t.Helper()
	s, err := simulation.New(stage.MustCompile(stage.Parse("running.yaml", []byte(running))), simulation.Options{Timing: limits})
	require.NoError(t, err)
	defer s.Close()
	start := s.Now()
	require.NoError(t, s.On(timedPods, func(_ context.Context, e watch.Event) error {
		if phase, _, _ := unstructured.NestedString(e.Object.(*unstructured.Unstructured).Object, "status", "phase"); phase == "Running" && e.Type == watch.Modified {
			at = append(at, s.Now().Sub(start).Seconds())
		}
		return nil
	}))
	for i := range n {
		pod := "{apiVersion: v1, kind: Pod, metadata: {name: p%d, namespace: default}, spec: {nodeName: node-1, containers: [{name: c, image: i}]}}"
		require.NoError(t, s.Cluster().Load(t.Context(), fmt.Appendf(nil, pod, i)))
	}
	if between != nil {
		between(s)
	}
	require.NoError(t, s.Advance(t.Context(), time.Hour))
	return at
}

func TestKubeletsHaveLimits(t *testing.T) {
	require.Equal(t, []float64{1, 1, 1}, runPods(t, 3, nil, nil))
	require.Equal(t, []float64{1, 1, 1}, runPods(t, 3, &simulation.Timing{}, nil))

	late := &simulation.Timing{Timing: reconcile.Timing{WatchDelay: 2 * time.Second, Latency: timing.Latency{Patch: load.Fixed(3)}}}
	require.Equal(t, []float64{6, 6, 6}, runPods(t, 3, late, nil), "seen after 2 s, due after 1 s, done after 3 s")

	slow := &simulation.Timing{Kubelet: simulation.KubeletTiming{Limits: timing.Limits{QPS: 2, Burst: 1}}}
	require.Equal(t, []float64{1, 1.5, 2, 2.5}, runPods(t, 4, slow, nil))

	starts := &simulation.Timing{Kubelet: simulation.KubeletTiming{Starts: timing.Limits{QPS: 0.1, Burst: 2}}}
	require.Equal(t, []float64{1, 1, 11, 21}, runPods(t, 4, starts, nil))
}

// TestWhatHappensWhileAKubeletWaits: its request is for a Pod that is another by then.
func TestWhatHappensWhileAKubeletWaits(t *testing.T) {
	slow := &simulation.Timing{Timing: reconcile.Timing{Latency: timing.Latency{Patch: load.Fixed(10)}}}
	name := types.NamespacedName{Namespace: "default", Name: "p0"}
	patch := func(data string) func(*simulation.Simulation) {
		return func(s *simulation.Simulation) {
			s.At(s.Now().Add(5*time.Second), func(ctx context.Context) error {
				_, err := s.Cluster().Patch(ctx, timedPods, name, types.MergePatchType, []byte(data), metav1.PatchOptions{})
				return err
			})
		}
	}
	require.Equal(t, []float64{11}, runPods(t, 1, slow, patch(`{"metadata":{"labels":{"other":"x"}}}`)))
	require.Empty(t, runPods(t, 1, slow, patch(`{"metadata":{"labels":{"hold":"x"}}}`)), "the Stage does not match any more")
	require.Empty(t, runPods(t, 1, slow, func(s *simulation.Simulation) {
		s.At(s.Now().Add(5*time.Second), func(ctx context.Context) error {
			return s.Cluster().Delete(ctx, timedPods, name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
		})
	}))
	again := func(s *simulation.Simulation) {
		s.At(s.Now().Add(5*time.Second), func(ctx context.Context) error {
			if err := s.Cluster().Delete(ctx, timedPods, name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}); err != nil {
				return err
			}
			return s.Cluster().Load(ctx, []byte("{apiVersion: v1, kind: Pod, metadata: {name: p0, namespace: default}, spec: {nodeName: node-1, containers: [{name: c, image: i}]}}"))
		})
	}
	require.Equal(t, []float64{22}, runPods(t, 1, slow, again), "seen when the old request is through, at 11 s")
}

const timedReplicaSet = `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web, namespace: default}, spec: {
  replicas: 3, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}}}`

func withReplicaSets(t *testing.T, limits *simulation.Timing) *simulation.Simulation {
	s, err := simulation.New(stage.MustCompile(), simulation.Options{Controllers: []reconcile.Controller{workloads.ReplicaSets()}, Timing: limits})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	require.NoError(t, s.Cluster().Load(t.Context(), []byte(timedReplicaSet)))
	return s
}

func podsOf(t *testing.T, s *simulation.Simulation) []unstructured.Unstructured {
	list, err := s.Cluster().List(t.Context(), timedPods, "", metav1.ListOptions{})
	require.NoError(t, err)
	return list.Items
}

// TestThePositionOfAProcess: a controller that does not see that a Pod is gone does not replace it.
func TestThePositionOfAProcess(t *testing.T) {
	for _, limits := range []*simulation.Timing{nil, simulation.ClusterLike()} {
		s := withReplicaSets(t, limits)
		require.NoError(t, s.Advance(t.Context(), time.Minute))
		require.Len(t, podsOf(t, s), 3)
		require.Nil(t, s.View("nobody", timedPods))
		v := s.View("replicaset", timedPods)
		v.Pause()
		gone := podsOf(t, s)[0].GetName()
		require.NoError(t, s.Cluster().Delete(t.Context(), timedPods, types.NamespacedName{Namespace: "default", Name: gone}, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
		require.NoError(t, s.Advance(t.Context(), time.Hour))
		require.Len(t, podsOf(t, s), 2)
		require.Positive(t, v.Behind())
		v.Resume()
		require.NoError(t, s.Advance(t.Context(), time.Minute))
		require.Len(t, podsOf(t, s), 3)
	}
}

// TestCloseLeavesNoGoroutine: a bubble would find it.
func TestCloseLeavesNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := simulation.ClusterLike()
		slow.Latency.Create = load.Fixed(60)
		s := withReplicaSets(t, slow)
		require.NoError(t, s.Advance(t.Context(), time.Second))
		require.Empty(t, podsOf(t, s))
	})
}

// TestAContextThatEndsBetweenSteps checks that a context that ends between steps does not end
// started work.
func TestAContextThatEndsBetweenSteps(t *testing.T) {
	slow := simulation.ClusterLike()
	slow.Latency.Create = load.Fixed(60)
	s := withReplicaSets(t, slow)
	ctx, cancel := context.WithCancel(t.Context())
	require.NoError(t, s.Advance(ctx, time.Second))
	cancel()
	require.NoError(t, s.Advance(t.Context(), time.Hour))
	require.Len(t, podsOf(t, s), 3)
}

func TestTimingPrintsItsNumbers(t *testing.T) {
	var ideal *simulation.Timing
	require.Equal(t, "control plane: ideal: nothing takes time\n", ideal.String())
	text := simulation.ClusterLike().String()
	for _, want := range []string{
		"a creation takes: median 5ms, p99 50ms\n", "watches are late by: 2ms\n", "each kubelet: 50 requests/s, burst 100\n",
		"controller job: 20 requests/s, burst 30, workers 5, gathers changes for 1s\n", "controller service: part of the API server: its requests take no time\n",
		"other controllers: no limit, workers 1\n",
	} {
		require.Contains(t, text, want)
	}
	require.Contains(t, (&simulation.Timing{}).String(), "a patch takes: no time\n")
}
