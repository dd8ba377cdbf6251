package simulation_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

const web = `{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: c, image: i}]}}`

func played(lines *[]string) func(stage.TraceEvent) {
	return func(e stage.TraceEvent) {
		if e.Kind == stage.TracePlayed || e.Kind == stage.TraceFailed {
			*lines = append(*lines, e.String())
		}
	}
}

func TestAdvancePlaysWhatIsDueWithinAndNoMore(t *testing.T) {
	var lines []string
	sim, err := simulation.New(stage.MustCompile(presets.PodFast()), simulation.Options{Trace: played(&lines)})
	require.NoError(t, err)
	require.NoError(t, sim.Cluster().Load(t.Context(), []byte(web)))
	require.Empty(t, lines, "nothing happens by itself")
	start := sim.Now()
	require.NoError(t, sim.Advance(t.Context(), time.Second))
	require.Equal(t, []string{"played Pod default/web pod-ready"}, lines)
	require.Equal(t, start.Add(time.Second), sim.Now())
	settled, err := sim.Settle(t.Context(), time.Hour)
	require.NoError(t, err)
	require.True(t, settled)
}

func TestAHeartbeatNeverSettles(t *testing.T) {
	sim, err := simulation.New(stage.MustCompile(presets.NodeFast(), presets.NodeHeartbeat()), simulation.Options{})
	require.NoError(t, err)
	require.NoError(t, sim.Cluster().Load(t.Context(), []byte(`{apiVersion: v1, kind: Node, metadata: {name: node-1}}`)))
	start := sim.Now()
	settled, err := sim.Settle(t.Context(), time.Hour)
	require.NoError(t, err)
	require.False(t, settled)
	require.Equal(t, start.Add(time.Hour), sim.Now())
}

func TestFunctionsAreCalledAtTheirTimeAndInOrder(t *testing.T) {
	sim, err := simulation.New(stage.MustCompile(presets.PodFast()), simulation.Options{})
	require.NoError(t, err)
	start := sim.Now()
	var calls []string
	note := func(name string) func(context.Context) error {
		return func(context.Context) error {
			calls = append(calls, fmt.Sprintf("%s +%s", name, sim.Now().Sub(start)))
			return nil
		}
	}
	sim.At(start.Add(2*time.Second), note("c"))
	sim.At(start.Add(time.Second), note("a"))
	sim.At(start.Add(time.Second), note("b"))
	sim.At(start.Add(-time.Hour), note("past"))
	sim.At(start.Add(time.Second), func(context.Context) error {
		sim.At(start.Add(3*time.Second), note("d"))
		return nil
	})
	require.NoError(t, sim.Advance(t.Context(), time.Minute))
	require.Equal(t, []string{"past +0s", "a +1s", "b +1s", "c +2s", "d +3s"}, calls)
}

func TestErrorsOfFunctionsAndContextsEndTheRun(t *testing.T) {
	sim, err := simulation.New(stage.MustCompile(presets.PodFast()), simulation.Options{})
	require.NoError(t, err)
	oops := errors.New("oops")
	sim.At(sim.Now().Add(time.Second), func(context.Context) error { return oops })
	require.ErrorIs(t, sim.Advance(t.Context(), time.Minute), oops)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	sim.At(sim.Now(), func(context.Context) error { return nil })
	_, err = sim.Step(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, sim.Advance(t.Context(), -time.Hour), "does not go back")
}

func TestNothingIsDoneAfterCancellation(t *testing.T) {
	sim, err := simulation.New(stage.MustCompile(presets.PodFast()), simulation.Options{})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	sim.At(sim.Now().Add(time.Second), func(context.Context) error { cancel(); return nil })
	sim.At(sim.Now().Add(2*time.Second), func(context.Context) error { t.Error("called"); return nil })
	require.ErrorIs(t, sim.Advance(ctx, time.Minute), context.Canceled)
}

