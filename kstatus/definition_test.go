package kstatus_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

var _ kstatus.DefinitionReader = (*memory.Cluster)(nil)

// TestDefinitionSaysWhetherAStatusComes computes objects whose own verdict is a guess, next to a
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
		{"a status without a subresource, old", withValues, "{}", old, "Current: No status within 5 minutes, so no controller reports one"},
		{"any field, old", open, "{}", old, "Current: No status within 5 minutes, so no controller reports one"},
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
			r := kstatus.Extended().WithDefinitions(crd).Compute(obj, now)
			require.Equal(t, c.want, r.String())
			require.Equal(t, r, kstatus.Extended().WithDefinitions(crd).Explain(obj, now).Result)
			require.Equal(t, kstatus.Standard().Compute(obj, now), kstatus.Standard().WithDefinitions(crd).Compute(obj, now))
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

func TestDefinitionIsAskedOnlyForAGuessOrWords(t *testing.T) {
	refused := errors.New("refused")
	reader := definitionFunc(func(schema.GroupVersionKind) (*unstructured.Unstructured, error) { return nil, refused })
	none := definitionFunc(func(schema.GroupVersionKind) (*unstructured.Unstructured, error) { return nil, nil })
	guess := parse(t, "{apiVersion: example.com/v1, kind: Widget}")
	own := kstatus.Extended().Compute(guess, now)

	r, _, err := kstatus.Extended().Inspect(t.Context(), defining{reader}, guess, now)
	require.ErrorIs(t, err, refused)
	require.Equal(t, own, r)
	r, _, err = kstatus.Extended().Inspect(t.Context(), defining{none}, guess, now)
	require.NoError(t, err)
	require.Equal(t, own, r)
	words := parse(t, "{apiVersion: example.com/v1, kind: Widget, status: {phase: Ready}}")
	_, _, err = kstatus.Extended().Inspect(t.Context(), defining{reader}, words, now)
	require.ErrorIs(t, err, refused)

	sure := parse(t, "{apiVersion: example.com/v1, kind: Widget, status: {conditions: [{type: Ready, status: 'True'}]}}")
	r, _, err = kstatus.Extended().Inspect(t.Context(), defining{reader}, sure, now)
	require.NoError(t, err)
	require.Equal(t, kstatus.BasisConvention, r.Basis)
	_, _, err = kstatus.Standard().Inspect(t.Context(), defining{reader}, guess, now)
	require.NoError(t, err)
}

// defining is a Reader without objects.
type defining struct{ kstatus.DefinitionReader }

func (defining) Get(context.Context, schema.GroupVersionKind, types.NamespacedName) (*unstructured.Unstructured, error) {
	return nil, nil
}

func (defining) List(context.Context, schema.GroupVersionKind, string, metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	return &unstructured.UnstructuredList{}, nil
}

// TestDefinitionSaysWhatAPhaseMeans has objects whose words no one knows.
func TestDefinitionSaysWhatAPhaseMeans(t *testing.T) {
	definition := func(phase, rest string) *unstructured.Unstructured {
		return parse(t, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
spec:
  group: example.com
  names: {kind: Widget}
  versions: [{name: v1, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, properties: {status: {type: object, properties: {
    url: {type: string}, phase: {type: string, `+phase+`}}}}}}`+rest+`}]`)
	}
	const columns = `, additionalPrinterColumns: [{name: Ready, type: string, jsonPath: '.status.conditions[?(@.type=="Ready")].status'}]`
	for _, c := range []struct{ name, phase, rest, status, want string }{
		{"the only good value", `enum: [Pending, Failed, Blooming1]`, "", "{phase: Blooming1}", "Current: phase is Blooming1"},
		{"one of two unknown values", `enum: [Frobbed, Quuxed]`, "", "{phase: Frobbed}", "InProgress StatusUnclear: The status does not say whether the resource is ready"},
		{"next to a good value", `enum: [Ready, Frobbed]`, "", "{phase: Frobbed}", "InProgress StatusUnclear: The status does not say whether the resource is ready"},
		{"described as ready", `enum: [Ready, Frobbed], description: "Frobbed: the widget is ready."`, "", "{phase: Frobbed}", "Current: phase is Frobbed"},
		{"described as failed", `enum: [Ready, Frobbed], description: "Ready when it serves. Frobbed means it has failed."`, "", "{phase: Frobbed}", "Failed Frobbed: phase is Frobbed"},
		{"named in passing", `enum: [Ready, Frobbed], description: "Ready or Frobbed; it has failed."`, "", "{phase: Frobbed}", "InProgress StatusUnclear: The status does not say whether the resource is ready"},
		{"no Ready yet", `enum: [Running]`, columns, "{phase: Running}", "InProgress ConditionMissing: Waiting for condition Ready"},
		{"no column", `enum: [Running]`, "", "{phase: Running}", "Current: phase is Running"},
		{"a failure stays", `enum: [Failed]`, columns, "{phase: Failed}", "Failed Failed: phase is Failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			obj := parse(t, "apiVersion: example.com/v1\nkind: Widget\nstatus: "+c.status)
			rules := kstatus.Extended().WithDefinitions(nil, definition(c.phase, c.rest))
			require.Equal(t, c.want, rules.Compute(obj, now).String())
			require.Equal(t, rules.Compute(obj, now), rules.Explain(obj, now).Result)
			obj.SetAPIVersion("example.com/v2")
			require.Equal(t, kstatus.Extended().Compute(obj, now), rules.Compute(obj, now), "another version")
		})
	}
}

func TestDefinitionOfABuiltInKind(t *testing.T) {
	cluster := memory.New(memory.Options{})
	crd, err := cluster.Definition(t.Context(), schema.GroupVersionKind{Version: "v1", Kind: "Pod"})
	require.NoError(t, err)
	require.Nil(t, crd)
}
