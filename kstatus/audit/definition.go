package audit

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/kstatus/internal/words"
)

// definition audits the served version that is stored, or else the last one.
func (a *auditor) definition(crd *unstructured.Unstructured) {
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	var version map[string]any
	for _, item := range versions {
		v, _ := item.(map[string]any)
		if version == nil || version["storage"] != true {
			version = v
		}
	}
	if _, ok := object.Get(version, "subresources", "status"); !ok {
		a.add(Must, "subresources.status", "There is no status subresource, so that every write of the status changes the generation, and users can write it.",
			"Add `+kubebuilder:subresource:status`, and write the status with `client.Status()`.")
	}
	status, ok := object.Map(version, "schema", "openAPIV3Schema", "properties", "status")
	if !ok {
		a.add(Must, "status", "The schema has no status: an object is ready as soon as it exists, as far as anybody can see.",
			"Declare a status with conditions and observedGeneration, if a controller works on the objects.")
		return
	}
	a.statusSchema(version, status)
}

func (a *auditor) statusSchema(version, status map[string]any) {
	if _, ok := object.Get(status, "properties", "observedGeneration"); !ok {
		a.add(Must, "status.observedGeneration", "It is not declared: after a change of the spec, the old status looks like the new one.",
			"Declare `ObservedGeneration int64`, and set it to metadata.generation in the write that sets the conditions.")
	}
	conditions, ok := object.Map(status, "properties", "conditions")
	if !ok {
		a.add(Must, "status.conditions", "They are not declared: tools that do not know the kind find no condition Ready, and take the object for ready.",
			"Declare `Conditions []metav1.Condition` with a condition Ready.")
	} else {
		a.conditionSchema(conditions)
	}
	if columns, _ := object.Slice(version, "additionalPrinterColumns"); !slices.ContainsFunc(columns, isReadyColumn) && ok {
		a.add(Should, "additionalPrinterColumns", "No column is the condition Ready, so that neither people nor tools see from the definition that it comes.",
			"Add `+kubebuilder:printcolumn:name=Ready,type=string,JSONPath=.status.conditions[?(@.type==\"Ready\")].status`.")
	}
	properties, _ := object.Map(status, "properties")
	fields := make([]string, 0, len(properties))
	for field := range properties {
		fields = append(fields, field)
	}
	slices.Sort(fields)
	for _, field := range fields {
		if inner, _ := object.ToMap(properties[field]); words.IsPhaseField(field) {
			a.phases(field, inner)
		}
	}
}

func isReadyColumn(item any) bool {
	m, _ := object.ToMap(item)
	path, _ := m["jsonPath"].(string)
	return strings.HasPrefix(path, ".status.conditions[") && strings.Contains(path, "Ready")
}

func (a *auditor) conditionSchema(conditions map[string]any) {
	if conditions["x-kubernetes-list-type"] != "map" {
		a.add(Should, "status.conditions", "The list is not a map by type: two conditions of one type are possible, and server-side apply replaces all of them.",
			"Add `+listType=map` and `+listMapKey=type`.")
	}
	if _, ok := object.Get(conditions, "items", "properties", "observedGeneration"); !ok {
		a.add(Should, "status.conditions[].observedGeneration", "A condition does not say which generation it is about.",
			"Use `metav1.Condition`, and set its ObservedGeneration.")
	}
}

// phases finds the words of an enum for which the rules have no meaning, even with the definition.
func (a *auditor) phases(field string, schema map[string]any) {
	values, _ := object.Slice(schema, "enum")
	var unknown []string
	for _, item := range values {
		value, _ := item.(string)
		if value == "" {
			continue
		}
		obj := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{field: value}}}
		obj.SetGroupVersionKind(a.report.Kind.WithVersion("v0"))
		if r := kstatus.Extended().Generic().Compute(obj, time.Time{}); r.Basis == kstatus.BasisGuess {
			unknown = append(unknown, value)
		}
	}
	if len(unknown) > 0 {
		a.add(Should, "status."+field, fmt.Sprintf("No tool knows what these values mean: %s.", strings.Join(unknown, ", ")),
			"Say it with the condition Ready, and what each value means in the description of the field, as `Value: what it means`.")
	}
}
