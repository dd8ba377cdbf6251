package memory_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// TestBindIsOneWrite checks that a binding assigns the Node and sets the condition in one version
// of the Pod, without a manager in managedFields, and that the cluster refuses the same bindings as
// an API server.
func TestBindIsOneWrite(t *testing.T) {
	c := memory.New(memory.Options{})
	c.TrackFields()
	pod := parsed(t, `{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: default}, spec: {containers: [{name: c, image: i}]}}`)
	created, err := c.Create(t.Context(), pod, metav1.CreateOptions{FieldManager: "me"})
	require.NoError(t, err)
	w, err := c.Watch(t.Context(), pods, "", metav1.ListOptions{ResourceVersion: created.GetResourceVersion()})
	require.NoError(t, err)
	defer w.Stop()

	binding := parsed(t, `{apiVersion: v1, kind: Binding, metadata: {name: p, labels: {zone: a}, uid: other}, target: {kind: Node, name: node-1}}`)
	require.True(t, apierrors.IsConflict(c.Bind(t.Context(), at("p"), binding, metav1.CreateOptions{})))
	binding.SetUID(created.GetUID())
	require.NoError(t, c.Bind(t.Context(), at("p"), binding, metav1.CreateOptions{}))
	require.ErrorContains(t, c.Bind(t.Context(), at("p"), binding, metav1.CreateOptions{}), `pod p is already assigned to node "node-1"`)

	bound, err := c.Get(t.Context(), pods, at("p"))
	require.NoError(t, err)
	require.Equal(t, bound, (<-w.ResultChan()).Object)
	require.Equal(t, created.GetManagedFields(), bound.GetManagedFields())
	require.Equal(t, created.GetGeneration(), bound.GetGeneration())
	require.Equal(t, map[string]string{"zone": "a"}, bound.GetLabels())
	conditions, _, err := unstructured.NestedSlice(bound.Object, "status", "conditions")
	require.NoError(t, err)
	require.Equal(t, "PodScheduled", conditions[0].(map[string]any)["type"])
}

// TestABindingDoesNotCount: a Pod that gets its Node by a write of spec.nodeName keeps its generation, as
// one that gets it by a Binding does; other changes of its spec count.
func TestABindingDoesNotCount(t *testing.T) {
	c := memory.New(memory.Options{})
	create(t, c, parsed(t, `{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: default}, spec: {containers: [{name: c, image: i}]}}`))
	generation := func(name, spec string) int64 {
		merge(t, c, pods, name, `{"spec":`+spec+`}`)
		pod, err := c.Get(t.Context(), pods, at(name))
		require.NoError(t, err)
		return pod.GetGeneration()
	}
	require.Equal(t, int64(1), generation("p", `{"nodeName":"node-1"}`))
	require.Equal(t, int64(2), generation("p", `{"activeDeadlineSeconds":5}`))
	require.Equal(t, int64(3), generation("p", `{"nodeName":"node-2"}`))
	create(t, c, parsed(t, `{apiVersion: v1, kind: Pod, metadata: {name: q, namespace: default}, spec: {containers: [{name: c, image: i}]}}`))
	require.Equal(t, int64(2), generation("q", `{"nodeName":"node-1","activeDeadlineSeconds":5}`))
}
