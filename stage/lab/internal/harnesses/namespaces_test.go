package harnesses_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/lab/hunt"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

const shop = `{apiVersion: v1, kind: Namespace, metadata: {name: shop}}`

// inNamespaces makes the Namespace shop, and returns the cluster when it has what it needs.
var inNamespaces = map[string]func(*testing.T, func(*memory.Cluster)){
	"lab": func(t *testing.T, test func(*memory.Cluster)) {
		lab := labtest.New(t, labtest.Options{})
		lab.Apply(shop)
		lab.Settle()
		test(lab.Cluster())
	},
	"hunt": func(t *testing.T, test func(*memory.Cluster)) {
		runs := 0
		_, err := hunt.Play(hunt.Options{}, func(r *hunt.Run) {
			r.Process("operator", func(*hunt.Process) []reconcile.Controller {
				return []reconcile.Controller{{Name: "nothing", For: schema.GroupVersionKind{Version: "v1", Kind: "Namespace"},
					Reconcile: func(context.Context, reconcile.Request) (reconcile.Result, error) { return reconcile.Result{}, nil }}}
			})
			r.Apply(shop)
			r.At(time.Minute, "look", func(u *hunt.User) error {
				runs++
				test(u.Cluster())
				return nil
			})
		}, hunt.Plan{})
		require.NoError(t, err)
		require.Positive(t, runs)
	},
	"server": func(t *testing.T, test func(*memory.Cluster)) {
		c := memory.New(memory.Options{RequireNamespaces: true})
		client := dynamic.NewForConfigOrDie(apiserver.Start(t, c, apiserver.Options{}))
		_, err := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).Create(t.Context(), object(t, shop), metav1.CreateOptions{})
		require.NoError(t, err)
		test(c)
	},
}

// TestNamespacesAreAlike compares a Namespace and what is in it, field by field.
func TestNamespacesAreAlike(t *testing.T) {
	want := map[string]map[string]any{
		"Namespace shop":             {"labels": map[string]any{"kubernetes.io/metadata.name": "shop"}, "spec": map[string]any{"finalizers": []any{"kubernetes"}}, "status": map[string]any{"phase": "Active"}},
		"ServiceAccount default":     {},
		"ConfigMap kube-root-ca.crt": {"data": map[string]any{"ca.crt": ""}},
	}
	for name, run := range inNamespaces {
		t.Run(name, func(t *testing.T) {
			run(t, func(c *memory.Cluster) {
				got := map[string]map[string]any{}
				for obj := range c.All() {
					if obj.GetNamespace() == "shop" || obj.GetKind() == "Namespace" && obj.GetName() == "shop" {
						got[obj.GetKind()+" "+obj.GetName()] = contentOf(t, obj)
					}
				}
				require.Equal(t, want, got)
			})
		})
	}
}

// contentOf returns what an object says, without what differs between clusters.
func contentOf(t *testing.T, obj *unstructured.Unstructured) map[string]any {
	content := map[string]any{}
	for field, value := range obj.Object {
		if field != "apiVersion" && field != "kind" && field != "metadata" {
			content[field] = value
		}
	}
	if labels, has, err := unstructured.NestedMap(obj.Object, "metadata", "labels"); has {
		require.NoError(t, err)
		content["labels"] = labels
	}
	if obj.GetKind() == "ConfigMap" {
		require.Contains(t, obj.GetAnnotations()["kubernetes.io/description"], "Contains a CA bundle that can be used to verify the kube-apiserver")
	}
	return content
}

// TestACertificateIsInEachNamespace checks that each Namespace of a lab gets the certificate of the server over
// that lab.
func TestACertificateIsInEachNamespace(t *testing.T) {
	lab := labtest.New(t, labtest.Options{})
	lab.Apply(`{apiVersion: v1, kind: Namespace, metadata: {name: before}}`)
	listener, err := apiserver.Listen(lab.Cluster(), apiserver.ListenOptions{})
	require.NoError(t, err)
	defer func() { require.NoError(t, listener.Close()) }()
	lab.Apply(shop)
	lab.Settle()
	for _, name := range []string{"default", "before", "shop"} {
		obj, err := lab.Cluster().Get(t.Context(), schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, types.NamespacedName{Namespace: name, Name: "kube-root-ca.crt"})
		require.NoError(t, err)
		text, _, err := unstructured.NestedString(obj.Object, "data", "ca.crt")
		require.NoError(t, err)
		require.Equal(t, string(listener.Config().CAData), text, name)
	}
}
