package explore_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/internal/txtar"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/explore"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

const pod = `{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {nodeName: node-1,
  initContainers: [{name: i, image: i}], containers: [{name: c, image: c}]}}`

// chaoticPod fails with one chance in eleven at each step.
const chaoticPod = `{apiVersion: v1, kind: Pod, metadata: {name: web,
	labels: {pod-init-container-running-failed.stage.kwok.x-k8s.io: "true"}, annotations: {
		pod-init-container-running-failed.stage.kwok.x-k8s.io/weight: "1", pod-create.stage.kwok.x-k8s.io/weight: "10",
		pod-init-container-running.stage.kwok.x-k8s.io/weight: "10", pod-init-container-completed.stage.kwok.x-k8s.io/weight: "10",
		pod-ready.stage.kwok.x-k8s.io/weight: "10", pod-create.stage.kwok.x-k8s.io/jitter-delay: "1.5s"}},
	spec: {nodeName: node-1, initContainers: [{name: i, image: i}], containers: [{name: c, image: c}]}}`

func object(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte(text), &obj.Object))
	return obj
}

func general(t testing.TB, text string) *explore.Graph {
	t.Helper()
	set := stage.MustCompile(presets.PodGeneral(), presets.PodChaos())
	g, err := explore.Explore(t.Context(), set, explore.Options{}, object(t, text))
	require.NoError(t, err)
	return g
}

var shares = []float64{0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99}

// TestConvolutionAgreesWithDraws compares the quantiles with the quantiles of a million runs.
func TestConvolutionAgreesWithDraws(t *testing.T) {
	samples := 1_000_000
	if testing.Short() {
		samples = 50_000
	}
	for name, g := range map[string]*explore.Graph{"pod": general(t, pod), "chaos": general(t, chaoticPod), "loop": golden(t, "loop")} {
		t.Run(name, func(t *testing.T) {
			target := explore.Ready
			if name == "loop" {
				target = explore.Gone
			}
			exact, err := g.TimeTo(target, explore.TimeOptions{})
			require.NoError(t, err)
			require.Zero(t, exact.Samples)
			drawn, err := g.TimeTo(target, explore.TimeOptions{Samples: samples, Seed: 7})
			require.NoError(t, err)
			require.Equal(t, samples, drawn.Samples)
			require.InDelta(t, exact.Reach, drawn.Reach, 0.003)
			require.InDelta(t, exact.Mean.Seconds(), drawn.Mean.Seconds(), 0.02)
			require.Equal(t, exact.Min, drawn.Min)
			require.Equal(t, exact.Max, drawn.Max)
			for _, share := range shares {
				e, d := exact.Quantile(share), drawn.Quantile(share)
				t.Logf("%g: %s, drawn %s", share, e, d)
				require.LessOrEqual(t, e.Low, d.High, share)
				require.GreaterOrEqual(t, e.High, d.Low, share)
				require.InDelta(t, exact.By(d.Value), drawn.By(d.Value), 0.004)
			}
		})
	}
}

// TestConvolutionAgreesWithTheSimulation plays the Stages themselves.
func TestConvolutionAgreesWithTheSimulation(t *testing.T) {
	const runs = 1200
	set := stage.MustCompile(presets.PodGeneral(), presets.PodChaos())
	var times []time.Duration
	for seed := range uint64(runs) {
		if d, ready := simulated(t, set, seed); ready {
			times = append(times, d)
		}
	}
	slices.Sort(times)
	exact, err := general(t, chaoticPod).TimeTo(explore.Ready, explore.TimeOptions{})
	require.NoError(t, err)
	require.InDelta(t, exact.Reach, float64(len(times))/runs, 0.04)
	for _, share := range []float64{0.1, 0.25, 0.5, 0.75, 0.9} {
		at := times[int(share*float64(len(times)))]
		require.InDelta(t, share, exact.By(at)/exact.Reach, 0.04, "%s", at)
	}
}

func simulated(t *testing.T, set *stage.Set, seed uint64) (took time.Duration, ready bool) {
	t.Helper()
	var start time.Time
	sim, err := simulation.New(set, simulation.Options{Seed: seed, Trace: func(e stage.TraceEvent) {
		if e.Kind == stage.TracePlayed && e.Stage == "pod-ready" {
			took, ready = e.Time.Sub(start), true
		}
	}})
	require.NoError(t, err)
	start = sim.Now()
	require.NoError(t, sim.Cluster().Load(t.Context(), []byte(chaoticPod)))
	_, err = sim.Settle(t.Context(), time.Hour)
	require.NoError(t, err)
	return took, ready
}

func golden(t *testing.T, name string) *explore.Graph {
	t.Helper()
	a, err := txtar.ParseFile("testdata/" + name + ".txtar")
	require.NoError(t, err)
	return explored(t, a)
}

