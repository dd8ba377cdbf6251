package memory

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

func TestOnlyFeedsAreWaitedForWithoutEnd(t *testing.T) {
	for unbounded, held := range map[bool]int{true: backlog + 100, false: backlog - 1} {
		l := log{keep: 10}
		l.watchers = []*watcher{{unbounded: unbounded}}
		for range backlog + 100 {
			l.append(event{})
		}
		if unbounded {
			require.Len(t, l.events, held)
		} else {
			require.LessOrEqual(t, len(l.events), held)
		}
	}
}

func TestATableThatNobodyListsForgetsWhatIsGone(t *testing.T) {
	kind := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	c := New(Options{History: 1})
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": "default", "name": "a"}}}
	for range 10_000 {
		_, err := c.Create(t.Context(), u, metav1.CreateOptions{})
		require.NoError(t, err)
		require.NoError(t, c.Delete(t.Context(), kind, types.NamespacedName{Namespace: "default", Name: "a"}, metav1.DeleteOptions{}))
	}
	table := c.kinds[kind].table
	require.LessOrEqual(t, len(table.added)+len(table.order), 2048)
}

// TestHistoryHasALimitInBytes checks that versions of large objects are forgotten, of the largest
// kind first, while Feeds lose nothing.
func TestHistoryHasALimitInBytes(t *testing.T) {
	kind := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	small := schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	c := New(Options{})
	c.Extend(Hooks{Validate: func(v *Review) error {
		if v.Kind == kind {
			v.Weigh(1 << 20)
		}
		return nil
	}})
	create := func(kind schema.GroupVersionKind) {
		u := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"namespace": "default", "name": "a"}}}
		u.SetGroupVersionKind(kind)
		_, err := c.Create(t.Context(), u, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	create(small)
	create(kind)
	feed, err := c.Feed(kind, "", metav1.ListOptions{})
	require.NoError(t, err)
	_, _ = feed.Next() // the object that exists
	write := func(n int) {
		for i := range n {
			u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "n": int64(i), "metadata": map[string]any{"namespace": "default", "name": "a"}}}
			_, err := c.Update(t.Context(), u, metav1.UpdateOptions{})
			require.NoError(t, err)
		}
	}
	write(500)
	for range 500 {
		_, ok := feed.Next()
		require.True(t, ok)
	}
	write(1)
	sum := 0
	for _, table := range c.tables {
		sum += table.log.bytes
	}
	require.Equal(t, sum, c.history)
	require.LessOrEqual(t, c.history, maxHistory+1<<20)
	require.LessOrEqual(t, len(c.kinds[kind].table.log.events), 400)
	require.Len(t, c.kinds[small].table.log.events, 1)
}
