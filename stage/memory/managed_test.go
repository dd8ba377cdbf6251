package memory_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// A writer sends patches to one cluster.
type writer struct {
	*testing.T
	*memory.Cluster
}

func (w writer) apply(by, text string, force bool) (*unstructured.Unstructured, error) {
	u := parsed(w.T, text)
	data, err := json.Marshal(u.Object)
	require.NoError(w, err)
	return w.Patch(w.Context(), u.GroupVersionKind(), at(u.GetName()), types.ApplyPatchType, data, metav1.PatchOptions{FieldManager: by, Force: &force})
}

// fieldsOf returns the fields of an object that a manager owns, as JSON.
func fieldsOf(t *testing.T, u *unstructured.Unstructured, by string) string {
	for _, e := range u.GetManagedFields() {
		if e.Manager == by {
			return string(e.FieldsV1.Raw)
		}
	}
	require.Fail(t, "no fields", "%s: %v", by, u.GetManagedFields())
	return ""
}

// TestListsMergeByTheirKeys checks that number and protocol identify a port, and that selectors and
// tolerations are owned as a whole. A strategic merge patch merges them in another way.
func TestListsMergeByTheirKeys(t *testing.T) {
	w := writer{t, memory.New(memory.Options{})}
	_, err := w.apply("one", `{apiVersion: v1, kind: Service, metadata: {name: s, namespace: default}, spec: {selector: {a: b}, ports: [{port: 53}]}}`, false)
	require.NoError(t, err)
	both, err := w.apply("two", `{apiVersion: v1, kind: Service, metadata: {name: s, namespace: default}, spec: {ports: [{port: 53, protocol: UDP, name: u}]}}`, false)
	require.NoError(t, err)
	ports, _, err := unstructured.NestedSlice(both.Object, "spec", "ports")
	require.NoError(t, err)
	require.Len(t, ports, 2)
	require.JSONEq(t, `{"f:spec":{"f:ports":{"k:{\"port\":53,\"protocol\":\"UDP\"}":{".":{},"f:name":{},"f:port":{},"f:protocol":{}}}}}`, fieldsOf(t, both, "two"))
	_, err = w.apply("two", `{apiVersion: v1, kind: Service, metadata: {name: s, namespace: default}, spec: {selector: {c: d}}}`, false)
	require.EqualError(t, err, `Apply failed with 1 conflict: conflict with "one": .spec.selector`)
}

// TestCustomListsMergeAsTheirDefinitionSays checks that an apply uses the types of lists and maps
// in a definition.
func TestCustomListsMergeAsTheirDefinitionSays(t *testing.T) {
	w := writer{t, memory.New(memory.Options{})}
	_, err := w.Create(t.Context(), parsed(t, `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: cakes.example.com},
  spec: {group: example.com, scope: Namespaced, names: {plural: cakes, kind: Cake},
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {
  layers: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, properties: {name: {type: string}}}},
  guests: {type: array, x-kubernetes-list-type: set, items: {type: string}},
  steps: {type: array, items: {type: string}}, oven: {type: object, x-kubernetes-map-type: atomic}}}}}}}]}}`), metav1.CreateOptions{})
	require.NoError(t, err)
	const head = `{apiVersion: example.com/v1, kind: Cake, metadata: {name: c, namespace: default}, spec: `
	_, err = w.apply("one", head+`{layers: [{name: a, of: x}], guests: [ann], steps: [mix], oven: {heat: 1}}}`, false)
	require.NoError(t, err)
	cake, err := w.apply("two", head+`{layers: [{name: a, at: z}, {name: b}], guests: [bob]}}`, false)
	require.NoError(t, err)
	require.Equal(t, map[string]any{
		"layers": []any{map[string]any{"name": "a", "of": "x", "at": "z"}, map[string]any{"name": "b"}},
		"guests": []any{"ann", "bob"}, "steps": []any{"mix"}, "oven": map[string]any{"heat": int64(1)},
	}, cake.Object["spec"])
	_, err = w.apply("two", head+`{steps: [bake], oven: {door: shut}}}`, false)
	require.True(t, apierrors.IsConflict(err), err)
	require.ErrorContains(t, err, "Apply failed with 2 conflicts")
	cake, err = w.apply("one", head+`{guests: [ann], steps: [mix], oven: {heat: 1}}}`, false)
	require.NoError(t, err)
	require.Equal(t, []any{map[string]any{"name": "a", "at": "z"}, map[string]any{"name": "b"}}, cake.Object["spec"].(map[string]any)["layers"])
}

// TestWhatTheServerAddsIsOwnedByNobody checks that Default comes before managedFields are computed,
// and Admit after that.
func TestWhatTheServerAddsIsOwnedByNobody(t *testing.T) {
	c := memory.New(memory.Options{})
	c.TrackFields()
	add := func(field string) func(*memory.Review) error {
		return func(v *memory.Review) error { return unstructured.SetNestedField(v.New.Object, "x", "data", field) }
	}
	c.Extend(memory.Hooks{Name: "test", Default: add("default"), Admit: add("admitted")})
	mine := parsed(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}, data: {mine: x}}`)
	u, err := c.Create(t.Context(), mine, metav1.CreateOptions{FieldManager: "me"})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"mine": "x", "default": "x", "admitted": "x"}, u.Object["data"])
	require.JSONEq(t, `{"f:data":{".":{},"f:default":{},"f:mine":{}}}`, fieldsOf(t, u, "me"))
}

// TestAnApplyThatIsDroppedWritesNothing applies a field that a hook drops each time. It checks that
// the object is not stored again only because managedFields have another time.
func TestAnApplyThatIsDroppedWritesNothing(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	w := writer{t, memory.New(memory.Options{Now: func() time.Time { return now }})}
	w.Extend(memory.Hooks{Name: "test", Admit: func(v *memory.Review) error {
		unstructured.RemoveNestedField(v.New.Object, "data", "dropped")
		return nil
	}})
	applied := `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}, data: {mine: x, dropped: x}}`
	first, err := w.apply("me", applied, false)
	require.NoError(t, err)
	now = now.Add(time.Minute)
	second, err := w.apply("me", applied, false)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"mine": "x"}, second.Object["data"])
	require.Equal(t, first, second)
}