func TestTimeOfAChainOfConstants(t *testing.T) {
	g := golden(t, "chance")
	times, err := g.TimeTo(func(s explore.State) bool { return s.Label == "Running" }, explore.TimeOptions{})
	require.NoError(t, err)
	require.InDelta(t, 1.0/3, times.Reach, 1e-12)
	require.Equal(t, time.Second, times.Min)
	require.Equal(t, time.Second, times.Max)
	require.Equal(t, time.Second, times.Mean)
	require.Equal(t, "1s", times.Quantile(0.5).String())
	require.InDelta(t, 1.0/3, times.By(time.Second), 1e-12)
	require.Zero(t, times.By(time.Second-1))
}

func TestWhatIsNeverReachedTakesNoTime(t *testing.T) {
	g := golden(t, "livelock")
	times, err := g.TimeTo(explore.Gone, explore.TimeOptions{})
	require.NoError(t, err)
	require.Zero(t, times.Reach)
	require.Zero(t, times.Quantile(0.5))
	require.Zero(t, times.By(time.Hour))
	require.Equal(t, time.Duration(-1), times.Max)
	_, err = g.TimeTo(explore.Gone, explore.TimeOptions{From: 99})
	require.ErrorContains(t, err, "no such state")
}

func TestRunsThatLeaveWhatWasExploredAreUnknown(t *testing.T) {
	g := golden(t, "bound")
	for _, samples := range []int{0, 10} {
		times, err := g.TimeTo(explore.Gone, explore.TimeOptions{Samples: samples})
		require.NoError(t, err)
		require.Zero(t, times.Reach)
		require.Equal(t, 1.0, times.Unknown)
	}
}

func TestTimesThatDependOnTheTimeSaySo(t *testing.T) {
	times, err := golden(t, "time").TimeTo(explore.Gone, explore.TimeOptions{})
	require.NoError(t, err)
	require.True(t, times.TimeDependent)
	require.Equal(t, time.Duration(-1), times.Max)
}

// TestRacesAreDrawn: a train and its wagon are made ready at the same time; both are after as long
// as the slower takes.
func TestRacesAreDrawn(t *testing.T) {
	times, err := golden(t, "race").TimeTo(func(s explore.State) bool {
		return len(s.Objects) == 2 && s.Label == "Ready · Wagon Ready"
	}, explore.TimeOptions{Seed: 1})
	require.NoError(t, err)
	require.NotZero(t, times.Samples)
	require.Equal(t, 1.0, times.Reach)
	require.InDelta(t, 0.5, times.Quantile(0.25).Value.Seconds(), 0.02, "the greater of two times in [0, 1s) is below t with t²")
	require.InDelta(t, 0.9487, times.Quantile(0.9).Value.Seconds(), 0.02)
	require.InDelta(t, 2.0/3, times.Mean.Seconds(), 0.01)
}

func TestTargets(t *testing.T) {
	g := golden(t, "pod-general")
	for text, want := range map[string][]string{
		"Ready":                      {"Running · Ready", "Running · Ready · deleting"},
		"gone":                       {"gone"},
		"phase=Running":              {"Running · Ready", "Running · Ready · deleting"},
		".status.phase=Running":      {"Running · Ready", "Running · Ready · deleting"},
		"Initialized=True":           {"Pending · Initialized", "Running · Ready", "Pending · Initialized · deleting", "Running · Ready · deleting"},
		".status.startTime":          {"Running · Ready", "Running · Ready · deleting"},
		".metadata.generation=2":     nil,
		".spec.nodeName=node-nobody": nil,
	} {
		target, err := explore.ParseTarget(text)
		require.NoError(t, err)
		var got []string
		for _, s := range g.States {
			if target(s) {
				got = append(got, s.Label)
			}
		}
		if text != ".metadata.generation=2" {
			require.Equal(t, want, got, text)
		} else {
			require.NotEmpty(t, got)
		}
	}
	for _, bad := range []string{"", "=x", "phase=", ".status.conditions[0]", "."} {
		_, err := explore.ParseTarget(bad)
		require.ErrorContains(t, err, "want a condition", bad)
	}
}

func TestErrors(t *testing.T) {
	set := stage.MustCompile(presets.PodGeneral())
	_, err := explore.Explore(t.Context(), set, explore.Options{}, object(t, `{apiVersion: demo.example.com/v1, kind: Train, metadata: {name: a}}`))
	require.ErrorContains(t, err, "Train")
	_, err = explore.Explore(t.Context(), set, explore.Options{}, object(t, `{apiVersion: v1, kind: Pod, metadata: {generateName: a-}}`))
	require.ErrorContains(t, err, "no name")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = explore.Explore(ctx, set, explore.Options{}, object(t, pod))
	require.ErrorIs(t, err, context.Canceled)
}

