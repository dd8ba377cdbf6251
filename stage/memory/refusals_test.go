package memory_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

const (
	complete = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}, 
  spec: {replicas: 1, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}}}}`
	noPods  = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}, spec: {selector: {matchLabels: {app: web}}}}`
	nowhere = `{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: nowhere}}`
)

// creations are all ways to create an object.
var creations = map[string]func(context.Context, *memory.Cluster, *unstructured.Unstructured) error{
	"Create": func(ctx context.Context, c *memory.Cluster, obj *unstructured.Unstructured) error {
		_, err := c.Create(ctx, obj, metav1.CreateOptions{})
		return err
	},
	"dry run": func(ctx context.Context, c *memory.Cluster, obj *unstructured.Unstructured) error {
		_, err := c.Create(ctx, obj, metav1.CreateOptions{DryRun: []string{"All"}})
		return err
	},
	"CreateValue": func(ctx context.Context, c *memory.Cluster, obj *unstructured.Unstructured) error {
		_, err := c.Share().(transport.ValueWriter).CreateValue(ctx, obj, metav1.CreateOptions{})
		return err
	},
	"apply": apply,
	"Load": func(ctx context.Context, c *memory.Cluster, obj *unstructured.Unstructured) error {
		data, err := obj.MarshalJSON()
		if err != nil {
			return err
		}
		return c.Load(ctx, data)
	},
}

func apply(ctx context.Context, c *memory.Cluster, obj *unstructured.Unstructured) error {
	data, err := obj.MarshalJSON()
	if err != nil {
		return err
	}
	name := types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
	_, err = c.Patch(ctx, obj.GroupVersionKind(), name, types.ApplyPatchType, data, metav1.PatchOptions{FieldManager: "test"})
	return err
}

// requireTemplate refuses workloads without a selector or a template.
func requireTemplate(v *memory.Review) error {
	for _, field := range []string{"selector", "template"} {
		if _, found, _ := unstructured.NestedMap(v.New.Object, "spec", field); !found && v.Kind.Kind == "Deployment" {
			return errors.New("spec." + field + ": Required value")
		}
	}
	return nil
}

// strict returns a cluster that refuses objects in unknown namespaces, and incomplete workloads.
func strict(t *testing.T) *memory.Cluster {
	c := memory.New(memory.Options{RequireNamespaces: true})
	c.Extend(memory.Hooks{Name: "templates", Validate: requireTemplate})
	require.NoError(t, c.Load(t.Context(), []byte("{apiVersion: v1, kind: Namespace, metadata: {name: shop}}")))
	return c
}

func TestRefusedOnEveryWayIn(t *testing.T) {
	for name, create := range creations {
		t.Run(name, func(t *testing.T) {
			c := strict(t)
			require.ErrorContains(t, create(t.Context(), c, parsed(t, noPods)), "spec.template: Required value")
			require.ErrorContains(t, create(t.Context(), c, parsed(t, nowhere)), `namespaces "nowhere" not found`)
			require.NoError(t, create(t.Context(), c, parsed(t, complete)))
		})
	}
}

// changes are all ways to change an object so that it has no selector any more.
var changes = map[string]struct {
	kind types.PatchType
	data string
}{
	"merge":     {types.MergePatchType, `{"spec": {"selector": null}}`},
	"strategic": {types.StrategicMergePatchType, `{"spec": {"selector": null}}`},
	"JSON":      {types.JSONPatchType, `[{"op": "remove", "path": "/spec/selector"}]`},
}

func TestChangesAreRefusedOnEveryWayIn(t *testing.T) {
	c := strict(t)
	web := parsed(t, complete)
	_, err := c.Create(t.Context(), web, metav1.CreateOptions{})
	require.NoError(t, err)
	name := types.NamespacedName{Namespace: "shop", Name: "web"}
	for how, change := range changes {
		_, err := c.Patch(t.Context(), web.GroupVersionKind(), name, change.kind, []byte(change.data), metav1.PatchOptions{})
		require.ErrorContains(t, err, "spec.selector: Required value", how)
	}
	unstructured.RemoveNestedField(web.Object, "spec", "selector")
	_, err = c.Update(t.Context(), web, metav1.UpdateOptions{})
	require.ErrorContains(t, err, "spec.selector: Required value")
}

// TestReviewOnEveryWayIn checks that Hooks.Review sees each creation once, with its name.
func TestReviewOnEveryWayIn(t *testing.T) {
	for name, create := range creations {
		t.Run(name, func(t *testing.T) {
			var seen []string
			c := memory.New(memory.Options{})
			c.Extend(memory.Hooks{Review: func(v *memory.Review) error {
				require.Nil(t, v.Old)
				seen = append(seen, v.Resource.String()+" "+v.Name.String())
				return nil
			}})
			require.NoError(t, create(t.Context(), c, parsed(t, complete)))
			require.Equal(t, []string{"deployments.apps shop/web"}, seen)
		})
	}
}

func parsed(t *testing.T, text string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	require.NoError(t, obj.UnmarshalJSON(toJSON(t, text)))
	return obj
}

// TestLimitsOfJSONPatches checks that a patch that would take too much memory or time is refused
// before that, with the same code as by kube-apiserver.
func TestLimitsOfJSONPatches(t *testing.T) {
	c := strict(t)
	web := parsed(t, complete)
	name := types.NamespacedName{Namespace: "shop", Name: "web"}
	steps := func(n int, step func(i int) string) []byte {
		var all []string
		for i := range n {
			all = append(all, step(i))
		}
		return []byte("[" + strings.Join(all, ",") + "]")
	}
	label := func(i int) string {
		return fmt.Sprintf(`{"op":"add","path":"/spec/template/metadata/labels/l","value":"%d"}`, i)
	}
	patch := func(data []byte) error {
		_, err := c.Patch(t.Context(), web.GroupVersionKind(), name, types.JSONPatchType, data, metav1.PatchOptions{})
		return err
	}
	require.True(t, apierrors.IsNotFound(patch(steps(10_001, label))))
	_, err := c.Create(t.Context(), web, metav1.CreateOptions{})
	require.NoError(t, err)

	require.NoError(t, patch(steps(10_000, label)))
	err = patch(steps(10_001, label))
	require.True(t, apierrors.IsRequestEntityTooLargeError(err), err)
	require.ErrorContains(t, err, "The allowed maximum operations in a JSON patch is 10000, got 10001")
	err = patch(steps(40, func(i int) string { return fmt.Sprintf(`{"op":"copy","from":"/spec","path":"/spec/x%d"}`, i) }))
	require.Equal(t, http.StatusUnprocessableEntity, int(err.(apierrors.APIStatus).Status().Code)) //nolint:errorlint // it is one

	_, err = memory.ApplyJSONPatch(web.Object, steps(10_001, label))
	require.True(t, apierrors.IsRequestEntityTooLargeError(err), err)
	_, err = memory.ApplyJSONPatch(web.Object, []byte(`{}`))
	require.True(t, apierrors.IsBadRequest(err), err)
	next, err := memory.ApplyJSONPatch(web.Object, []byte(`[{"op":"replace","path":"/metadata/name","value":"other"}]`))
	require.NoError(t, err)
	require.Equal(t, "other", next.(map[string]any)["metadata"].(map[string]any)["name"])
	require.Equal(t, "web", web.GetName())
}
