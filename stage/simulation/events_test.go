package simulation_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

var (
	pods       = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	configMaps = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
)

// phaseOf notes what happens to Pods.
func phaseOf(e watch.Event) string {
	obj := e.Object.(*unstructured.Unstructured)
	phase, _, _ := unstructured.NestedString(obj.Object, "status", "phase")
	return fmt.Sprint(e.Type, " ", obj.GetName(), " ", phase)
}

func TestFunctionsAreCalledOnWhatHappens(t *testing.T) {
	sim, err := simulation.New(stage.MustCompile(presets.PodFast()), simulation.Options{})
	require.NoError(t, err)
	require.NoError(t, sim.Cluster().Load(t.Context(), []byte(web)))
	var lines []string
	require.NoError(t, sim.On(pods, func(_ context.Context, e watch.Event) error {
		lines = append(lines, phaseOf(e))
		return nil
	}))
	require.NoError(t, sim.On(configMaps, func(context.Context, watch.Event) error { return errors.New("never") }))
	require.Empty(t, lines, "not before time goes on")
	require.NoError(t, sim.Advance(t.Context(), 0))
	require.Equal(t, []string{"ADDED web Pending", "MODIFIED web Running"}, lines)

	require.NoError(t, sim.Cluster().Load(t.Context(), []byte(`{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}`)))
	require.ErrorContains(t, sim.Advance(t.Context(), 0), "never")
	require.ErrorContains(t, sim.On(schema.GroupVersionKind{Version: "v1", Kind: "Train"}, nil), "Train")
}

// binder gives each Pod a label when it runs, and looks again after a minute.
func binder(lines *[]string, start time.Time) reconcile.Controller {
	return reconcile.Controller{
		Name: "labeller",
		For:  pods,
		Reconcile: func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
			pod := r.Cache.Get(pods, r.Name)
			phase, _, _ := unstructured.NestedString(pod.Object, "status", "phase")
			*lines = append(*lines, fmt.Sprintf("reconcile %s %s +%s", r.Name.Name, phase, r.Now.Sub(start)))
			if phase != "Running" || pod.GetLabels()["seen"] == "true" {
				return reconcile.Result{}, nil
			}
			patch := []byte(`{"metadata":{"labels":{"seen":"true"}}}`)
			_, err := r.Client.Patch(ctx, pods, r.Name, types.MergePatchType, patch, metav1.PatchOptions{})
			return reconcile.Result{After: time.Minute}, err
		},
	}
}

func TestWhatIsDueAtOneTimeComesInOrder(t *testing.T) {
	var lines []string
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	sim, err := simulation.New(stage.MustCompile(presets.PodFast()), simulation.Options{
		Start:       start,
		Trace:       played(&lines),
		Controllers: []reconcile.Controller{binder(&lines, start)},
	})
	require.NoError(t, err)
	require.NoError(t, sim.On(pods, func(_ context.Context, e watch.Event) error {
		lines = append(lines, phaseOf(e))
		return nil
	}))
	sim.At(start, func(ctx context.Context) error {
		lines = append(lines, "call")
		return sim.Cluster().Load(ctx, []byte(web))
	})
	settled, err := sim.Settle(t.Context(), time.Hour)
	require.NoError(t, err)
	require.True(t, settled)
	require.Equal(t, []string{
		"call", "ADDED web Pending", "played Pod default/web pod-ready", "MODIFIED web Running", // before controllers look
		"reconcile web Running +0s", "MODIFIED web Running", "reconcile web Running +0s",
	}, lines, "the second look finds nothing to do and asks for no third")
}

func TestControllersWakeByThemselves(t *testing.T) {
	var at []time.Duration
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	sim, err := simulation.New(stage.MustCompile(), simulation.Options{Start: start, Controllers: []reconcile.Controller{{
		Name: "clock", For: pods,
		Reconcile: func(_ context.Context, r reconcile.Request) (reconcile.Result, error) {
			at = append(at, r.Now.Sub(start))
			return reconcile.Result{After: 20 * time.Second}, nil
		},
	}}})
	require.NoError(t, err)
	require.NoError(t, sim.Cluster().Load(t.Context(), []byte(web)))
	require.NoError(t, sim.Advance(t.Context(), time.Minute))
	require.Equal(t, []time.Duration{0, 20 * time.Second, 40 * time.Second, time.Minute}, at)
}

func TestKindsOfControllersMustBeKnown(t *testing.T) {
	train := schema.GroupVersionKind{Group: "demo.example.com", Version: "v1", Kind: "Train"}
	bus := schema.GroupVersionKind{Group: "demo.example.com", Version: "v1", Kind: "Bus"}
	nothing := func(context.Context, reconcile.Request) (reconcile.Result, error) { return reconcile.Result{}, nil }
	_, err := simulation.New(stage.MustCompile(), simulation.Options{Controllers: []reconcile.Controller{{Name: "rail", For: train, Reconcile: nothing}, {Name: "road", For: bus, Reconcile: nothing}}})
	require.ErrorContains(t, err, "Train is no known kind")
	require.ErrorContains(t, err, "Bus is no known kind")
}

// TestFaultyControllersAreRefused checks that all faults are named, also of controllers that need the
// cluster.
func TestFaultyControllersAreRefused(t *testing.T) {
	_, err := simulation.New(stage.MustCompile(), simulation.Options{
		Controllers: []reconcile.Controller{{Name: "a", For: pods}, {Name: "b", Err: errors.New("it has no client"), For: pods, Reconcile: func(context.Context, reconcile.Request) (reconcile.Result, error) { return reconcile.Result{}, nil }}},
		Operator: func(*memory.Cluster) []reconcile.Controller {
			return []reconcile.Controller{{Name: "c", Watches: []reconcile.Watch{{}}}}
		},
	})
	require.EqualError(t, err, `simulation: controller "a": Reconcile is nil
controller "b": it has no client
controller "c": For is empty; name the kind of the keys
controller "c": Reconcile is nil
controller "c": Watches[0].Kind is empty`)
}

// TestAnOperatorGetsTheCluster checks that the controllers of Options.Operator run, on the cluster of the
// simulation.
func TestAnOperatorGetsTheCluster(t *testing.T) {
	var given *memory.Cluster
	seen := 0
	sim, err := simulation.New(stage.MustCompile(), simulation.Options{Operator: func(c *memory.Cluster) []reconcile.Controller {
		given = c
		return []reconcile.Controller{{Name: "counter", For: pods, Reconcile: func(context.Context, reconcile.Request) (reconcile.Result, error) {
			seen++
			return reconcile.Result{}, nil
		}}}
	}})
	require.NoError(t, err)
	require.Same(t, sim.Cluster(), given)
	require.NoError(t, sim.Cluster().Load(t.Context(), []byte(web)))
	require.NoError(t, sim.Advance(t.Context(), 0))
	require.Equal(t, 1, seen)
}
