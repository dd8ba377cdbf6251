// Package contract runs scenarios, in scenarios/*.yaml, that every API server must pass. The tests
// of the root module run them on stage/memory, and the tests of internal/dev/e2e on a real
// kube-apiserver. A program that relies only on behavior that both have works with either.
//
// # Terminology
//
// A scenario is a sequence of calls, called steps, for one object and perhaps others of its kind.
// Each step has the expected answer of the server, and the expected state afterwards.
//
// # Usage
//
//	contract.Run(t, func(t *testing.T) contract.Server {
//		server := memory.New(memory.Options{})
//		require.NoError(t, server.Load(t.Context(), []byte(contract.Definitions)))
//		return server
//	})
//
// # Compatibility
//
// An object may have more fields than a step wants, because a real server sets defaults. A field
// that must be absent may also be empty, because typed objects are encoded with an empty status.
package contract

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// A Reader reads objects. An empty namespace means all namespaces.
type Reader interface {
	Get(context.Context, schema.GroupVersionKind, types.NamespacedName) (*unstructured.Unstructured, error)
	List(context.Context, schema.GroupVersionKind, string, metav1.ListOptions) (*unstructured.UnstructuredList, error)
	Watch(context.Context, schema.GroupVersionKind, string, metav1.ListOptions) (watch.Interface, error)
}

// A Writer creates and changes objects, or the subresource that is named, and returns them as
// stored.
type Writer interface {
	Create(context.Context, *unstructured.Unstructured, metav1.CreateOptions) (*unstructured.Unstructured, error)
	Update(context.Context, *unstructured.Unstructured, metav1.UpdateOptions, ...string) (*unstructured.Unstructured, error)
	Patch(context.Context, schema.GroupVersionKind, types.NamespacedName, types.PatchType, []byte, metav1.PatchOptions, ...string) (*unstructured.Unstructured, error)
}

// A Deleter deletes objects.
type Deleter interface {
	Delete(context.Context, schema.GroupVersionKind, types.NamespacedName, metav1.DeleteOptions) error
}

// A Server is an API server. Errors are errors of apimachinery's api/errors.
type Server interface {
	Reader
	Writer
	Deleter
}

// Definitions is the manifest, in YAML, of the custom kinds that the scenarios use. A server must
// have them before a scenario begins.
const Definitions = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  versions: [{name: v1, served: true, storage: true, subresources: {status: {}},
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: plains.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {plural: plains, singular: plain, kind: Plain, listKind: PlainList}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`

// Run runs every scenario in its own namespace and removes its objects afterwards. It calls open
// for each scenario; open may return the same server every time.
func Run(t *testing.T, open func(t *testing.T) Server) {
	all, err := scenarios()
	require.NoError(t, err)
	for i, s := range all {
		t.Run(s.Name, func(t *testing.T) {
			newScenarioRun(t, open(t), fmt.Sprintf("contract-%d", i+1), s).run()
		})
	}
}

// Bodies yields the text of every object of the scenarios with every text that is sent for it, for
// tests that need many pairs. Texts are JSON.
func Bodies(t testing.TB) iter.Seq2[string, string] {
	all, err := scenarios()
	require.NoError(t, err)
	return func(yield func(object, body string) bool) {
		fill := strings.NewReplacer("$namespace", "default", "$version", "1", "$uid", "u")
		for _, s := range all {
			for _, step := range s.Steps {
				if !yield(fill.Replace(s.Object), fill.Replace(string(step.Body))) {
					return
				}
			}
		}
	}
}
