package player

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/staged/fleet"
)

func configMap(name string, fields map[string]any) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
	for key, value := range fields {
		obj.Object[key] = value
	}
	obj.SetNamespace("shop")
	obj.SetName(name)
	return obj
}

// An object that the revision does not have is not deleted from the source: that would take it from every
// cluster.
func TestAnObjectThatTheRevisionDoesNotHave(t *testing.T) {
	before, err := fleet.NewSnapshot([]*unstructured.Unstructured{configMap("a", nil)})
	require.NoError(t, err)
	require.Empty(t, cannotRestore([]*unstructured.Unstructured{configMap("a", nil)}, []fleet.Snapshot{before}))
	why := cannotRestore([]*unstructured.Unstructured{configMap("a", nil), configMap("b", nil)}, []fleet.Snapshot{before})
	require.Equal(t, "ConfigMap shop/b is not in it: a person has to delete that", why)
}

// The patch of a restored object replaces what clusters receive, and nothing else.
func TestThePatchOfARestoredObject(t *testing.T) {
	live := configMap("a", map[string]any{"data": map[string]any{"k": "2"}, "immutable": true, "status": map[string]any{"x": "y"}})
	live.SetResourceVersion("7")
	live.SetUID("u")
	live.SetLabels(map[string]string{"app": "2", "new": "2", "transport.kubestellar.io/x": "kept"})
	want := fleet.Deliver(configMap("a", map[string]any{"data": map[string]any{"k": "1"}, "metadata": map[string]any{"labels": map[string]any{"app": "1"}}}))
	require.Equal(t, []map[string]any{
		{"op": "test", "path": "/metadata/resourceVersion", "value": "7"},
		{"op": "test", "path": "/metadata/uid", "value": "u"},
		{"op": "remove", "path": "/immutable"},
		{"op": "add", "path": "/apiVersion", "value": "v1"},
		{"op": "add", "path": "/data", "value": map[string]any{"k": "1"}},
		{"op": "add", "path": "/kind", "value": "ConfigMap"},
		{"op": "add", "path": "/metadata/labels", "value": map[string]string{"app": "1", "transport.kubestellar.io/x": "kept"}},
		{"op": "add", "path": "/metadata/annotations", "value": map[string]string{}},
	}, replacing(live, want))
}
