package controllers_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/batch"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/clustertest"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/kubelet"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/scheduling"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/workloads"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
	"github.com/stagecraft-go/stagecraft/stage/reconcile/timing"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

var (
	podKind   = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	jobKind   = schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}
	eventKind = schema.GroupVersionKind{Version: "v1", Kind: "Event"}
)

// rateLimited is a cluster where only the rate limits of the controllers take time, as in the runs
// of the real controllers.
func rateLimited() *simulation.Timing {
	t := simulation.ClusterLike()
	t.Latency, t.WatchDelay, t.Kubelet = timing.Latency{}, 0, simulation.KubeletTiming{}
	return t
}

func timed(t *testing.T, set *stage.Set, o simulation.Options) *simulation.Simulation {
	t.Helper()
	o.Start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	o.Reconcile.Trace = func(e reconcile.TraceEvent) { require.NoError(t, e.Err, e) }
	s, err := simulation.New(set, o)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

const timedReplicaSet = `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: rs, namespace: default}, spec: {
  replicas: %d, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}`

// TestReplicaSetIsAsFastAsThatOfKubernetes compares when the last Pod of a ReplicaSet is created
// with when the real controller did it, behind client-go's token bucket.
func TestReplicaSetIsAsFastAsThatOfKubernetes(t *testing.T) {
	for n, want := range map[int]map[bool]float64{ // seconds, with and without Events
		100:   {true: 4.35, false: 3.50},
		500:   {true: 24.45, false: 23.50},
		1000:  {true: 49.80, false: 48.55},
		3000:  {true: 150.0, false: 148.75},
		10000: {true: 500.75},
	} {
		for events, seconds := range want {
			limits := rateLimited()
			limits.Events = events
			s := timed(t, stage.MustCompile(), simulation.Options{Controllers: []reconcile.Controller{workloads.ReplicaSets()}, Timing: limits})
			last, pods := s.Now(), 0
			require.NoError(t, s.On(podKind, func(_ context.Context, e watch.Event) error {
				last = s.Now()
				pods++
				return nil
			}))
			require.NoError(t, s.Cluster().Load(t.Context(), fmt.Appendf(nil, timedReplicaSet, n)))
			start := s.Now()
			require.NoError(t, s.Advance(t.Context(), 20*time.Minute))
			require.Equal(t, n, pods)
			got := last.Sub(start).Seconds()
			t.Logf("%d Pods, Events %v: %.2f s, with Kubernetes %.2f s (%+.2f %%)", n, events, got, seconds, 100*(got/seconds-1))
			require.InEpsilon(t, seconds, got, 0.02, "%d", n)
		}
	}
}

// TestSchedulerIsAsFastAsItsFlagsSay: 50 bindings a second after a burst of 100.
func TestSchedulerIsAsFastAsItsFlagsSay(t *testing.T) {
	limits := rateLimited()
	s := timed(t, stage.MustCompile(presets.NodeFast()), simulation.Options{
		Controllers: []reconcile.Controller{scheduling.Scheduler(scheduling.Options{})}, Timing: limits,
	})
	for i := range 10 {
		node := "{apiVersion: v1, kind: Node, metadata: {name: n%d}, status: {allocatable: {cpu: '32', memory: 64Gi, pods: '110'}}}"
		require.NoError(t, s.Cluster().Load(t.Context(), fmt.Appendf(nil, node, i)))
	}
	require.NoError(t, s.Advance(t.Context(), time.Minute))
	bound, last, start := 0, s.Now(), s.Now()
	require.NoError(t, s.On(podKind, func(_ context.Context, e watch.Event) error {
		if node, _, _ := unstructured.NestedString(e.Object.(*unstructured.Unstructured).Object, "spec", "nodeName"); node != "" {
			bound++
			last = s.Now()
		}
		return nil
	}))
	for i := range 1000 {
		pod := "{apiVersion: v1, kind: Pod, metadata: {name: p%d, namespace: default}, spec: {containers: [{name: c, image: i}]}}"
		require.NoError(t, s.Cluster().Load(t.Context(), fmt.Appendf(nil, pod, i)))
	}
	require.NoError(t, s.Advance(t.Context(), time.Minute))
	require.Equal(t, 2*1000, bound, "the binding, and the condition at once")
	require.InEpsilon(t, 18, last.Sub(start).Seconds(), 0.02)
}

const timedJob = `{apiVersion: batch/v1, kind: Job, metadata: {name: j%d, namespace: default}, spec: {
  completions: 1, parallelism: 1, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}`

// TestJobsAreAsFastAsThoseOfKubernetes does the same for Jobs whose Pods are ready after 11 s and
// succeed after 10 s more.
func TestJobsAreAsFastAsThoseOfKubernetes(t *testing.T) {
	for _, c := range []struct {
		jobs int
		want float64
	}{{1, 22.0}, {10, 22.3}, {20, 24.1}, {50, 29.6}, {75, 34.0}, {100, 38.9}} {
		set := stage.MustCompile(stage.Parse("pods.yaml", []byte(podLife)))
		s := timed(t, set, simulation.Options{Controllers: []reconcile.Controller{batch.Jobs()}, Timing: rateLimited()})
		last, complete := s.Now(), 0
		writes := 0
		require.NoError(t, s.On(jobKind, func(_ context.Context, e watch.Event) error {
			writes++
			conditions, _, _ := unstructured.NestedSlice(e.Object.(*unstructured.Unstructured).Object, "status", "conditions")
			for _, condition := range conditions {
				if condition.(map[string]any)["type"] == "Complete" {
					last = s.Now()
					complete++
				}
			}
			return nil
		}))
		start := s.Now()
		for i := range c.jobs {
			require.NoError(t, s.Cluster().Load(t.Context(), fmt.Appendf(nil, timedJob, i)))
		}
		require.NoError(t, s.Advance(t.Context(), 10*time.Minute))
		require.Equal(t, c.jobs, complete)
		got := last.Sub(start).Seconds()
		t.Logf("%d Jobs: %.2f s, with Kubernetes %.2f s (%+.2f %%), %d Job states", c.jobs, got, c.want, 100*(got/c.want-1), writes)
		require.InEpsilon(t, c.want, got, 0.02)
		events, err := s.Cluster().List(t.Context(), eventKind, "", metav1.ListOptions{})
		require.NoError(t, err)
		require.Len(t, events.Items, 2*c.jobs)
	}
}

// podLife has a Pod ready after 11 s and succeeded 10 s later.
const podLife = `
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: ready}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector: {matchExpressions: [{key: .status.phase, operator: In, values: [Pending]}]}
  delay: {durationMilliseconds: 11000}
  next: {statusTemplate: "{phase: Running, conditions: [{type: Ready, status: 'True'}]}"}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: succeeded}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector: {matchExpressions: [{key: .status.phase, operator: In, values: [Running]}]}
  delay: {durationMilliseconds: 10000}
  next: {statusTemplate: "{phase: Succeeded, conditions: [{type: Ready, status: 'False'}]}"}
`

// TestClusterLikeKnowsAllControllers checks that a new or renamed controller does not lose its
// limits silently.
func TestClusterLikeKnowsAllControllers(t *testing.T) {
	known := simulation.ClusterLike().Controllers
	names := map[string]bool{}
	for _, c := range append(controllers.All(controllers.Options{}), kubelet.Pods(kubelet.Options{}, nil)) {
		_, ok := known[c.Name]
		require.True(t, ok, "ClusterLike in stage/simulation/timing.go has no limits for the controller %q", c.Name)
		names[c.Name] = true
	}
	for name := range known {
		require.True(t, names[name], "there is no controller %q", name)
	}
}

// TestTimeChangesNoOutcome plays the same objects with and without time. The end is the same, and
// nothing is created twice on the way.
func TestTimeChangesNoOutcome(t *testing.T) {
	outcome := func(timing *simulation.Timing, seed uint64) (counts map[string]int) {
		c := clustertest.New(t, clustertest.Options{Nodes: 4, Pods: presets.PodGeneral, Seed: seed, Timing: timing})
		counts = map[string]int{}
		require.NoError(t, c.On(podKind, func(_ context.Context, e watch.Event) error {
			if e.Type == watch.Added {
				counts["Pods created"]++
			}
			return nil
		}))
		c.Load(clustertest.Bundle())
		c.Load(clustertest.Fleet(6))
		c.Advance(5 * time.Minute)
		c.Patch("Deployment", "web-0001", `{spec: {replicas: 3}}`)
		c.Advance(5*time.Minute + 30*time.Second) // beyond the second start of the CronJob
		for _, kind := range []string{"Pod", "ReplicaSet", "Deployment", "StatefulSet", "DaemonSet", "Job", "PersistentVolume", "EndpointSlice", "ControllerRevision"} {
			for _, obj := range c.List(kind, "") {
				counts[kind]++
				for _, field := range []string{"replicas", "readyReplicas", "availableReplicas", "numberReady", "succeeded"} {
					n, _, _ := unstructured.NestedInt64(obj.Object, "status", field)
					counts[kind+" "+field] += int(n)
				}
			}
		}
		return counts
	}
	want := outcome(nil, 1)
	require.Greater(t, want["Deployment readyReplicas"], 50)
	for seed := range uint64(3) {
		slow := simulation.ClusterLike()
		slow.Seed, slow.WatchDelay = seed, 2*time.Millisecond<<(5*seed) // up to 2 s
		require.Equal(t, want, outcome(slow, 1), "seed %d", seed)
	}
}
