package celrule_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/kstatus/celrule"
)

func ExampleAnnotated() {
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Oven",
		"metadata": map[string]any{"annotations": map[string]any{
			"stagecraft-go.github.io/current": `status.temperature >= spec.temperature`,
			"stagecraft-go.github.io/message": `"at " + string(status.temperature)`,
		}},
		"spec":   map[string]any{"temperature": int64(220)},
		"status": map[string]any{"temperature": int64(90)},
	}}
	rules := celrule.Annotated(kstatus.Extended())
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r := rules.Compute(obj, now)
	fmt.Println(r, r.Basis)
	obj.Object["status"] = map[string]any{"temperature": int64(220)}
	fmt.Println(rules.Compute(obj, now))
	// Output:
	// InProgress CurrentNotTrue: at 90 Kind
	// Current: at 220
}

func TestAnnotations(t *testing.T) {
	rules := celrule.Annotated(kstatus.Extended())
	for annotations, want := range map[string]string{
		`{}`: "Failed Failed: phase is Failed",
		`{stagecraft-go.github.io/current: "true"}`:                                                  "Current: Expression current is true",
		`{stagecraft-go.github.io/current: "true", stagecraft-go.github.io/failed: "has(status.x)"}`: "Current: Expression current is true",
		`{stagecraft-go.github.io/current: "true", stagecraft-go.github.io/in-progress: "true"}`:     "InProgress InProgress: Expression inProgress is true",
		`{stagecraft-go.github.io/failed: "false"}`:                                                  "Unknown InvalidExpression: current: is required: no object would ever be ready",
		`{stagecraft-go.github.io/current: "slf.x"}`:                                                 "Unknown InvalidExpression: current: ",
		`{stagecraft-go.github.io/current: "1"}`:                                                     "Unknown InvalidExpression: current: ",
		`{stagecraft-go.github.io/current: "` + strings.Repeat("true && ", 600) + `true"}`:           "Unknown InvalidExpression: an expression has 4804 bytes, more than 4096",
		`{stagecraft-go.github.io/current: "status.none > 1"}`:                                       "InProgress ExpressionFailed: current: ",
		`{stagecraft-go.github.io/current: 5}`:                                                       "Failed Failed: phase is Failed",
	} {
		obj := object(t, "{apiVersion: example.com/v1, kind: Widget, metadata: {annotations: "+annotations+"}, status: {phase: Failed}}")
		for range 2 {
			require.Contains(t, rules.Compute(obj, time.Time{}).String(), want, annotations)
		}
	}
	old := object(t, `{apiVersion: example.com/v1, kind: Widget, metadata: {generation: 2, annotations: {stagecraft-go.github.io/current: "true"}}, status: {observedGeneration: 1}}`)
	require.Equal(t, "LatestGenerationNotObserved", rules.Compute(old, time.Time{}).Reason, "the general rules come first")
}

// TestManyAnnotations: each object has another expression, and what is kept stays bounded.
func TestManyAnnotations(t *testing.T) {
	rules := celrule.Annotated(kstatus.Extended())
	for i := range 600 {
		obj := object(t, fmt.Sprintf(`{apiVersion: example.com/v1, kind: Widget, status: {size: %d},
  metadata: {annotations: {stagecraft-go.github.io/current: "status.size == %d"}}}`, i, i))
		require.Equal(t, kstatus.Current, rules.Compute(obj, time.Time{}).Status)
	}
}

func TestDefinitionRules(t *testing.T) {
	definition := func(kind, annotations string) *unstructured.Unstructured {
		return object(t, "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: "+kind+"s.example.com, annotations: "+annotations+
			"}, spec: {group: example.com, names: {kind: "+kind+"}}}")
	}
	rules, err := celrule.DefinitionRules(definition("Widget", `{stagecraft-go.github.io/current: "status.size == 1"}`), definition("Gadget", "{}"))
	require.NoError(t, err)
	require.Len(t, rules, 1)
	r := kstatus.Extended().With(rules).Compute(object(t, "{apiVersion: example.com/v1, kind: Widget, status: {size: 1}}"), time.Time{})
	require.Equal(t, kstatus.Current, r.Status)
	require.Equal(t, kstatus.BasisKind, r.Basis)

	_, err = celrule.DefinitionRules(definition("Widget", `{stagecraft-go.github.io/current: "slf"}`), definition("Gadget", `{stagecraft-go.github.io/failed: "1"}`))
	require.ErrorContains(t, err, "Widgets.example.com: ")
	require.ErrorContains(t, err, "Gadgets.example.com: ")
}
