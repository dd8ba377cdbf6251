package memory_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

func conditionsOf(obj *unstructured.Unstructured) (all []map[string]any) {
	conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	for _, c := range conditions {
		all = append(all, c.(map[string]any))
	}
	return all
}

func TestANamespaceSaysWhatRemains(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c := memory.New(memory.Options{RequireNamespaces: true, LateCollection: true, Now: func() time.Time { return now }})
	create(t, c, object(namespaces, "default"))
	held := object(configMaps, "held")
	held.SetFinalizers([]string{"example.com/wait"})
	create(t, c, held)
	create(t, c, object(configMaps, "other"))
	create(t, c, object(pods, "p"))
	require.NoError(t, c.Delete(t.Context(), namespaces, at("default"), metav1.DeleteOptions{}))
	require.False(t, gone(t, c, pods, "p"), "nothing goes before it is collected")
	steps := 0
	for ; c.Collect(); steps++ {
		now = now.Add(time.Second)
		require.False(t, gone(t, c, configMaps, "other") && !gone(t, c, pods, "p"), "Pods go first")
	}
	require.Equal(t, 7, steps, "to look twice, to delete three, and to report twice")
	ns, err := c.Get(t.Context(), namespaces, at("default"))
	require.NoError(t, err)
	conditions := conditionsOf(ns)
	require.Len(t, conditions, 5)
	require.Equal(t, map[string]any{"type": "NamespaceContentRemaining", "status": "True", "reason": "SomeResourcesRemain", "lastTransitionTime": "2026-01-01T00:00:02Z",
		"message": "Some resources are remaining: configmaps. has 1 resource instances"}, conditions[3])
	require.Equal(t, "Some content in the namespace has finalizers remaining: example.com/wait in 1 resource instances", conditions[4]["message"])
	require.Equal(t, "2026-01-01T00:00:02Z", conditions[0]["lastTransitionTime"], "it has not changed since the first look")

	merge(t, c, configMaps, "held", `{"metadata": {"finalizers": null}}`)
	require.True(t, gone(t, c, namespaces, "default"))
}
