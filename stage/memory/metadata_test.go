package memory_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// TestUpdatesOfAnyVersion: without a resourceVersion, or with "0", an update is about any version, for the
// kinds whose strategies in kube-apiserver allow it (AllowUnconditionalUpdate).
func TestUpdatesOfAnyVersion(t *testing.T) {
	lease := schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"}
	budget := schema.GroupVersionKind{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"}
	for kind, needs := range map[schema.GroupVersionKind]bool{configMaps: false, pods: false, lease: true, budget: true, widgets: true} {
		c := memory.New(memory.Options{Kinds: []memory.Kind{{GroupVersionKind: widgets, Status: true}}})
		u := object(kind, "a")
		u.SetResourceVersion("0")
		stored := create(t, c, u)
		for i, version := range []string{"", "0", stored.GetResourceVersion()} {
			u := stored.DeepCopy()
			u.SetResourceVersion(version)
			u.SetLabels(map[string]string{"n": fmt.Sprint(i)})
			_, err := c.Update(t.Context(), u, metav1.UpdateOptions{DryRun: []string{"All"}})
			patch := fmt.Sprintf(`{"metadata":{"resourceVersion":%q,"labels":{"n":"%d"}}}`, version, i)
			_, err2 := c.Patch(t.Context(), kind, at("a"), types.MergePatchType, []byte(patch), metav1.PatchOptions{DryRun: []string{"All"}})
			for _, err := range []error{err, err2} {
				if !needs || i == 2 {
					require.NoError(t, err, "%s %q", kind, version)
					continue
				}
				require.True(t, apierrors.IsInvalid(err), "%s %q: %v", kind, version, err)
				require.ErrorContains(t, err, "metadata.resourceVersion: Invalid value: 0: must be specified for an update")
			}
		}
		u = stored.DeepCopy()
		u.SetResourceVersion("12345")
		_, err := c.Update(t.Context(), u, metav1.UpdateOptions{})
		require.True(t, apierrors.IsConflict(err), err)
	}
}

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

// TestGenerationsOfClients: kinds that count have generation 1, others keep what the client says.
func TestGenerationsOfClients(t *testing.T) {
	c := memory.New(memory.Options{})
	for i, tc := range []struct {
		kind        schema.GroupVersionKind
		given, want int64
	}{{pods, 7, 1}, {configMaps, 7, 7}, {configMaps, 0, 0}} {
		u := object(tc.kind, fmt.Sprint("a", i))
		u.SetGeneration(tc.given)
		require.Equal(t, tc.want, create(t, c, u).GetGeneration(), tc.kind)
	}
}

// TestAVersionIsANumber: an update with another text fails as in an API server, which cannot read it.
func TestAVersionIsANumber(t *testing.T) {
	c := memory.New(memory.Options{})
	u := create(t, c, object(configMaps, "a"))
	u.SetResourceVersion("x")
	_, err := c.Update(t.Context(), u, metav1.UpdateOptions{})
	require.EqualError(t, err, `strconv.ParseUint: parsing "x": invalid syntax`)
	require.Equal(t, metav1.StatusReasonUnknown, apierrors.ReasonForError(err))
}