// TestObjectsFromAClusterAreTaken: generations count from 1 here, and what was observed of them
// goes along.
func TestObjectsFromAClusterAreTaken(t *testing.T) {
	obj := object(t, `{apiVersion: v1, kind: Pod, metadata: {name: web, resourceVersion: "77", uid: 0d1d7c1e-7a80-4b39-8d0f-0a5b1c2d3e4f, generation: 7,
		deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [example.com/hold]}, spec: {nodeName: node-1, containers: [{name: c, image: c}]},
		status: {phase: Running, observedGeneration: 6, conditions: [{type: Ready, status: "True", observedGeneration: 5}]}}`)
	before := obj.DeepCopy()
	g, err := explore.Explore(t.Context(), stage.MustCompile(presets.PodGeneral()), explore.Options{}, obj)
	require.NoError(t, err)
	require.Equal(t, before, obj)
	start := g.States[0]
	require.Equal(t, "Running · Ready · deleting", start.Label)
	observed, _, _ := unstructured.NestedInt64(start.Object().Object, "status", "observedGeneration")
	require.EqualValues(t, 0, observed, "one behind 1, as 6 is behind 7")
	require.Equal(t, []int{0}, g.Terminal(), "a finalizer holds it")
}

func TestAnActionMayBeAnything(t *testing.T) {
	refuse := explore.Action{Name: "refuse", Do: func(_ context.Context, _ *memory.Cluster, obj *unstructured.Unstructured) error {
		obj.SetName("changed") // a copy
		return context.DeadlineExceeded
	}}
	g, err := explore.Explore(t.Context(), stage.MustCompile(presets.PodFast()), explore.Options{Actions: []explore.Action{refuse}}, object(t, pod))
	require.NoError(t, err)
	var refused int
	for _, tr := range g.Transitions {
		if tr.Action == "refuse" {
			refused++
			require.ErrorIs(t, tr.Err, context.DeadlineExceeded)
			require.Equal(t, tr.From, tr.To)
		}
	}
	require.Equal(t, len(g.States), refused)
}

func TestExploringIsDeterministic(t *testing.T) {
	want := general(t, chaoticPod).String()
	for range 5 {
		require.Equal(t, want, general(t, chaoticPod).String())
	}
}

func BenchmarkPodGeneralWithChaos(b *testing.B) {
	set := stage.MustCompile(presets.PodGeneral(), presets.PodChaos())
	obj := object(b, chaoticPod)
	o := explore.Options{Actions: []explore.Action{explore.Delete()}}
	b.ReportAllocs()
	for b.Loop() {
		g, err := explore.Explore(b.Context(), set, o, obj)
		require.NoError(b, err)
		b.ReportMetric(float64(len(g.States)), "states")
	}
}

func BenchmarkTenThousandStates(b *testing.B) {
	a, err := txtar.ParseFile("testdata/bound.txtar")
	require.NoError(b, err)
	source := stage.Parse("bound.yaml", slices.Concat(a.Files[0].Data, []byte("---\n"), a.Files[1].Data))
	set := stage.MustCompile(source)
	for b.Loop() {
		g, err := explore.Explore(b.Context(), set, explore.Options{Kinds: []memory.Kind{{GroupVersionKind: train, Status: true}}}, source.OtherObjects()...)
		require.NoError(b, err)
		require.Len(b, g.States, 10_001)
	}
}

func BenchmarkTimeToReady(b *testing.B) {
	g := general(b, chaoticPod)
	for b.Loop() {
		_, err := g.TimeTo(explore.Ready, explore.TimeOptions{})
		require.NoError(b, err)
	}
}

// TestALivelockThatNeverRepeatsIsFound: each of its states is new, so that there is no cycle.
func TestALivelockThatNeverRepeatsIsFound(t *testing.T) {
	for ms, want := range map[int]bool{0: true, 1: false} {
		source := stage.Parse("stages.yaml", fmt.Appendf(nil, `{apiVersion: kwok.x-k8s.io/v1alpha1, kind: Stage, metadata: {name: count},
  spec: {resourceRef: {kind: Pod}, selector: {}, delay: {durationMilliseconds: %d}, next: {statusTemplate: "rounds: {{ add1 (or .status.rounds 0) }}"}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: p}}`, ms))
		set, err := stage.Compile(stage.Options{}, source)
		require.NoError(t, err)
		g, err := explore.Explore(t.Context(), set, explore.Options{MaxStates: 150}, source.OtherObjects()...)
		require.NoError(t, err)
		found := strings.Join(g.Findings(), "\n")
		require.Equal(t, want, strings.Contains(found, "livelock, as far as it was explored: 150 changes without time passing, up to: 150 "), found)
	}
}
