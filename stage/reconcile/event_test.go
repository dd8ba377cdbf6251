package reconcile_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

var eventKind = schema.GroupVersionKind{Version: "v1", Kind: "Event"}

// recording runs a controller that records for each new ConfigMap, and returns the Events.
func recording(t *testing.T, o reconcile.Options, record func(reconcile.Request, *unstructured.Unstructured)) []unstructured.Unstructured {
	w := newWorld(t, o, reconcile.Controller{Name: "c", For: configMaps,
		Reconcile: func(_ context.Context, r reconcile.Request) (reconcile.Result, error) {
			record(r, r.Cache.Get(configMaps, r.Name))
			return reconcile.Result{}, nil
		},
	})
	w.create("a")
	w.run(time.Hour)
	return events(t, w.cluster)
}

func events(t *testing.T, c *memory.Cluster) []unstructured.Unstructured {
	list, err := c.List(t.Context(), eventKind, "", metav1.ListOptions{})
	require.NoError(t, err)
	return list.Items
}

func counts(events []unstructured.Unstructured) (messages []string, counts []int64) {
	for _, e := range events {
		n, _, _ := unstructured.NestedInt64(e.Object, "count")
		message, _, _ := unstructured.NestedString(e.Object, "message")
		messages, counts = append(messages, message), append(counts, n)
	}
	return messages, counts
}

func TestEventsAreOffByDefault(t *testing.T) {
	require.Empty(t, recording(t, reconcile.Options{}, func(r reconcile.Request, obj *unstructured.Unstructured) {
		r.Record(obj, "Normal", "Done", "it is done")
	}))
	reconcile.Request{}.Record(nil, "Normal", "Done", "without a loop nothing happens")
}

func TestEventsSayWhatTheyAreAbout(t *testing.T) {
	got := recording(t, reconcile.Options{Events: true}, func(r reconcile.Request, obj *unstructured.Unstructured) {
		r.Record(obj, "Warning", "Failed", "it failed")
	})
	require.Len(t, got, 1)
	about, _, _ := unstructured.NestedMap(got[0].Object, "involvedObject")
	require.Equal(t, "ConfigMap", about["kind"])
	require.Equal(t, "a", about["name"])
	require.Equal(t, "x", about["namespace"])
	require.Equal(t, "x", got[0].GetNamespace())
	source, _, _ := unstructured.NestedString(got[0].Object, "source", "component")
	require.Equal(t, "c", source)
	require.Equal(t, "2026-01-01T00:00:00Z", got[0].Object["firstTimestamp"])
}

// TestEventsAreCountedAndCombined as client-go does it: nine that differ, the tenth and all that
// follow combined, of one object 25 in all.
func TestEventsAreCountedAndCombined(t *testing.T) {
	for _, timed := range []*reconcile.Timing{nil, second(reconcile.ControllerTiming{})} {
		o := reconcile.Options{Events: true, Timing: timed}
		same := recording(t, o, func(r reconcile.Request, obj *unstructured.Unstructured) {
			for range 4 {
				r.Record(obj, "Normal", "Done", "it is done")
			}
		})
		messages, n := counts(same)
		require.Equal(t, []string{"it is done"}, messages)
		require.Equal(t, []int64{4}, n)

		different := recording(t, o, func(r reconcile.Request, obj *unstructured.Unstructured) {
			for i := range 100 {
				r.Record(obj, "Normal", "Created", fmt.Sprint("created ", i))
			}
		})
		messages, n = counts(different)
		require.Len(t, messages, 10)
		require.Contains(t, messages, "created 8")
		require.Contains(t, messages, "(combined from similar events): created 24", "%v", n)
		require.Contains(t, n, int64(16))
	}
}

// TestEventsOfOneObjectAreLimited: one more each five minutes, those of other objects are free.
func TestEventsOfOneObjectAreLimited(t *testing.T) {
	w := newWorld(t, reconcile.Options{Events: true}, reconcile.Controller{Name: "c", For: configMaps,
		Reconcile: func(_ context.Context, r reconcile.Request) (reconcile.Result, error) {
			for i := range 40 {
				r.Record(r.Cache.Get(configMaps, r.Name), "Normal", fmt.Sprint("Reason", i), "text")
			}
			return reconcile.Result{}, nil
		},
	})
	w.create("a")
	w.create("b")
	w.run(0)
	require.Len(t, events(t, w.cluster), 50)
	w.now = start.Add(11 * time.Minute)
	w.label("a", "1")
	w.run(time.Hour)
	require.Len(t, events(t, w.cluster), 50, "the first two were written before: they are counted")
	_, n := counts(events(t, w.cluster))
	require.Contains(t, n, int64(2))
}

// TestEventsTakeTheirTurn: each Event costs a request, one after another, and no reconcile waits
// for them.
func TestEventsTakeTheirTurn(t *testing.T) {
	var w *world
	ended := ""
	w = newWorld(t, reconcile.Options{Events: true, Timing: second(reconcile.ControllerTiming{})}, reconcile.Controller{Name: "c", For: configMaps,
		Reconcile: func(_ context.Context, r reconcile.Request) (reconcile.Result, error) {
			for i := range 3 {
				r.Record(r.Cache.Get(configMaps, r.Name), "Normal", fmt.Sprint("Reason", i), "text")
			}
			ended = w.at()
			return reconcile.Result{}, nil
		},
	})
	w.create("a")
	for i, want := range []int{0, 1, 2, 3} {
		w.run(time.Duration(i)*time.Second + 600*time.Millisecond)
		require.Len(t, events(t, w.cluster), want, "%d", i)
	}
	require.Equal(t, "500ms", ended)
}
