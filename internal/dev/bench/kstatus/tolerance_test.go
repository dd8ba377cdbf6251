package kstatus

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A tolerance is a way in which an object can be malformed, or newer than the peer's release. It
// also says as what the object is then treated.
type tolerance struct {
	name string
	// damage changes an object in place. It reports false if the object gives no occasion.
	damage func(dice, *unstructured.Unstructured) bool
	// meaning, if any, changes the object as which the damaged object must be treated. Without
	// meaning, that is the object before the damage.
	meaning func(*unstructured.Unstructured)
	// want, if any, is the verdict, unless deletion, generation or standard conditions decide
	// before.
	want *outcome
}

// tolerances is the table of the package documentation.
var tolerances = []tolerance{
	{name: "a float64 is a number", damage: numbers(func(n int64) any { return float64(n) })},
	{name: "a json.Number is a number", damage: numbers(func(n int64) any { return json.Number(strconv.FormatInt(n, 10)) })},
	{name: "an int is a number", damage: numbers(func(n int64) any { return int(n) })},
	{name: "an int16 is a number", damage: numbers(func(n int64) any { return saturated(n) })},
	{name: "digits are a number", damage: numbers(func(n int64) any { return strconv.FormatInt(n, 10) })},
	{name: "a bool is a condition status", damage: boolStatus},
	{name: "null is absent in metadata", damage: put("metadata.deletionTimestamp", nil), meaning: drop("metadata.deletionTimestamp")},
	{name: "null is no generation", damage: put("metadata.generation", nil), meaning: drop("metadata.generation")},
	{name: "text is no generation", damage: put("metadata.generation", "two"), meaning: drop("metadata.generation")},
	{name: "a fraction is no observed generation", damage: put("status.observedGeneration", 1.5), meaning: drop("status.observedGeneration")},
	{name: "a number is a deletion timestamp", damage: put("metadata.deletionTimestamp", int64(7)), meaning: putTime},
	{name: "text among conditions is skipped", damage: insert("status.conditions", "Ready")},
	{name: "a condition whose type is a number is skipped", damage: insert("status.conditions", map[string]any{"type": int64(1), "status": "True"})},
	{name: "a condition whose status is a number is skipped", damage: insert("status.conditions", map[string]any{"type": "Ready", "status": int64(1)})},
	{name: "a reason that is a number is empty", damage: reasons(int64(5)), meaning: func(obj *unstructured.Unstructured) { reasons("")(dice{}, obj) }},
	{name: "a condition from Augment is none", damage: insert("status.conditions", map[string]any{"type": "Reconciling", "status": "True", "augmentedBy": "kstatus"})},
	{name: "text among containers is skipped", damage: insert("status.containerStatuses", "app")},
	{name: "a container without a readable name is skipped", damage: insert("status.containerStatuses", map[string]any{"name": int64(1)})},
	{name: "a null state is none", damage: insert("status.containerStatuses", map[string]any{"name": "x", "state": nil})},
	{name: "a null reason to wait is none", damage: insert("status.containerStatuses", map[string]any{"name": "x", "state": map[string]any{"waiting": map[string]any{"reason": nil}}})},
	{name: "containers that are no list are none", damage: containersAre("x"), meaning: drop("status.containerStatuses")},
	{name: "a status that is text is unknown", damage: whole("status", "x"), want: unreadable("status")},
	{name: "conditions that are no list are unknown", damage: conditionsAre("x"), meaning: drop("status.conditions"), want: unreadable("status.conditions")},
	{name: "metadata that are a list are unknown", damage: whole("metadata", []any{}), want: unreadable("metadata")},
	{name: "an odd phase of a Pod is unknown", damage: oddPhase, want: &outcome{Status: "Unknown", Message: "unknown phase Odd"}},
	{name: "a suspended Job is current, as in later releases", damage: suspendedJob, want: &outcome{Status: "Current", Message: "Job is suspended"}},
}

// saturated keeps numbers unchanged that an int16 cannot hold.
func saturated(n int64) any {
	if int64(int16(n)) == n {
		return int16(n)
	}
	return n
}

