package memory_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

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
	create(t, c, object(namespaces, "shop"))
	held := inShop(object(configMaps, "held"))
	held.SetFinalizers([]string{"example.com/wait"})
	create(t, c, held)
	create(t, c, inShop(object(configMaps, "other")))
	create(t, c, inShop(object(pods, "p")))
	require.NoError(t, c.Delete(t.Context(), namespaces, at("shop"), metav1.DeleteOptions{}))
	require.False(t, goneFrom(t, c, pods, "shop", "p"), "nothing goes before it is collected")
	steps := 0
	for ; c.Collect(); steps++ {
		now = now.Add(time.Second)
		require.False(t, goneFrom(t, c, configMaps, "shop", "other") && !goneFrom(t, c, pods, "shop", "p"), "Pods go first")
	}
	require.Equal(t, 7, steps, "to look twice, to delete three, and to report twice")
	ns, err := c.Get(t.Context(), namespaces, at("shop"))
	require.NoError(t, err)
	conditions := conditionsOf(ns)
	require.Len(t, conditions, 5)
	require.Equal(t, map[string]any{"type": "NamespaceContentRemaining", "status": "True", "reason": "SomeResourcesRemain", "lastTransitionTime": "2026-01-01T00:00:02Z",
		"message": "Some resources are remaining: configmaps. has 1 resource instances"}, conditions[3])
	require.Equal(t, "Some content in the namespace has finalizers remaining: example.com/wait in 1 resource instances", conditions[4]["message"])
	require.Equal(t, "2026-01-01T00:00:02Z", conditions[0]["lastTransitionTime"], "it has not changed since the first look")

	mergeIn(t, c, configMaps, types.NamespacedName{Namespace: "shop", Name: "held"}, `{"metadata": {"finalizers": null}}`)
	require.True(t, gone(t, c, namespaces, "shop"))
}

// TestNamespacesThatCannotBeDeleted has the namespaces that the admission plugin NamespaceLifecycle
// protects.
func TestNamespacesThatCannotBeDeleted(t *testing.T) {
	c := memory.New(memory.Options{})
	for _, name := range []string{"default", "kube-system", "kube-public", "kube-node-lease", "other"} {
		err := c.Delete(t.Context(), namespaces, types.NamespacedName{Name: name}, metav1.DeleteOptions{})
		require.True(t, apierrors.IsNotFound(err), err)
		ns := object(namespaces, name)
		ns.SetNamespace("")
		create(t, c, ns)
		err = c.Delete(t.Context(), namespaces, types.NamespacedName{Name: name}, metav1.DeleteOptions{})
		if name == "kube-node-lease" || name == "other" {
			require.NoError(t, err)
			continue
		}
		require.True(t, apierrors.IsForbidden(err), err)
		require.EqualError(t, err, `namespaces "`+name+`" is forbidden: this namespace may not be deleted`)
		_, err = c.Get(t.Context(), namespaces, types.NamespacedName{Name: name})
		require.NoError(t, err)
	}
	owner := create(t, c, object(namespaces, "owner"))
	ns := owned(object(namespaces, "kube-public"), owner)
	_, err := c.Update(t.Context(), ns, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.NoError(t, c.Delete(t.Context(), namespaces, types.NamespacedName{Name: "owner"}, metav1.DeleteOptions{}))
	_, err = c.Get(t.Context(), namespaces, types.NamespacedName{Name: "kube-public"})
	require.NoError(t, err, "not even by the garbage collector")
	create(t, c, object(configMaps, "default"))
	require.NoError(t, c.Delete(t.Context(), configMaps, at("default"), metav1.DeleteOptions{}))
}

func mergeIn(t testing.TB, c *memory.Cluster, kind schema.GroupVersionKind, name types.NamespacedName, body string, sub ...string) {
	t.Helper()
	_, err := c.Patch(t.Context(), kind, name, types.MergePatchType, []byte(body), metav1.PatchOptions{}, sub...)
	require.NoError(t, err)
}

func goneFrom(t testing.TB, c *memory.Cluster, kind schema.GroupVersionKind, namespace, name string) bool {
	t.Helper()
	_, err := c.Get(t.Context(), kind, types.NamespacedName{Namespace: namespace, Name: name})
	return apierrors.IsNotFound(err)
}

// inShop moves an object into the namespace shop, which can be deleted.
func inShop(u *unstructured.Unstructured) *unstructured.Unstructured {
	u.SetNamespace("shop")
	return u
}
