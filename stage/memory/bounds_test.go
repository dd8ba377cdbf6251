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
