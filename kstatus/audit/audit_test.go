package audit_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8sjson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/kstatus/audit"
)

func object(manifest string) *unstructured.Unstructured {
	data, err := yaml.YAMLToJSON([]byte(manifest))
	if err != nil {
		panic(err)
	}
	obj := &unstructured.Unstructured{}
	if err := k8sjson.Unmarshal(data, &obj.Object); err != nil {
		panic(err)
	}
	return obj
}

const poor = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {group: example.com, names: {kind: Oven},
  versions: [{name: v1, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, properties: {
    status: {type: object, properties: {phase: {type: string, enum: [Heating, Hot, Toasty]}, conditions: {type: array, items: {type: object}}}}}}}}]}}`

func Example() {
	oven := func(status string) *unstructured.Unstructured {
		return object("{apiVersion: example.com/v1, kind: Oven, metadata: {name: kitchen, generation: 1}, status: " + status + "}")
	}
	report := audit.Kind(object(poor), []*unstructured.Unstructured{
		oven("{phase: Heating}"),
		oven("{phase: Toasty, conditions: [{type: Ready, status: 'True'}]}"),
	})
	fmt.Print(report)
	// Output:
	// ## Readiness of Oven.example.com
	//
	// Tools that wait for objects (Helm, Flux, kubectl, Argo CD) are wrong about it at times.
	//
	// - **must** `status.observedGeneration`: It is not declared: after a change of the spec, the old status looks like the new one.
	//   Fix: Declare `ObservedGeneration int64`, and set it to metadata.generation in the write that sets the conditions.
	//
	// - **must** `status.observedGeneration`: A recorded object has a status without it.
	//   Fix: Set it in every write of the status.
	//
	// - **must** `status.conditions[type="Ready"]`: It is absent until it is True: before that, tools that do not know the kind take the object for ready.
	//   Fix: Set Ready=Unknown or Ready=False in the first write of the status.
	//
	// - **should** `status.conditions`: The list is not a map by type: two conditions of one type are possible, and server-side apply replaces all of them.
	//   Fix: Add `+listType=map` and `+listMapKey=type`.
	//
	// - **should** `status.conditions[].observedGeneration`: A condition does not say which generation it is about.
	//   Fix: Use `metav1.Condition`, and set its ObservedGeneration.
	//
	// - **should** `additionalPrinterColumns`: No column is the condition Ready, so that neither people nor tools see from the definition that it comes.
	//   Fix: Add `+kubebuilder:printcolumn:name=Ready,type=string,JSONPath=.status.conditions[?(@.type=="Ready")].status`.
	//
	// - **should** `status.phase`: No tool knows what these values mean: Hot, Toasty.
	//   Fix: Say it with the condition Ready, and what each value means in the description of the field, as `Value: what it means`.
	//
	// - **should** `status.conditions[type="Ready"]`: It has no reason: a tool that waits cannot say why.
	//   Fix: Set a reason in CamelCase, also for True.
	//
	// - **should** `status.conditions[type="Reconciling"]`: It is never set: while the controller works, tools see only what Ready says.
	//   Fix: Set Reconciling=True with a reason while the controller works, and Stalled=True when it needs help; or rely on Ready alone, and set it early.
	//
	// What tools see of the recorded objects:
	//
	// | object | generation | kstatus of cli-utils | better rules | which rest on |
	// |---|---|---|---|---|
	// | kitchen | 1 | Current: Resource is current | InProgress Heating: phase is Heating | Words |
	// | kitchen | 1 | Current: Resource is Ready | Current | Convention |
}

const good = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {group: example.com, names: {kind: Oven},
  versions: [{name: v1, storage: true, subresources: {status: {}},
    additionalPrinterColumns: [{name: Ready, type: string, jsonPath: '.status.conditions[?(@.type=="Ready")].status'}],
    schema: {openAPIV3Schema: {type: object, properties: {status: {type: object, properties: {
      observedGeneration: {type: integer}, conditions: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [type],
        items: {type: object, properties: {type: {type: string}, observedGeneration: {type: integer}}}}}}}}}}]}}`

