package memory_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

var restored = struct{ definitions, widgets, events schema.GroupVersionKind }{
	schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"},
	schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"},
	schema.GroupVersionKind{Version: "v1", Kind: "Event"},
}

// restorable is a cluster in the middle of its work: an owner waits for its dependents in the
// foreground, and a namespace is terminating. The clock is for it and for what is restored from it.
func restorable(t *testing.T, now func() time.Time) *memory.Cluster {
	ctx := t.Context()
	c := memory.New(memory.Options{Seed: 7, Now: now, RequireNamespaces: true, RequireOwners: true})
	c.TrackFields()
	require.NoError(t, c.Load(ctx, []byte(`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.com},
  spec: {group: example.com, scope: Namespaced,
  names: {plural: widgets, kind: Widget}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object,
  x-kubernetes-preserve-unknown-fields: true}}}]}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: default}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: going}}
---
{apiVersion: example.com/v1, kind: Widget, metadata: {name: stays, namespace: going, finalizers: [example.com/hold]}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: owner}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: foreground, finalizers: [example.com/hold]}}
---
{apiVersion: v1, kind: Event, metadata: {name: old}, involvedObject: {kind: ConfigMap, name: owner, namespace: default}}`)))
	owned := func(name, owner, more string) string {
		obj, err := c.Get(ctx, configMaps, types.NamespacedName{Namespace: "default", Name: owner})
		require.NoError(t, err)
		return fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: %s,
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: %s, uid: %s, blockOwnerDeletion: true}]%s}}`, name, owner, obj.GetUID(), more)
	}
	require.NoError(t, c.Load(ctx, []byte(owned("child", "owner", "")+"\n---\n"+owned("blocks", "foreground", ", finalizers: [example.com/hold]"))))
	foreground := metav1.DeletePropagationForeground
	require.NoError(t, c.Delete(ctx, configMaps, types.NamespacedName{Namespace: "default", Name: "foreground"}, metav1.DeleteOptions{PropagationPolicy: &foreground}))
	require.NoError(t, c.Delete(ctx, namespaces, types.NamespacedName{Name: "going"}, metav1.DeleteOptions{}))
	return c
}

// textOf is the state of a cluster as text.
func textOf(t *testing.T, c *memory.Cluster) string {
	var b strings.Builder
	for obj := range c.All() {
		text, err := memory.AppendJSON(nil, obj.Object)
		require.NoError(t, err)
		b.Write(append(text, '\n'))
	}
	return b.String()
}

func objectsOf(c *memory.Cluster) []*unstructured.Unstructured { return slices.Collect(c.All()) }

// TestARestoredClusterGoesOn does the same with a cluster and with one that is restored from its
// objects.
func TestARestoredClusterGoesOn(t *testing.T) {
	ctx := t.Context()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	first := restorable(t, func() time.Time { return now })
	list, err := first.List(ctx, configMaps, "", metav1.ListOptions{})
	require.NoError(t, err)
	objs := objectsOf(first)
	slices.Reverse(objs) // the order does not matter
	second, err := memory.Restore(memory.Options{Seed: 7, Now: func() time.Time { return now }, RequireNamespaces: true, RequireOwners: true}, list.GetResourceVersion(), objs...)
	require.NoError(t, err)
	second.TrackFields()
	require.Equal(t, textOf(t, first), textOf(t, second))

	release := []byte(`{"metadata": {"finalizers": null}}`)
	for _, step := range []struct {
		name string
		do   func(*memory.Cluster) error
	}{
		{"a dependent follows its owner", func(c *memory.Cluster) error {
			return c.Delete(ctx, configMaps, types.NamespacedName{Namespace: "default", Name: "owner"}, metav1.DeleteOptions{})
		}},
		{"the last dependent ends a deletion in the foreground", func(c *memory.Cluster) error {
			_, err := c.Patch(ctx, configMaps, types.NamespacedName{Namespace: "default", Name: "blocks"}, types.MergePatchType, release, metav1.PatchOptions{})
			return err
		}},
		{"the last object ends a namespace", func(c *memory.Cluster) error {
			_, err := c.Patch(ctx, restored.widgets, types.NamespacedName{Namespace: "going", Name: "stays"}, types.MergePatchType, release, metav1.PatchOptions{})
			return err
		}},
		{"an Event expires", func(c *memory.Cluster) error {
			_, err := c.List(ctx, restored.events, "", metav1.ListOptions{})
			return err
		}},
	} {
		before := textOf(t, first)
		if strings.Contains(step.name, "Event") {
			now = now.Add(time.Hour + time.Second)
		}
		require.NoError(t, step.do(first), step.name)
		require.NoError(t, step.do(second), step.name)
		require.Equal(t, textOf(t, first), textOf(t, second), step.name)
		require.NotEqual(t, before, textOf(t, first), step.name)
	}
}

func TestARestoredClusterIsWatchedFromItsVersion(t *testing.T) {
	c, err := memory.Restore(memory.Options{}, "40", stored("a", "u1", "12"))
	require.NoError(t, err)
	early, err := c.Feed(configMaps, "", metav1.ListOptions{ResourceVersion: "39"})
	require.NoError(t, err)
	e, _ := early.Next()
	require.Equal(t, watch.Error, e.Type)
	changes, err := c.Feed(configMaps, "", metav1.ListOptions{ResourceVersion: "40"})
	require.NoError(t, err)
	require.NoError(t, c.Load(t.Context(), []byte(`{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}`)))
	e, found := changes.Next()
	require.True(t, found)
	require.Equal(t, "41", e.Object.(*unstructured.Unstructured).GetResourceVersion())
}

// TestUIDsDoNotComeAgain restores a cluster in which an object had been deleted: the next one of that
// name must not get its uid, which dependents may still name.
func TestUIDsDoNotComeAgain(t *testing.T) {
	ctx := t.Context()
	manifest := []byte(`{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`)
	name := types.NamespacedName{Namespace: "default", Name: "a"}
	c, seen := memory.New(memory.Options{}), map[types.UID]bool{}
	for range 4 {
		require.NoError(t, c.Load(ctx, manifest))
		obj, err := c.Get(ctx, configMaps, name)
		require.NoError(t, err)
		require.False(t, seen[obj.GetUID()])
		seen[obj.GetUID()] = true
		require.NoError(t, c.Delete(ctx, configMaps, name, metav1.DeleteOptions{}))
		c, err = memory.Restore(memory.Options{}, obj.GetResourceVersion(), objectsOf(c)...)
		require.NoError(t, err)
	}
}

func stored(name, uid, version string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{
		"name": name, "namespace": "default", "uid": uid, "resourceVersion": version}}}
}

func TestFaultsOfARestore(t *testing.T) {
	unknown := stored("b", "u2", "2")
	unknown.SetKind("Widget")
	nowhere := stored("c", "u3", "3")
	nowhere.SetNamespace("")
	broken := stored("d", "u4", "4")
	broken.Object["metadata"].(map[string]any)["labels"] = "x"
	_, err := memory.Restore(memory.Options{RequireNamespaces: true}, "latest",
		stored("a", "u1", "1"), stored("a", "u5", "5"), stored("e", "u1", "6"), unknown, nowhere, broken, stored("f", "", "7"), stored("g", "u8", ""), stored("", "u9", "9"))
	require.EqualError(t, err, strings.Join([]string{
		`resourceVersion "latest" is no positive number`,
		`ConfigMap default/a: there are two with this name`,
		`ConfigMap default/e: another object has the same uid u1`,
		`Widget default/b: /v1, Kind=Widget is no kind of the cluster`,
		`ConfigMap c: no metadata.namespace`,
		`ConfigMap default/d: metadata.labels: must be a map of strings`,
		`ConfigMap default/f: no metadata.uid: it was not read from a cluster`,
		`ConfigMap default/g: resourceVersion "" is no positive number`,
		`ConfigMap default/: no metadata.name`,
		`ConfigMap default/a: namespace default is not among the objects`,
	}, "\n"))
}
