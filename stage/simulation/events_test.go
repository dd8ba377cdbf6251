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
	_, err := simulation.New(stage.MustCompile(), simulation.Options{Controllers: []reconcile.Controller{{Name: "rail", For: train}}})
	require.ErrorContains(t, err, "Train")
}
