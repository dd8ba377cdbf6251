package memory_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

var definitionKind = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}

const (
	definitionWithSchema = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: foos.example.com}, spec: {
  group: example.com, scope: Namespaced, names: {plural: foos, kind: Foo}, versions: [{name: v1, served: true, storage: true,
  schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object}}}}}]}}`
	definitionWithoutSchema = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: bars.example.com}, spec: {
  group: example.com, scope: Namespaced, names: {plural: bars, kind: Bar}, versions: [{name: v1, served: true, storage: true,
  schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}`
)

// TestTheTraceWarnsOfSchemas checks that a cluster without hooks for schemas says once of each
// definition that its schema has no effect.
func TestTheTraceWarnsOfSchemas(t *testing.T) {
	for name, test := range map[string]struct {
		hooks []memory.Hooks
		want  map[string]int
	}{
		"bare":            {want: map[string]int{"foos.example.com": 1}},
		"other hooks":     {hooks: []memory.Hooks{{Name: "other"}}, want: map[string]int{"foos.example.com": 1}},
		"hooks with them": {hooks: []memory.Hooks{{Name: "definitions", Schemas: true}}, want: map[string]int{}},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, warnings := context.Background(), map[string]int{}
			c := memory.New(memory.Options{Trace: func(r memory.Request) {
				if r.Warning != "" {
					require.Contains(t, r.Warning, "spec.versions[].schema has no effect")
					warnings[r.Name.Name]++
				}
			}})
			for _, h := range test.hooks {
				c.Extend(h)
			}
			foo := `{apiVersion: example.com/v1, kind: Foo, metadata: {name: a, namespace: default}, spec: {unknown: 1}}`
			require.NoError(t, c.Load(ctx, []byte(strings.Join([]string{definitionWithSchema, definitionWithoutSchema, foo}, "\n---\n"))))
			_, err := c.Patch(ctx, definitionKind, types.NamespacedName{Name: "foos.example.com"}, types.MergePatchType, []byte(`{"metadata": {"labels": {"a": "b"}}}`), metav1.PatchOptions{})
			require.NoError(t, err)
			require.Equal(t, test.want, warnings)

			patch := []byte(`[{"op": "add", "path": "/spec/versions/0/schema/openAPIV3Schema/properties", "value": {"spec": {"type": "object"}}}]`)
			_, err = c.Patch(ctx, definitionKind, types.NamespacedName{Name: "bars.example.com"}, types.JSONPatchType, patch, metav1.PatchOptions{})
			require.NoError(t, err)
			require.Equal(t, test.want["foos.example.com"], warnings["bars.example.com"], "a schema that comes later")
		})
	}
}