func TestAGoodKindHasNoFindings(t *testing.T) {
	oven := func(status string) *unstructured.Unstructured {
		return object("{apiVersion: example.com/v1, kind: Oven, metadata: {name: kitchen, generation: 1, creationTimestamp: '2026-01-01T00:00:00Z'}, status: " + status + "}")
	}
	report := audit.Kind(object(good), []*unstructured.Unstructured{
		oven("{}"),
		oven("{observedGeneration: 1, conditions: [{type: Ready, status: 'False', reason: Heating}, {type: Reconciling, status: 'True', reason: Heating}]}"),
		oven("{observedGeneration: 1, conditions: [{type: Ready, status: 'True', reason: Hot}]}"),
		object("{apiVersion: v1, kind: Pod, metadata: {name: other}}"),
	})
	require.Len(t, report.Seen, 3)
	require.Equal(t, []string{"status"}, paths(report), "a new object without a status is Current to upstream, whatever the controller does")
	report = audit.Kind(object(good), []*unstructured.Unstructured{
		oven("{observedGeneration: 1, conditions: [{type: Ready, status: 'False', reason: Heating}, {type: Reconciling, status: 'True', reason: Heating}]}"),
		oven("{observedGeneration: 1, conditions: [{type: Ready, status: 'True', reason: Hot}]}"),
	})
	require.Empty(t, report.Findings)
	require.True(t, report.Compatible())
	require.Contains(t, report.String(), "nothing was found")
}

func paths(r audit.Report) (out []string) {
	for _, f := range r.Findings {
		out = append(out, f.Path)
	}
	return out
}

const urlAlone = `{spec: {group: example.com, names: {kind: Oven}, versions: [
  {name: v1, schema: {openAPIV3Schema: {properties: {status: {properties: {url: {}}}}}}}]}}`

func TestFindings(t *testing.T) {
	for name, c := range map[string]struct{ definition, recorded, finding string }{
		"no subresource":       {strings.Replace(good, "subresources: {status: {}},", "", 1), "", "must subresources.status"},
		"no status":            {`{spec: {group: example.com, names: {kind: Oven}, versions: [{name: v1, subresources: {status: {}}}]}}`, "", "must status"},
		"no conditions":        {urlAlone, "", "must status.conditions"},
		"Ready never":          {good, "{observedGeneration: 1, conditions: [{type: Synced, status: 'True', reason: A}]}", `must status.conditions[type="Ready"]`},
		"twice":                {good, "{observedGeneration: 1, conditions: [{type: Ready, status: 'True', reason: A}, {type: Ready, status: 'False'}]}", `must status.conditions[type="Ready"]`},
		"a status of a word":   {good, "{observedGeneration: 1, conditions: [{type: Ready, status: Yes, reason: A}]}", `must status.conditions[type="Ready"]`},
		"a generation of text": {good, "{observedGeneration: x, conditions: [{type: Ready, status: 'True', reason: A}]}", "must status.observedGeneration"},
		"a word nobody knows":  {good, "{observedGeneration: 1, phase: Frobbed}", "should status"},
	} {
		t.Run(name, func(t *testing.T) {
			var recorded []*unstructured.Unstructured
			if c.recorded != "" {
				recorded = append(recorded, object("{apiVersion: example.com/v1, kind: Oven, metadata: {name: a, generation: 1}, status: "+c.recorded+"}"))
			}
			var all []string
			for _, f := range audit.Kind(object(c.definition), recorded).Findings {
				require.NotEmpty(t, f.What)
				require.NotEmpty(t, f.Fix)
				all = append(all, string(f.Level)+" "+f.Path)
			}
			require.Contains(t, all, c.finding)
		})
	}
}
