// Package contract is what every API server does, as a table of short stories, and what runs them: on stage/memory with the tests of the root module, and
// on a real kube-apiserver with those of internal/dev/e2e. What both pass is what programs written against one can count on with the other.
//
// # Terminology
//
// A scenario is a story about one object, and perhaps others of its kind. Its steps are calls, each with what the server must answer and what must
// be true afterwards.
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
// What is wanted must be contained in what is there: a real server adds defaults. A member that must be absent may also be empty, because typed
// objects print a status that has nothing in it.
package contract

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// A Reader reads objects. An empty namespace stands for all.
type Reader interface {
	Get(context.Context, schema.GroupVersionKind, types.NamespacedName) (*unstructured.Unstructured, error)
	List(context.Context, schema.GroupVersionKind, string, metav1.ListOptions) (*unstructured.UnstructuredList, error)
	Watch(context.Context, schema.GroupVersionKind, string, metav1.ListOptions) (watch.Interface, error)
}

// A Writer creates and changes objects, or the subresource that is named, and returns them as stored.
type Writer interface {
	Create(context.Context, *unstructured.Unstructured, metav1.CreateOptions) (*unstructured.Unstructured, error)
	Update(context.Context, *unstructured.Unstructured, metav1.UpdateOptions, ...string) (*unstructured.Unstructured, error)
	Patch(context.Context, schema.GroupVersionKind, types.NamespacedName, types.PatchType, []byte, metav1.PatchOptions, ...string) (*unstructured.Unstructured, error)
}

// A Deleter deletes objects.
type Deleter interface {
	Delete(context.Context, schema.GroupVersionKind, types.NamespacedName, metav1.DeleteOptions) error
}

// A Server is an API server. Errors are those of apimachinery's api/errors.
type Server interface {
	Reader
	Writer
	Deleter
}

// Definitions is the manifest of the custom kinds of the scenarios, in YAML. A server has them before a scenario begins.
const Definitions = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  versions: [{name: v1, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
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

// Run runs every scenario in a namespace of its own and removes its objects afterwards. Open is called for each; it may return the same server
// every time.
func Run(t *testing.T, open func(t *testing.T) Server) {
	for i, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) {
			newScenarioRun(t, open(t), fmt.Sprintf("contract-%d", i+1), s).run()
		})
	}
}

// Bodies yields the text of every object of the scenarios with every text that is sent to it, for tests that need many.
func Bodies() iter.Seq2[string, string] {
	return func(yield func(object, body string) bool) {
		fill := strings.NewReplacer("$namespace", "default", "$version", "'1'", "$uid", "u")
		for _, s := range scenarios() {
			for _, step := range s.steps {
				if !yield(fill.Replace(s.object), fill.Replace(step.body)) {
					return
				}
			}
		}
	}
}

func scenarios() []scenario {
	return slices.Concat(writing, status, patching, applying, deleting, reading)
}
