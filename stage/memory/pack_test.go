package memory_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

var thing = schema.GroupVersionKind{Group: "demo.example.com", Version: "v1", Kind: "Thing"}

// newPackingCluster returns a cluster whose objects are packed a few writes after their own.
func newPackingCluster() *memory.Cluster {
	return memory.New(memory.Options{History: 1, Kinds: []memory.Kind{{GroupVersionKind: thing}}}.PackFrom(1)).Shared()
}

// idle waits, in writes, until nothing but the last things are in the log.
func idle(t testing.TB, c *memory.Cluster) {
	for i := range 4 {
		_, err := c.Create(t.Context(), newThing(fmt.Sprintf("idle-%d", i), nil), metav1.CreateOptions{})
		require.NoError(t, err)
	}
}

func newThing(name string, fields map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	for field, v := range fields {
		u.Object[field] = v
	}
	u.Object["metadata"] = map[string]any{"name": name, "namespace": "default", "labels": map[string]any{"app": name}}
	u.SetGroupVersionKind(thing)
	return u
}

func TestIdleObjectsAreTheSame(t *testing.T) {
	fields := map[string]any{
		"spec": map[string]any{"text": "ä\x00", "none": nil, "list": []any{int64(-1), 1.5, true, false, nil, []any{}, map[string]any{}}},
		"data": []any{map[string]any{"n": int64(1) << 62}, "x", ""},
	}
	for name, status := range map[string]any{"with a status": map[string]any{"phase": "Ready", "n": int64(-1) << 63}, "without": nil} {
		t.Run(name, func(t *testing.T) {
			c := newPackingCluster()
			u := newThing("a", fields)
			if status != nil {
				u.Object["status"] = status
			}
			stored, err := c.Create(t.Context(), u, metav1.CreateOptions{})
			require.NoError(t, err)
			idle(t, c)
			fork := c.Fork()
			list, err := c.List(t.Context(), thing, "", metav1.ListOptions{LabelSelector: "app=a"})
			require.NoError(t, err)
			require.Equal(t, stored.Object, list.Items[0].Object)
			for _, c := range []*memory.Cluster{c, fork} {
				got, err := c.Get(t.Context(), thing, types.NamespacedName{Namespace: "default", Name: "a"})
				require.NoError(t, err)
				require.Equal(t, stored.Object, got.Object)
			}
		})
	}
}

func TestIdleObjectsAreWrittenAndWatched(t *testing.T) {
	c := newPackingCluster()
	name := types.NamespacedName{Namespace: "default", Name: "a"}
	_, err := c.Create(t.Context(), newThing("a", map[string]any{"spec": map[string]any{"x": "1"}}), metav1.CreateOptions{})
	require.NoError(t, err)
	idle(t, c)
	got, err := c.Patch(t.Context(), thing, name, types.MergePatchType, []byte(`{"spec":{"y":"2"}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"x": "1", "y": "2"}, got.Object["spec"])
	require.NoError(t, c.Delete(t.Context(), thing, types.NamespacedName{Namespace: "default", Name: "idle-0"}, metav1.DeleteOptions{}))
	feed, err := c.Feed(thing, "", metav1.ListOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"ADDED a", "ADDED idle-1", "ADDED idle-2", "ADDED idle-3"}, happened(feed))
}

func happened(feed *memory.Feed) (events []string) {
	for e, ok := feed.Next(); ok; e, ok = feed.Next() {
		events = append(events, string(e.Type)+" "+name(e))
	}
	return events
}

func name(e watch.Event) string { return e.Object.(*unstructured.Unstructured).GetName() }

// FuzzIdleObjects compares any object before and after it was packed.
func FuzzIdleObjects(f *testing.F) {
	f.Add(`{"spec":{"a":[1,-2.5,"x",null,true,{"b":{}}]},"status":{"a":[[],{}]}}`)
	f.Add(`{"":"","é":1e300}`)
	f.Fuzz(func(t *testing.T, text string) {
		var fields map[string]any
		if utiljson.Unmarshal([]byte(text), &fields) != nil {
			return
		}
		c := newPackingCluster()
		stored, err := c.Create(t.Context(), newThing("a", fields), metav1.CreateOptions{})
		require.NoError(t, err)
		want := stored.DeepCopy()
		idle(t, c)
		got, err := c.Get(t.Context(), thing, types.NamespacedName{Namespace: "default", Name: "a"})
		require.NoError(t, err)
		require.Equal(t, want.Object, got.Object)
	})
}
