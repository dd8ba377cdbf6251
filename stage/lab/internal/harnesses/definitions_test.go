// Package harnesses_test checks that four harnesses are the same Kubernetes: a lab, a hunt, a
// server over a bare store and a server over a lab. Each test here checks one behavior in all of
// them.
package harnesses_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/lab/hunt"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// A creator creates an object in the namespace default, or without one, and returns it as stored.
type creator func(*unstructured.Unstructured) (*unstructured.Unstructured, error)

// harnesses run a test, each in its own cluster.
var harnesses = map[string]func(*testing.T, func(creator)){
	"lab": func(t *testing.T, test func(creator)) {
		test(onCluster(labtest.New(t, labtest.Options{Strict: true}).Cluster()))
	},
	"hunt":   inHunt,
	"server": func(t *testing.T, test func(creator)) { test(overHTTP(t, memory.New(memory.Options{}))) },
	"server over a lab": func(t *testing.T, test func(creator)) {
		test(overHTTP(t, labtest.New(t, labtest.Options{Strict: true}).Cluster()))
	},
}

func onCluster(c *memory.Cluster) creator {
	return func(obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		return c.Create(context.Background(), obj, metav1.CreateOptions{})
	}
}

// inHunt runs the test as a step of a user in each run of a hunt without faults.
func inHunt(t *testing.T, test func(creator)) {
	_, err := hunt.Play(hunt.Options{}, func(r *hunt.Run) {
		r.Process("operator", func(*hunt.Process) []reconcile.Controller {
			return []reconcile.Controller{{Name: "nothing", For: schema.GroupVersionKind{Version: "v1", Kind: "Namespace"},
				Reconcile: func(context.Context, reconcile.Request) (reconcile.Result, error) { return reconcile.Result{}, nil }}}
		})
		test(onCluster(r.Cluster()))
	}, hunt.Plan{})
	require.NoError(t, err)
}

func overHTTP(t *testing.T, c *memory.Cluster) creator {
	client := dynamic.NewForConfigOrDie(apiserver.Start(t, c, apiserver.Options{}))
	return func(obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		if obj.GetKind() == "CustomResourceDefinition" {
			return client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}).Create(t.Context(), obj, metav1.CreateOptions{})
		}
		return client.Resource(schema.GroupVersionResource{Group: "x.io", Version: "v1", Resource: "ovens"}).Namespace("default").Create(t.Context(), obj, metav1.CreateOptions{})
	}
}

const definition = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: ovens.x.io}, spec: {group: x.io, scope: Namespaced,
  names: {plural: ovens, kind: Oven}, versions: [{name: v1, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, properties: {
  spec: {type: object, required: [degrees], properties: {degrees: {type: integer, maximum: 300}, mode: {type: string, default: bake}},
    x-kubernetes-validations: [{rule: "self.mode != 'cool' || self.degrees < 100", message: it is too hot}]}}}}}]}}`

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	data, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(t, err)
	require.NoError(t, u.UnmarshalJSON(data))
	return u
}

// TestDefinitionsAct checks defaults, pruning, schemas and rules of custom kinds.
func TestDefinitionsAct(t *testing.T) {
	for name, run := range harnesses {
		t.Run(name, func(t *testing.T) {
			run(t, func(create creator) {
				oven := func(name, spec string) (*unstructured.Unstructured, error) {
					return create(object(t, `{apiVersion: x.io/v1, kind: Oven, metadata: {namespace: default, name: `+name+`}, spec: `+spec+`}`))
				}
				_, err := create(object(t, definition))
				require.NoError(t, err)
				u, err := oven("a", `{degrees: 200, color: red}`)
				require.NoError(t, err)
				require.Equal(t, map[string]any{"degrees": int64(200), "mode": "bake"}, u.Object["spec"])
				_, err = oven("b", `{degrees: 301}`)
				require.ErrorContains(t, err, `Oven.x.io "b" is invalid: spec.degrees: Invalid value: 301: spec.degrees in body should be less than or equal to 300`)
				_, err = oven("c", `{degrees: 200, mode: cool}`)
				require.ErrorContains(t, err, "it is too hot")
			})
		})
	}
}

// TestDefinitionsWithoutASchemaAreRefused checks the definition itself.
func TestDefinitionsWithoutASchemaAreRefused(t *testing.T) {
	for name, run := range harnesses {
		t.Run(name, func(t *testing.T) {
			run(t, func(create creator) {
				crd := object(t, definition)
				version := crd.Object["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)
				delete(version, "schema")
				_, err := create(crd)
				require.ErrorContains(t, err, "spec.versions[0].schema.openAPIV3Schema: Required value")
			})
		})
	}
}
