package memory

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// heapAfter returns how many bytes of the heap a function leaves.
func heapAfter(f func()) int64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f()
	runtime.GC()
	runtime.ReadMemStats(&after)
	return int64(after.HeapAlloc) - int64(before.HeapAlloc)
}

// largeMap returns a ConfigMap with a text of a MiB that no other has.
func largeMap(i int) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": "default", "name": fmt.Sprint("a", i)},
		"data": map[string]any{"text": fmt.Sprint(i, strings.Repeat("x", 1<<20))},
	}}
}

// TestLargeObjectsLeaveNothing: the texts and parts that objects share are small, and a table lets go of what is removed at once.
func TestLargeObjectsLeaveNothing(t *testing.T) {
	kind := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	c := New(Options{History: 1})
	require.Less(t, heapAfter(func() {
		for i := range 100 {
			obj := largeMap(i)
			_, err := c.Create(t.Context(), obj, metav1.CreateOptions{})
			require.NoError(t, err)
			require.NoError(t, c.Delete(t.Context(), kind, types.NamespacedName{Namespace: "default", Name: obj.GetName()}, metav1.DeleteOptions{}))
		}
	}), int64(10<<20))
	runtime.KeepAlive(c)
}

// TestListsThatNobodyReadsOnLeaveLittle: of the lists that are read by the page, the last two are kept, and 64 MiB of others.
func TestListsThatNobodyReadsOnLeaveLittle(t *testing.T) {
	kind := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	c := New(Options{History: 1})
	c.Extend(Hooks{Validate: func(v *Review) error { v.Weigh(1 << 20); return nil }})
	const lists, large = 12, 20
	tokens := make([]string, lists)
	require.Less(t, heapAfter(func() {
		for n := range lists {
			for i := range large {
				_, err := c.Create(t.Context(), largeMap(i), metav1.CreateOptions{})
				require.NoError(t, err)
			}
			page, err := c.List(t.Context(), kind, "", metav1.ListOptions{Limit: 1})
			require.NoError(t, err)
			tokens[n] = page.GetContinue()
			for i := range large {
				require.NoError(t, c.Delete(t.Context(), kind, types.NamespacedName{Namespace: "default", Name: fmt.Sprint("a", i)}, metav1.DeleteOptions{}))
			}
		}
	}), int64((2*large+64+10)<<20))
	kept := 0
	for n, token := range tokens {
		page, err := c.List(t.Context(), kind, "", metav1.ListOptions{Limit: 100, Continue: token})
		if err == nil {
			require.Len(t, page.Items, large-1)
			kept++
			continue
		}
		require.True(t, apierrors.IsResourceExpired(err), "%d: %v", n, err)
		require.Zero(t, kept, "the oldest are forgotten first")
	}
	require.Equal(t, 2+3, kept)
}
