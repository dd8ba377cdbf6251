package stage_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

// pending is a pod of two containers as it is before pod-ready.
func pending(t testing.TB) *unstructured.Unstructured {
	return object(t, `
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: default, uid: u1, resourceVersion: "7", labels: {app: web}}
spec: {nodeName: node, containers: [{name: a, image: i}, {name: b, image: i}]}
status:
  phase: Pending
  podIP: 10.0.0.7
  conditions: [{type: Initialized, status: "True"}, {type: Ready, status: "False"}, {type: ContainersReady, status: "False"}]
  containerStatuses: [{name: a, ready: false, state: {waiting: {reason: ContainerCreating}}}, {name: b, ready: false, state: {waiting: {reason: ContainerCreating}}}]
`)
}

func BenchmarkMatch(b *testing.B) {
	set, obj := stage.MustCompile(presets.PodGeneral()), pending(b)
	e := stage.NewEngine(set, stage.EngineOptions{})
	require.NoError(b, e.Observe(obj, start))
	b.ReportAllocs()
	for b.Loop() {
		_ = e.Observe(obj, start)
	}
}

func BenchmarkNext(b *testing.B) {
	set, obj := stage.MustCompile(presets.PodGeneral()), pending(b)
	b.ReportAllocs()
	for b.Loop() {
		set.Next(obj, start, 1, 0)
	}
}

func TestNextAllocatesNothing(t *testing.T) {
	set := stage.MustCompile(presets.PodGeneral())
	running := pending(t)
	running.Object["status"].(map[string]any)["phase"] = "Running"
	for _, obj := range []*unstructured.Unstructured{newPod("new", ""), pending(t), running} {
		require.Zero(t, testing.AllocsPerRun(1000, func() { set.Next(obj, start, 1, 0) }))
	}
}

func BenchmarkEffects(b *testing.B) {
	set, obj := stage.MustCompile(presets.PodGeneral()), pending(b)
	t, ok := set.Next(obj, start, 1, 0)
	require.True(b, ok)
	b.ReportAllocs()
	for b.Loop() {
		_, _ = t.Effects(obj, start)
	}
}

// BenchmarkEngine plays the first transition of n pods and reports the engine's memory for each.
func BenchmarkEngine(b *testing.B) {
	set := stage.MustCompile(presets.PodGeneral())
	for _, n := range []int{10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			pods := make([]*unstructured.Unstructured, n)
			for i := range pods {
				pods[i] = newPod(fmt.Sprintf("pod-%d", i), "")
			}
			for b.Loop() {
				before := heap()
				e := stage.NewEngine(set, stage.EngineOptions{})
				for _, pod := range pods {
					_ = e.Observe(pod, start)
				}
				b.ReportMetric(float64(heap()-before)/float64(n), "B/object")
				played := 0
				for range e.Due(start.Add(time.Hour)) {
					played++
				}
				require.Equal(b, n, played)
				runtime.KeepAlive(e)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/object")
		})
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkSimulation plays the whole life of n pods (create, ready) on the in-memory cluster.
func BenchmarkSimulation(b *testing.B) {
	set := stage.MustCompile(presets.PodGeneral())
	for _, n := range []int{1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			transitions := 0
			for b.Loop() {
				sim, err := simulation.New(set, simulation.Options{Trace: func(e stage.TraceEvent) {
					if e.Kind == stage.TracePlayed {
						transitions++
					}
				}})
				require.NoError(b, err)
				for i := range n {
					create(b, sim.Cluster(), newPod(fmt.Sprintf("pod-%d", i), ""))
				}
				_, err = sim.Settle(b.Context(), time.Hour)
				require.NoError(b, err)
			}
			b.ReportMetric(float64(transitions)/b.Elapsed().Seconds(), "transitions/s")
		})
	}
}