// numbers turns all integers into another form.
func numbers(form func(int64) any) func(dice, *unstructured.Unstructured) bool {
	return func(_ dice, obj *unstructured.Unstructured) (done bool) {
		var walk func(any)
		walk = func(v any) {
			m, _ := v.(map[string]any)
			for key, e := range m {
				if n, ok := e.(int64); ok {
					m[key], done = form(n), true
				}
				walk(e)
			}
		}
		walk(obj.Object)
		return done
	}
}

func boolStatus(_ dice, obj *unstructured.Unstructured) (done bool) {
	for c := range conditionsOf(obj) {
		switch c["status"] {
		case "True":
			c["status"], done = true, true
		case "False":
			c["status"], done = false, true
		}
	}
	return done
}

func reasons(v any) func(dice, *unstructured.Unstructured) bool {
	return func(_ dice, obj *unstructured.Unstructured) (done bool) {
		for c := range conditionsOf(obj) {
			c["reason"], done = v, true
		}
		return done
	}
}

func conditionsOf(obj *unstructured.Unstructured) func(func(map[string]any) bool) {
	return func(yield func(map[string]any) bool) {
		list, _, _ := unstructured.NestedFieldNoCopy(obj.Object, "status", "conditions")
		items, _ := list.([]any)
		for _, item := range items {
			if !yield(item.(map[string]any)) {
				return
			}
		}
	}
}

func put(path string, v any) func(dice, *unstructured.Unstructured) bool {
	return func(_ dice, obj *unstructured.Unstructured) bool {
		set(obj, path, v)
		return true
	}
}

func putTime(obj *unstructured.Unstructured) {
	set(obj, "metadata.deletionTimestamp", "2026-01-01T00:00:00Z")
}

func drop(path string) func(*unstructured.Unstructured) {
	return func(obj *unstructured.Unstructured) {
		unstructured.RemoveNestedField(obj.Object, strings.Split(path, ".")...)
	}
}

// insert puts an item somewhere into a list that is there.
func insert(path string, item any) func(dice, *unstructured.Unstructured) bool {
	return func(d dice, obj *unstructured.Unstructured) bool {
		v, _, _ := unstructured.NestedFieldNoCopy(obj.Object, strings.Split(path, ".")...)
		list, ok := v.([]any)
		if ok {
			set(obj, path, slices.Insert(slices.Clone(list), d.IntN(len(list)+1), item))
		}
		return ok
	}
}

func whole(field string, v any) func(dice, *unstructured.Unstructured) bool {
	return func(_ dice, obj *unstructured.Unstructured) bool {
		if obj.GetDeletionTimestamp() != nil {
			return false
		}
		obj.Object[field] = v
		return true
	}
}

func conditionsAre(v any) func(dice, *unstructured.Unstructured) bool {
	return put("status.conditions", v)
}

func containersAre(v any) func(dice, *unstructured.Unstructured) bool {
	return func(_ dice, obj *unstructured.Unstructured) bool {
		if obj.GetKind() != "Pod" {
			return false
		}
		set(obj, "status.containerStatuses", v)
		return true
	}
}

func oddPhase(_ dice, obj *unstructured.Unstructured) bool {
	if obj.GetKind() != "Pod" {
		return false
	}
	set(obj, "status.phase", "Odd")
	return true
}

func suspendedJob(_ dice, obj *unstructured.Unstructured) bool {
	if obj.GetKind() != "Job" {
		return false
	}
	set(obj, "spec.suspend", true)
	set(obj, "status.conditions", []any{map[string]any{"type": "Suspended", "status": "True"}})
	return true
}

// unreadable is the verdict on an object with a part of the wrong type; the kind is filled in.
func unreadable(part string) *outcome {
	return &outcome{Status: "Unknown", Message: "Failed to compute %s status: " + part + " has the wrong type"}
}

// set puts a value at a dotted path, with the maps on the way.
func set(obj *unstructured.Unstructured, path string, v any) {
	keys := strings.Split(path, ".")
	m := obj.Object
	for _, key := range keys[:len(keys)-1] {
		next, ok := m[key].(map[string]any)
		if !ok {
			next = map[string]any{}
			m[key] = next
		}
		m = next
	}
	m[keys[len(keys)-1]] = v
}
