package kstatus_test

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/kstatus"
)

func deploymentObject() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": "web", "generation": int64(2)},
		"spec":     map[string]any{"replicas": int64(3)},
		"status":   map[string]any{"observedGeneration": int64(2), "replicas": int64(3), "updatedReplicas": int64(1)},
	}}
}

func ExampleCompute() {
	r := kstatus.Compute(deploymentObject())
	fmt.Println(r.Status)
	fmt.Println(r.Reason)
	fmt.Println(r.Message())
	fmt.Println(r.Field())
	// Output:
	// InProgress
	// LessUpdated
	// Updated: 1/3
	// status.updatedReplicas
}

func ExampleResult_recheck() {
	created := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	pod := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{"creationTimestamp": created.Format(time.RFC3339)},
		"status": map[string]any{"phase": "Pending", "conditions": []any{
			map[string]any{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"},
		}},
	}}
	r := kstatus.Standard().Compute(pod, created.Add(5*time.Second))
	fmt.Println(r, "- look again in", r.RecheckAfter)
	fmt.Println(kstatus.Standard().Compute(pod, created.Add(5*time.Second+r.RecheckAfter)))
	// Output:
	// InProgress PodNotScheduled: Pod has not been scheduled - look again in 10s
	// Failed PodUnschedulable: Pod could not be scheduled
}

// A caller who must not go on too early looks at what a verdict rests on.
func ExampleResult_basis() {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	widget := func(status map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.com/v1", "kind": "Widget", "status": status,
			"metadata": map[string]any{"creationTimestamp": "2026-01-01T00:00:00Z"},
		}}
	}
	for _, obj := range []*unstructured.Unstructured{
		widget(map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True"}}}),
		widget(map[string]any{"phase": "Running"}),
		widget(map[string]any{"url": "http://example.com"}),
	} {
		r := kstatus.Extended().Compute(obj, now)
		fmt.Println(r.Status, r.Basis, r.Basis >= kstatus.BasisConvention)
	}
	// Output:
	// Current Convention true
	// Current Words false
	// Current Guess false
}

// A definition says what the words of its kind mean, and whether a status comes at all.
func ExampleRules_WithDefinitions() {
	definition := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"group": "example.com", "names": map[string]any{"kind": "Widget"},
		"versions": []any{map[string]any{
			"name": "v1", "subresources": map[string]any{"status": map[string]any{}},
			"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{
				"status": map[string]any{"type": "object", "properties": map[string]any{
					"phase": map[string]any{"type": "string", "enum": []any{"Ready", "Tepid"}, "description": "Tepid: the widget has failed to warm up."},
				}},
			}}},
		}},
	}}}
	widget := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget", "status": map[string]any{"phase": "Tepid"},
	}}
	fmt.Println(kstatus.Extended().Compute(widget, time.Now()))
	fmt.Println(kstatus.Extended().WithDefinitions(definition).Compute(widget, time.Now()))
	// Output:
	// InProgress StatusUnclear: The status does not say whether the resource is ready
	// Failed Tepid: phase is Tepid
}

func ExampleRules_With() {
	volume := func(o kstatus.Object) (kstatus.Result, bool) {
		if size := o.IntOr(0, "status", "sizeGi"); size < o.IntOr(0, "spec", "sizeGi") {
			return kstatus.InProgress.Because("Growing", "The volume is not as large as it shall be").At("status.sizeGi"), true
		}
		return kstatus.Result{}, false // the generic layer decides
	}
	rules := kstatus.Standard().With(map[schema.GroupKind]kstatus.Rule{
		{Group: "storage.example.com", Kind: "Volume"}: volume,
		{Group: "*.example.com", Kind: "*"}:            kstatus.Expectations{Conditions: []string{"Ready"}}.Rule,
	})
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "storage.example.com/v1", "kind": "Volume",
		"spec":   map[string]any{"sizeGi": int64(10)},
		"status": map[string]any{"sizeGi": int64(5)},
	}}
	fmt.Println(rules.Compute(obj, time.Now()))
	obj.Object["status"] = map[string]any{"sizeGi": int64(10)}
	fmt.Println(rules.Compute(obj, time.Now()))
	// Output:
	// InProgress Growing: The volume is not as large as it shall be
	// InProgress ConditionMissing: Volume condition Ready not found
}

func ExampleRules_Explain() {
	fmt.Print(kstatus.Standard().Explain(deploymentObject(), time.Now()))
	// Output:
	// InProgress LessUpdated: Updated: 1/3
	//   basis: Kind
	//   deletion metadata.deletionTimestamp=-
	//   generation status.observedGeneration=2 metadata.generation=2
	//   readable
	//   standard conditions
	// * Deployment.apps spec.replicas=3 status.replicas=3 status.updatedReplicas=1 status.readyReplicas=- status.availableReplicas=-
}

func ExampleRules_Augment() {
	obj := deploymentObject()
	kstatus.Standard().Augment(obj, time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	for _, c := range conditions {
		c := c.(map[string]any)
		fmt.Println(c["type"], c["status"], c["reason"], c["lastTransitionTime"])
	}
	// Output:
	// Reconciling True LessUpdated 2026-01-01T12:00:00Z
}

func ExampleStatus_Aggregate() {
	fmt.Println(kstatus.Current.Aggregate(kstatus.Current, kstatus.InProgress))
	fmt.Println(kstatus.Current.Aggregate(kstatus.Current, kstatus.InProgress, kstatus.Failed))
	// Output:
	// InProgress
	// Failed
}
