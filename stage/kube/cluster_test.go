package kube_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic/fake"

	"github.com/stagecraft-go/stagecraft/stage/kube"
)

var (
	nodes      = schema.GroupVersionKind{Version: "v1", Kind: "Node"}
	configMaps = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	widgets    = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
)

// A growing mapper learns of a kind when it is reset, as discovery does.
type growing struct {
	*meta.DefaultRESTMapper
	resets int
}

func (g *growing) Reset() {
	g.resets++
	g.Add(widgets, meta.RESTScopeNamespace)
}

func newCluster() (*kube.Cluster, *growing) {
	c, mapper, _ := newFake()
	return c, mapper
}

func newFake() (*kube.Cluster, *growing, *fake.FakeDynamicClient) {
	mapper := &growing{DefaultRESTMapper: meta.NewDefaultRESTMapper(nil)}
	mapper.Add(nodes, meta.RESTScopeRoot)
	mapper.Add(configMaps, meta.RESTScopeNamespace)
	lists := map[schema.GroupVersionResource]string{
		{Version: "v1", Resource: "nodes"}:                         "NodeList",
		{Version: "v1", Resource: "configmaps"}:                    "ConfigMapList",
		{Group: "example.com", Version: "v1", Resource: "widgets"}: "WidgetList",
	}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists)
	return kube.New(client, mapper), mapper, client
}

func object(gvk schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

func TestRequestsReachTheResourceOfTheKind(t *testing.T) {
	c, _ := newCluster()
	at := types.NamespacedName{Namespace: "shop", Name: "a"}
	changes, err := c.Watch(t.Context(), configMaps, "shop", metav1.ListOptions{})
	require.NoError(t, err)
	defer changes.Stop()
	_, err = c.Create(t.Context(), object(configMaps, "shop", "a"), metav1.CreateOptions{})
	require.NoError(t, err)
	got, err := c.Patch(t.Context(), configMaps, at, types.MergePatchType, []byte(`{"data": {"k": "1"}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	got.Object["data"] = map[string]any{"k": "2"}
	_, err = c.Update(t.Context(), got, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.NoError(t, c.Delete(t.Context(), configMaps, at, metav1.DeleteOptions{}))
	for _, want := range []watch.EventType{watch.Added, watch.Modified, watch.Modified, watch.Deleted} {
		require.Equal(t, want, (<-changes.ResultChan()).Type)
	}
	_, err = c.Get(t.Context(), configMaps, at)
	require.True(t, apierrors.IsNotFound(err))
}

func TestNamespacesOfClusterScopedKindsAreIgnored(t *testing.T) {
	c, _ := newCluster()
	_, err := c.Create(t.Context(), object(nodes, "", "n"), metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = c.Get(t.Context(), nodes, types.NamespacedName{Namespace: "shop", Name: "n"})
	require.NoError(t, err)
}

func TestKindsThatComeLaterAreFound(t *testing.T) {
	c, mapper := newCluster()
	list, err := c.List(t.Context(), widgets, "", metav1.ListOptions{})
	require.NoError(t, err)
	require.Empty(t, list.Items)
	require.Equal(t, 1, mapper.resets)
}

func TestUnknownKindsAreNotFound(t *testing.T) {
	c, _ := newCluster()
	gone := schema.GroupVersionKind{Group: "example.com", Version: "v2", Kind: "Gone"}
	at := types.NamespacedName{Namespace: "shop", Name: "a"}
	errs := map[string]error{}
	_, errs["get"] = c.Get(t.Context(), gone, at)
	_, errs["list"] = c.List(t.Context(), gone, "", metav1.ListOptions{})
	_, errs["watch"] = c.Watch(t.Context(), gone, "", metav1.ListOptions{})
	_, errs["create"] = c.Create(t.Context(), object(gone, "shop", "a"), metav1.CreateOptions{})
	_, errs["update"] = c.Update(t.Context(), object(gone, "shop", "a"), metav1.UpdateOptions{})
	_, errs["patch"] = c.Patch(t.Context(), gone, at, types.MergePatchType, []byte(`{}`), metav1.PatchOptions{})
	errs["delete"] = c.Delete(t.Context(), gone, at, metav1.DeleteOptions{})
	for verb, err := range errs {
		require.True(t, apierrors.IsNotFound(err), "%s: %v", verb, err)
		require.ErrorContains(t, err, "example.com/v2, Kind=Gone is no known kind", verb)
	}
}

func TestImpersonationNeedsAConfiguration(t *testing.T) {
	c, _ := newCluster()
	w := c.As("jane")
	at := types.NamespacedName{Namespace: "shop", Name: "a"}
	_, err := w.Create(t.Context(), object(configMaps, "shop", "a"), metav1.CreateOptions{})
	require.True(t, apierrors.IsForbidden(err))
	require.ErrorContains(t, err, `cannot impersonate "jane"`)
	_, err = w.Patch(t.Context(), configMaps, at, types.MergePatchType, nil, metav1.PatchOptions{})
	require.True(t, apierrors.IsForbidden(err))
	require.True(t, apierrors.IsForbidden(w.Delete(t.Context(), configMaps, at, metav1.DeleteOptions{})))
}
