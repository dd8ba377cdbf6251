package memory_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// TestEmptyMetadataIsDropped on every way into the store, as an API server drops it.
func TestEmptyMetadataIsDropped(t *testing.T) {
	c, gvk, name := memory.New(memory.Options{}), schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, types.NamespacedName{Namespace: "default", Name: "a"}
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{
		"name": "a", "namespace": "default", "labels": map[string]any{}, "annotations": map[string]any{}, "finalizers": []any{}, "ownerReferences": []any{}}}}
	requireBare := func(obj *unstructured.Unstructured, err error) *unstructured.Unstructured {
		t.Helper()
		require.NoError(t, err)
		for _, field := range []string{"labels", "annotations", "finalizers", "ownerReferences"} {
			require.NotContains(t, obj.Object["metadata"], field)
		}
		return obj
	}
	obj = requireBare(c.Create(t.Context(), obj, metav1.CreateOptions{}))
	obj.SetFinalizers([]string{"a/b"})
	obj, err := c.Update(t.Context(), obj, metav1.UpdateOptions{})
	require.NoError(t, err)
	obj.Object["metadata"].(map[string]any)["finalizers"] = []any{}
	requireBare(c.Update(t.Context(), obj, metav1.UpdateOptions{}))
	requireBare(c.Patch(t.Context(), gvk, name, types.MergePatchType, []byte(`{"metadata":{"labels":{},"finalizers":[]}}`), metav1.PatchOptions{}))
	requireBare(c.Patch(t.Context(), gvk, name, types.JSONPatchType, []byte(`[{"op":"add","path":"/metadata/finalizers","value":[]}]`), metav1.PatchOptions{}))
}
