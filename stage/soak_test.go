package stage_test

import (
	"context"
	"flag"
	"fmt"
	"runtime"
	"runtime/metrics"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

var soakPods = flag.Int("soak", 0, "play the life of so many pods in TestSoak")

// TestSoak prints the cost of the whole life of many pods on one core. `make soak` runs it with
// GOGC=off and GOMEMLIMIT, so that garbage is collected only when the memory is used up. A
// simulation has the machine to itself, and with the default the collector takes a third of the
// time.
func TestSoak(t *testing.T) {
	if *soakPods == 0 {
		t.Skip("a long run: make soak, or -soak N")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	t.Log(playLives(t, *soakPods))
}

// BenchmarkLives plays whole lives on one core. The cost of a transition should not depend on the
// number of pods.
func BenchmarkLives(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, n := range []int{10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var all lives
			for b.Loop() {
				all = playLives(b, n)
			}
			b.ReportMetric(all.rate(all.cpu), "transitions/cpu-s")
			b.ReportMetric(float64(all.alive)/float64(n), "B/pod")
			b.ReportMetric(float64(all.peak)/(1<<20), "peak-MiB")
		})
	}
}

// ttl ends the life of a Pod that has completed, as the owner's ttlSecondsAfterFinished does. The
// Stage pod-delete has no part in it: a Pod that has ended is gone as soon as it is deleted.
const ttl = `
  selector: {matchExpressions: [{jq: {key: .status.phase, operator: In, values: [Succeeded]}}]}
  delay: {durationMilliseconds: 1000, jitterDurationMilliseconds: 5000}
  next: {delete: true}`

// lives is the cost of playing some lives.
type lives struct {
	pods, transitions int
	created, played   time.Duration
	cpu               time.Duration // of the process while it played: what it takes where others use the machine too
	alive             uint64        // bytes of heap after all pods are created and before any is played
	peak              uint64        // bytes that the runtime held at most, garbage included
	left              uint64        // bytes of heap in the end: Events
}

func (l lives) String() string {
	perPod := func(bytes uint64) float64 { return float64(bytes) / float64(l.pods) }
	return fmt.Sprintf("%d pods: created in %s, %d transitions in %s (%.0f/s), %s of CPU (%.0f/s); heap %.0f B/pod when created, %.0f B/pod when gone; peak %d MiB",
		l.pods, l.created.Round(time.Millisecond), l.transitions, l.played.Round(time.Millisecond), l.rate(l.played), l.cpu.Round(time.Millisecond), l.rate(l.cpu),
		perPod(l.alive), perPod(l.left), l.peak>>20)
}

func (l lives) rate(d time.Duration) float64 { return float64(l.transitions) / d.Seconds() }

// playLives takes pods through pod-create, pod-ready, pod-complete and their end.
func playLives(t testing.TB, n int) lives {
	l := lives{pods: n}
	before := heap()
	set, err := stage.Compile(stage.Options{}, presets.PodGeneral(), stage.Parse("ttl.yaml", []byte(stageYAML("ttl", ttl))))
	require.NoError(t, err)
	sim, err := simulation.New(set, simulation.Options{Seed: 1, Progress: func(p simulation.Progress) {
		if p.Done%(1<<12) == 0 {
			l.peak = max(l.peak, held())
		}
	}})
	require.NoError(t, err)
	begin := time.Now()
	for i := range n {
		create(t, sim.Cluster(), worker(i))
	}
	l.created, l.alive = time.Since(begin), heap()-before
	begin, used := time.Now(), cpu(t)
	settled, err := sim.Settle(t.Context(), time.Hour)
	l.played, l.cpu, l.transitions = time.Since(begin), cpu(t)-used, int(sim.Progress().Done)
	require.NoError(t, err)
	require.True(t, settled)
	require.Equal(t, 4*n, l.transitions)
	require.Zero(t, count(t, sim, "Pod"), "all are gone")
	require.Equal(t, n, count(t, sim, "Event"), "pod-create sends one")
	l.left = heap() - before
	runtime.KeepAlive(sim)
	return l
}

func count(t testing.TB, sim *simulation.Simulation, kind string) int {
	list, err := sim.Cluster().Shared().List(context.Background(), podKind.GroupVersion().WithKind(kind), "", metav1.ListOptions{})
	require.NoError(t, err)
	return len(list.Items)
}

// worker is a Pod of a Job.
func worker(i int) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{
			"namespace": "default", "name": fmt.Sprintf("work-%07d", i), "labels": map[string]any{"app": "work", "job-name": "work"},
			"ownerReferences": []any{map[string]any{"apiVersion": "batch/v1", "kind": "Job", "name": "work", "uid": "u1", "controller": true}},
		},
		"spec": map[string]any{"nodeName": "node", "restartPolicy": "Never", "containers": []any{map[string]any{
			"name": "main", "image": "registry.example/work:1", "resources": map[string]any{"requests": map[string]any{"cpu": "100m", "memory": "64Mi"}},
		}}},
	}}
}

// cpu is the time that all threads of the process have used.
func cpu(t testing.TB) time.Duration {
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// held is the memory that the Go runtime has from the system.
func held() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64() - s[1].Value.Uint64()
}
