package player_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/player"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

// traces is what happened to each object, line by line.
type traces map[stage.Key][]string

// placeholders match what differs between runs: allocated addresses depend on the order of
// allocation, and resourceVersions on all writes.
var placeholders = regexp.MustCompile(`\b10(\.\d+){3}\b`)

// collector returns a Trace that collects lines with times since begin.
func collector(all traces, begin time.Time) func(stage.TraceEvent) {
	return func(e stage.TraceEvent) {
		if e.Kind != stage.TraceObserved {
			line := fmt.Sprintf("+%s %s", e.Time.Sub(begin), placeholders.ReplaceAllString(e.String(), "<ip>"))
			all[e.Key] = append(all[e.Key], line)
		}
	}
}

// cast is n mixed pods: with and without init containers, of Jobs, with overridden delays.
func cast(n int) []*unstructured.Unstructured {
	var pods []*unstructured.Unstructured
	for i := range n {
		pod := newPod(fmt.Sprintf("pod-%d", i), "")
		container := map[string]any{"name": "c", "image": "i"}
		spec := map[string]any{"nodeName": "node", "containers": []any{container}}
		if i%3 == 0 {
			spec["initContainers"] = []any{map[string]any{"name": "init", "image": "i"}}
		}
		if i%5 == 0 {
			pod.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "job", UID: "job-uid"}})
		}
		if i%7 == 0 {
			pod.SetAnnotations(map[string]string{"pod-create.stage.kwok.x-k8s.io/delay": "300ms", "pod-create.stage.kwok.x-k8s.io/jitter-delay": "20s"})
		}
		pod.Object["spec"] = spec
		pods = append(pods, pod)
	}
	return pods
}

const (
	casting  = 1000
	halfTime = 40 * time.Second // when every fourth pod is deleted
	fullTime = 10 * time.Minute
)

func general(t testing.TB) *stage.Set {
	set, err := stage.Compile(stage.Options{}, presets.PodGeneral())
	require.NoError(t, err)
	return set
}

// playedBy records the trace of a Player with a number of workers.
func playedBy(t *testing.T, workers int, seed uint64) traces {
	all := traces{}
	synctest.Test(t, func(t *testing.T) {
		cluster := memory.New(memory.Options{Seed: seed})
		pods := cast(casting)
		rand.New(rand.NewPCG(uint64(workers), 1)).Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		o := player.Options{Seed: seed, Workers: workers, Trace: collector(all, time.Now())}
		go func() { done <- player.Play(ctx, general(t), cluster, o) }()
		for _, pod := range pods {
			create(t, cluster, pod)
		}
		time.Sleep(halfTime)
		deleteSome(t, cluster)
		time.Sleep(fullTime)
		recreateSome(t, cluster)
		time.Sleep(fullTime)
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
	})
	return all
}

// simulated records what an Engine alone does.
func simulated(t *testing.T, seed uint64) traces {
	all := traces{}
	begin := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // as in a bubble
	sim, err := simulation.New(general(t), simulation.Options{Seed: seed, Start: begin, Trace: collector(all, begin)})
	require.NoError(t, err)
	for _, pod := range cast(casting) {
		create(t, sim.Cluster(), pod)
	}
	require.NoError(t, sim.Advance(t.Context(), halfTime))
	deleteSome(t, sim.Cluster())
	require.NoError(t, sim.Advance(t.Context(), fullTime))
	recreateSome(t, sim.Cluster())
	require.NoError(t, sim.Advance(t.Context(), fullTime))
	return all
}

func deleteSome(t testing.TB, c *memory.Cluster) {
	for i := 0; i < casting; i += 4 {
		name := stage.Key{Namespace: "default", Name: fmt.Sprintf("pod-%d", i)}.NamespacedName()
		require.NoError(t, c.Delete(context.Background(), podKind, name, metav1.DeleteOptions{}))
	}
}

// recreateSome makes the pods that deleteSome deleted again.
func recreateSome(t testing.TB, c *memory.Cluster) {
	for i, pod := range cast(casting) {
		if i%4 == 0 {
			create(t, c, pod)
		}
	}
}

func TestSameSeedSameTraces(t *testing.T) {
	want := simulated(t, 1)
	require.Len(t, want, casting)
	lines := 0
	for _, trace := range want {
		lines += len(trace)
	}
	require.Greater(t, lines, 5*casting)
	require.Equal(t, want, simulated(t, 1))
	for _, workers := range []int{1, 2, 8} {
		got := playedBy(t, workers, 1)
		for key := range want {
			require.Equal(t, want[key], got[key], "%d workers", workers)
		}
		require.Len(t, got, len(want))
	}
	other := simulated(t, 2)
	differ := 0
	for key := range want {
		if fmt.Sprint(want[key]) != fmt.Sprint(other[key]) {
			differ++
		}
	}
	require.Equal(t, casting, differ, "another seed plays every object otherwise")
}

// TestARestartedPlayerDrawsAnew plays pods by one Player, and by another after a minute: no pod
// repeats what it drew before, and what was running is entered again with a full delay.
func TestARestartedPlayerDrawsAnew(t *testing.T) {
	set, err := stage.Compile(stage.Options{}, stage.Parse("beat.yaml", []byte(beat)))
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		cluster := memory.New(memory.Options{Seed: 1})
		for _, pod := range cast(100) {
			create(t, cluster, pod)
		}
		first, second := drawnBy(t, set, cluster), drawnBy(t, set, cluster)
		require.Len(t, first, 100)
		require.Len(t, second, 100)
		for key := range first {
			require.Greater(t, len(second[key]), 10)
			for _, random := range second[key] {
				require.NotContains(t, first[key], random)
			}
		}
	})
}

const beat = `{apiVersion: kwok.x-k8s.io/v1alpha1, kind: Stage, metadata: {name: beat}, spec: {resourceRef: {kind: Pod}, selector: {},
  delay: {durationMilliseconds: 1000, jitterDurationMilliseconds: 4000}, next: {statusTemplate: 'at: {{ Now | Quote }}'}}}`

// drawnBy returns the random numbers that a Player of one minute draws for each object.
func drawnBy(t *testing.T, set *stage.Set, cluster *memory.Cluster) map[stage.Key][]uint64 {
	drawn := map[stage.Key][]uint64{}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := player.Play(ctx, set, cluster, player.Options{Trace: func(e stage.TraceEvent) {
		if e.Kind == stage.TraceScheduled {
			drawn[e.Key] = append(drawn[e.Key], e.Random)
		}
	}})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	return drawn
}
