package memory_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// An Event stays for an hour after its last write; nothing else goes by itself.
func TestEventsExpire(t *testing.T) {
	for _, apiVersion := range []string{"v1", "events.k8s.io/v1"} {
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		c := memory.New(memory.Options{Now: func() time.Time { return now }})
		kind := schema.FromAPIVersionAndKind(apiVersion, "Event")
		create := func(name string) {
			obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": "Event", "metadata": map[string]any{"namespace": "x", "name": name}}}
			_, err := c.Create(t.Context(), obj, metav1.CreateOptions{})
			require.NoError(t, err)
		}
		names := func(c *memory.Cluster) (names []string) {
			list, err := c.List(t.Context(), kind, "", metav1.ListOptions{})
			require.NoError(t, err)
			for _, e := range list.Items {
				names = append(names, e.GetName())
			}
			return names
		}
		create("a")
		create("b")
		feed, err := c.Feed(kind, "", metav1.ListOptions{})
		require.NoError(t, err)

		now = now.Add(30 * time.Minute)
		_, err = c.Patch(t.Context(), kind, types.NamespacedName{Namespace: "x", Name: "b"}, types.MergePatchType, []byte(`{"count":2}`), metav1.PatchOptions{})
		require.NoError(t, err)
		fork := c.Fork()
		now = now.Add(30 * time.Minute)
		require.Equal(t, []string{"a", "b"}, names(c))
		now = now.Add(time.Second)
		require.Equal(t, []string{"b"}, names(c))
		require.Equal(t, []string{"b"}, names(fork))
		_, err = c.Get(t.Context(), kind, types.NamespacedName{Namespace: "x", Name: "a"})
		require.Error(t, err)

		var last watch.Event
		for e, ok := feed.Next(); ok; e, ok = feed.Next() {
			last = e
		}
		require.Equal(t, watch.Deleted, last.Type)
		now = now.Add(30 * time.Minute)
		require.NoError(t, c.Load(t.Context(), []byte(`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: x}}`)))
		e, ok := feed.Next()
		require.True(t, ok, "a write of another object removes b, too")
		require.Equal(t, watch.Deleted, e.Type)
		now = now.Add(24 * time.Hour)
		_, err = c.Get(t.Context(), schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, types.NamespacedName{Namespace: "x", Name: "a"})
		require.NoError(t, err)
	}
}

// An object that takes the name of another one has another uid, even after the cluster has forgotten
// the name; so has a generated name.
func TestUidsAndNamesAreNotUsedTwice(t *testing.T) {
	kind := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	c := memory.New(memory.Options{})
	seen, names := map[types.UID]bool{}, map[string]bool{}
	replace := func(name, prefix string) {
		obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": "x", "name": name, "generateName": prefix}}}
		got, err := c.Create(t.Context(), obj, metav1.CreateOptions{})
		require.NoError(t, err)
		require.False(t, seen[got.GetUID()], "%s has a uid that was there before", name)
		seen[got.GetUID()] = true
		if prefix != "" {
			require.False(t, names[got.GetName()], "the name %s was there before", got.GetName())
			names[got.GetName()] = true
		}
		require.NoError(t, c.Delete(t.Context(), kind, types.NamespacedName{Namespace: "x", Name: got.GetName()}, metav1.DeleteOptions{}))
	}
	for round := range 4 {
		for range 3 - round {
			replace("a", "")
			replace("", "a-")
		}
		for i := range 20_000 {
			replace(fmt.Sprint("other-", i), "")
		}
		for i := range 20_000 * min(1, max(0, 1-round)) {
			replace("", fmt.Sprint("prefix-", i, "-"))
		}
		replace("a", "")
		replace("", "a-")
	}
}
