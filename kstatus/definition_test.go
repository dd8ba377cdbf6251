package kstatus_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

var _ kstatus.DefinitionReader = (*memory.Cluster)(nil)

// TestDefinitionSaysWhetherAStatusComes computes objects whose own verdict is a guess, beside a
// cluster in memory that has the definition of their kind.
func TestDefinitionSaysWhetherAStatusComes(t *testing.T) {
	const (
		plain      = `{type: object, properties: {spec: {type: object}}}`
		withStates = `{type: object, properties: {status: {type: object, properties: {url: {type: string},
  parts: {type: array, items: {type: object, properties: {phase: {type: string}}}}}}}}`
		withValues = `{type: object, properties: {status: {type: object, properties: {url: {type: string}}}}}`
		open       = `{type: object, x-kubernetes-preserve-unknown-fields: true}`
		created    = "metadata: {name: w, namespace: default, creationTimestamp: 2025-12-31T23:59:00Z}\n"
		old        = "metadata: {name: w, namespace: default, creationTimestamp: 2025-12-30T00:00:00Z}\n"
		url        = "status: {url: http://a}"
	)
	for _, c := range []struct{ name, schema, subresources, object, want string }{
		{"no status in the schema", plain, "{}", created, "Current: The kind has no status"},
		{"no status in the schema, with a finalizer", plain, "{}", "metadata: {name: w, namespace: default, finalizers: [a.example.com/b]}", "Current: The kind has no status"},
		{"a subresource, new", withValues, "{status: {}}", created, "InProgress NoStatus: Nothing has reported a status yet"},
		{"a subresource, old", withValues, "{status: {}}", old, "InProgress NoStatus: Nothing has reported a status yet"},
		{"a status without a subresource, old", withValues, "{}", old, "Current: No status within 5 minutes, so that none is expected"},
		{"any field, old", open, "{}", old, "Current: No status within 5 minutes, so that none is expected"},
		{"values and a schema without a state", withValues, "{status: {}}", created + url, "Current: The status of the kind has no field for a state"},
		{"values and a schema with a state", withStates, "{status: {}}", old + url, "InProgress StatusUnclear: The status does not say whether the resource is ready"},
		{"a status that says something", withValues, "{status: {}}", old + "status: {phase: Failed}", "Failed Failed: phase is Failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cluster := memory.New(memory.Options{})
			crd := parse(t, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: `+c.schema+`}, subresources: `+c.subresources+`}]`)
			_, err := cluster.Create(t.Context(), crd, metav1.CreateOptions{})
			require.NoError(t, err)
			obj := parse(t, "apiVersion: example.com/v1\nkind: Widget\n"+c.object)
			own := kstatus.Extended().Compute(obj, now)
			r, err := kstatus.WithDefinition(t.Context(), cluster, obj, own)
			require.NoError(t, err)
			require.Equal(t, c.want, r.String())
			inspected, _, err := kstatus.Extended().Inspect(t.Context(), cluster, obj, now)
			require.NoError(t, err)
			require.Equal(t, r, inspected)
		})
	}
}

// definitionFunc is a DefinitionReader.
type definitionFunc func(schema.GroupVersionKind) (*unstructured.Unstructured, error)

func (f definitionFunc) Definition(_ context.Context, kind schema.GroupVersionKind) (*unstructured.Unstructured, error) {
	return f(kind)
}

func TestDefinitionIsAskedOnlyForAGuess(t *testing.T) {
	refused := errors.New("refused")
	reader := definitionFunc(func(schema.GroupVersionKind) (*unstructured.Unstructured, error) { return nil, refused })
	none := definitionFunc(func(schema.GroupVersionKind) (*unstructured.Unstructured, error) { return nil, nil })
	guess := parse(t, "{apiVersion: example.com/v1, kind: Widget}")
	own := kstatus.Extended().Compute(guess, now)

	r, err := kstatus.WithDefinition(t.Context(), reader, guess, own)
	require.ErrorIs(t, err, refused)
	require.Equal(t, own, r)
	r, err = kstatus.WithDefinition(t.Context(), none, guess, own)
	require.NoError(t, err)
	require.Equal(t, own, r)

	sure := parse(t, "{apiVersion: example.com/v1, kind: Widget, status: {phase: Ready}}")
	own = kstatus.Extended().Compute(sure, now)
	r, err = kstatus.WithDefinition(t.Context(), reader, sure, own)
	require.NoError(t, err)
	require.Equal(t, own, r)
}

func TestDefinitionOfABuiltInKind(t *testing.T) {
	cluster := memory.New(memory.Options{})
	crd, err := cluster.Definition(t.Context(), schema.GroupVersionKind{Version: "v1", Kind: "Pod"})
	require.NoError(t, err)
	require.Nil(t, crd)
}