func TestWritesAndDeletionsByTheUserAreSeen(t *testing.T) {
	var lines []string
	sim, err := simulation.New(stage.MustCompile(presets.PodGeneral()), simulation.Options{Trace: played(&lines)})
	require.NoError(t, err)
	require.NoError(t, sim.Cluster().Load(t.Context(), []byte(web)))
	pod, name := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, types.NamespacedName{Namespace: "default", Name: "web"}
	sim.At(sim.Now().Add(500*time.Millisecond), func(ctx context.Context) error {
		return sim.Cluster().Delete(ctx, pod, name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
	})
	require.NoError(t, sim.Advance(t.Context(), time.Minute))
	require.Empty(t, lines)
}

func TestUnknownKindsAreRefused(t *testing.T) {
	stages := `{apiVersion: kwok.x-k8s.io/v1alpha1, kind: Stage, metadata: {name: a},
  spec: {resourceRef: {apiGroup: demo.example.com/v1, kind: Train}, selector: {}, next: {delete: true}}}`
	set := stage.MustCompile(stage.Parse("train.yaml", []byte(stages)))
	_, err := simulation.New(set, simulation.Options{})
	require.ErrorContains(t, err, "Train")

	var lines []string
	kind := memory.Kind{GroupVersionKind: schema.GroupVersionKind{Group: "demo.example.com", Version: "v1", Kind: "Train"}}
	sim, err := simulation.New(set, simulation.Options{Kinds: []memory.Kind{kind}, Trace: played(&lines)})
	require.NoError(t, err)
	require.NoError(t, sim.Cluster().Load(t.Context(), []byte(`{apiVersion: demo.example.com/v1, kind: Train, metadata: {name: t}}`)))
	require.NoError(t, sim.Advance(t.Context(), 0))
	require.Equal(t, "played Train.demo.example.com default/t a", strings.Join(lines, "\n"))
}

func Example() {
	set := stage.MustCompile(presets.PodGeneral())
	sim, err := simulation.New(set, simulation.Options{Seed: 1, Trace: func(e stage.TraceEvent) {
		if e.Kind == stage.TracePlayed {
			fmt.Println(e.Time.Format("05.000"), e.Key, e.Stage)
		}
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	if err := sim.Cluster().Load(ctx, []byte(web)); err != nil {
		fmt.Println(err)
	}
	if err := sim.Advance(ctx, time.Minute); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 06.259 Pod default/web pod-create
	// 07.713 Pod default/web pod-ready
}

func TestPlaysLeavesObjectsAlone(t *testing.T) {
	var lines []string
	bound := func(obj *unstructured.Unstructured) bool {
		node, _, _ := unstructured.NestedString(obj.Object, "spec", "nodeName")
		return node != "" || obj.GetKind() != "Pod"
	}
	sim, err := simulation.New(stage.MustCompile(presets.PodFast()), simulation.Options{Trace: played(&lines), Filter: bound})
	require.NoError(t, err)
	require.NoError(t, sim.Cluster().Load(t.Context(), []byte(web)))
	require.NoError(t, sim.Advance(t.Context(), time.Minute))
	require.Empty(t, lines)
	pods, name := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, types.NamespacedName{Namespace: "default", Name: "web"}
	_, err = sim.Cluster().Patch(t.Context(), pods, name, types.MergePatchType, []byte(`{"spec":{"nodeName":"node-1"}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	require.NoError(t, sim.Advance(t.Context(), time.Minute))
	require.Equal(t, []string{"played Pod default/web pod-ready"}, lines)
}

// TestOthersMayWrite is for the race detector.
func TestOthersMayWrite(t *testing.T) {
	sim, err := simulation.New(stage.MustCompile(presets.PodFast()), simulation.Options{})
	require.NoError(t, err)
	done := make(chan error)
	go func() {
		var err error
		for i := 0; i < 100 && err == nil; i++ {
			err = sim.Cluster().Load(context.Background(), fmt.Appendf(nil, "{apiVersion: v1, kind: Pod, metadata: {name: web-%d}}", i))
		}
		done <- err
	}()
	for range 100 {
		require.NoError(t, sim.Advance(t.Context(), time.Second))
	}
	require.NoError(t, <-done)
	require.NoError(t, sim.Advance(t.Context(), 0))
	got, err := sim.Cluster().Get(t.Context(), pods, types.NamespacedName{Namespace: "default", Name: "web-99"})
	require.NoError(t, err)
	require.Contains(t, fmt.Sprint(got.Object["status"]), "Running")
}
