package definitions_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/definitions"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// define returns a cluster with a definition whose spec has a schema.
func define(t *testing.T, spec string) (*memory.Cluster, error) {
	c := memory.New(memory.Options{})
	c.Extend(definitions.New(definitions.Options{}).Hooks())
	c.Extend(definitions.Check())
	return c, c.Load(t.Context(), []byte(`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: ovens.example.com}, spec: {
  group: example.com, scope: Namespaced, names: {plural: ovens, kind: Oven}, versions: [{name: v1, served: true, storage: true,
  schema: {openAPIV3Schema: {type: object, properties: {spec: `+spec+`}}}}]}}`))
}

func oven(spec any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Oven", "metadata": map[string]any{"name": "a", "namespace": "default"}, "spec": spec}}
}

func enumOf(n int) string {
	var values []string
	for i := range n {
		values = append(values, fmt.Sprintf("v%06d", i))
	}
	return strings.Join(values, ", ")
}

func manyOf(n int, v any) (all []any) {
	for range n {
		all = append(all, v)
	}
	return all
}

// TestWhatTakesLongIsRefusedBeforeItRuns has objects whose validation would take seconds to hours, or
// gigabytes.
func TestWhatTakesLongIsRefusedBeforeItRuns(t *testing.T) {
	long := strings.Repeat("a", 1_000_000)
	for name, c := range map[string]struct {
		schema string
		spec   any
		fault  string
	}{
		"a pattern": {`{type: object, properties: {s: {type: string, pattern: "((a{0,30}){0,30})+c"}}}`,
			map[string]any{"s": long}, "spec.s: Forbidden: the validation of the object takes more than 100000000 steps here"},
		"a pattern in allOf": {`{type: object, properties: {s: {type: string}}, allOf: [{properties: {s: {pattern: "((a{0,30}){0,30})+c"}}}]}`,
			map[string]any{"s": long}, "spec.s: Forbidden"},
		"a large enum": {`{type: object, properties: {l: {type: array, items: {type: string, enum: [` + enumOf(20_000) + `]}}}}`,
			map[string]any{"l": manyOf(20_000, "v000001")}, "spec.l[2499]: Forbidden"},
		"defaults of items": {`{type: object, properties: {l: {type: array, items: {type: object, properties: {s: {type: string, default: ` + long[:100_000] + `}}}}}}`,
			map[string]any{"l": manyOf(10_000, map[string]any{})}, "spec.l[31]: Forbidden: the defaults of the object take more than 3145728 bytes"},
		"defaults in defaults": {`{type: object, properties: {l: {type: array, items: {type: object, properties: {o: {type: object, default: {}, properties: {s: {type: string, default: ` + long[:100_000] + `}}}}}}}}`,
			map[string]any{"l": manyOf(10_000, map[string]any{})}, "spec.l[31]: Forbidden: the defaults"},
		"a pattern in a rule": {`{type: object, properties: {s: {type: string, maxLength: 1000000}}, x-kubernetes-validations: [{rule: "!self.s.matches('((a{0,30}){0,30})+c')"}]}`,
			map[string]any{"s": long}, "a pattern in x-kubernetes-validations takes more than 100000000 steps for this object"},
		"a pattern of the object": {`{type: object, properties: {s: {type: string, maxLength: 1000000}, p: {type: string, maxLength: 100}}, x-kubernetes-validations: [{rule: "!self.s.matches(self.p)"}]}`,
			map[string]any{"s": long, "p": "((a{0,30}){0,30})+c"}, "a pattern in x-kubernetes-validations takes"},
	} {
		t.Run(name, func(t *testing.T) {
			cluster, err := define(t, c.schema)
			require.NoError(t, err)
			_, err = cluster.Create(t.Context(), oven(c.spec), metav1.CreateOptions{})
			require.True(t, apierrors.IsInvalid(err), "%v", err)
			require.ErrorContains(t, err, c.fault)
			require.Less(t, len(err.Error()), 1000)
		})
	}
}

// TestUsualObjectsAreFarFromTheLimits checks that large sound objects are stored.
func TestUsualObjectsAreFarFromTheLimits(t *testing.T) {
	cluster, err := define(t, `{type: object, properties: {l: {type: array, items: {type: object, properties: {
  name: {type: string, pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", maxLength: 63}, mode: {type: string, enum: [a, b, c], default: a}}}}}}`)
	require.NoError(t, err)
	_, err = cluster.Create(t.Context(), oven(map[string]any{"l": manyOf(20_000, map[string]any{"name": strings.Repeat("n", 50)})}), metav1.CreateOptions{})
	require.NoError(t, err)
}

// TestPatternsOfDefinitionsAreCounted checks that a definition with huge patterns is refused before
// they are compiled: Kubernetes' validators keep what they have compiled.
func TestPatternsOfDefinitionsAreCounted(t *testing.T) {
	var properties []string
	for i := range 100 {
		properties = append(properties, fmt.Sprintf(`p%d: {type: string, pattern: "a{0,%d}"}`, i, 900+i))
	}
	_, err := define(t, `{type: object, properties: {`+strings.Join(properties, ", ")+`}}`)
	require.ErrorContains(t, err, "spec.versions: Forbidden: the patterns of the schemas have")
}

// TestFaultsAreShort checks that the text of an error is not much longer than the object.
func TestFaultsAreShort(t *testing.T) {
	cluster, err := define(t, `{type: object, properties: {l: {type: array, items: {type: integer}}, s: {type: string, pattern: "^b$"}}}`)
	require.NoError(t, err)
	for n, text := range map[int]string{500: "401 more faults", 50_000: "the object has very many faults, one of them: spec.l[0] in body must be of type integer"} {
		_, err = cluster.Create(t.Context(), oven(map[string]any{"l": manyOf(n, "x"), "s": strings.Repeat("a", 500_000)}), metav1.CreateOptions{})
		require.True(t, apierrors.IsInvalid(err))
		require.ErrorContains(t, err, text)
		require.Less(t, len(err.Error()), 30_000)
	}
	_, err = cluster.Create(t.Context(), oven(map[string]any{"l": manyOf(50_000, int64(1))}), metav1.CreateOptions{})
	require.NoError(t, err)
}

// TestFaultsOfNestedChecks checks the same for checks in anyOf, which are not found by the first
// validation.
func TestFaultsOfNestedChecks(t *testing.T) {
	cluster, err := define(t, `{type: object, properties: {l: {type: array, items: {type: string}, anyOf: [{items: {pattern: "^b$"}}, {minItems: 1}]}}}`)
	require.NoError(t, err)
	_, err = cluster.Create(t.Context(), oven(map[string]any{"l": manyOf(50_000, "x")}), metav1.CreateOptions{})
	require.ErrorContains(t, err, "spec.l[0]: Forbidden: the validation of the object takes more than")
	_, err = cluster.Create(t.Context(), oven(map[string]any{"l": manyOf(100, "x")}), metav1.CreateOptions{})
	require.NoError(t, err)
}
