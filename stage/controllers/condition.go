package controllers

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// A condition is one entry of status.conditions.
type condition map[string]any

// conditions are those of an object, in their order. They are replaced and never changed.
type conditions []any

func conditionsOf(obj *unstructured.Unstructured) conditions {
	return list(obj.Object, "status", "conditions")
}

// newCondition returns a condition that began at a time.
func newCondition(kind, status, reason, message, at string) condition {
	return condition{"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": at}
}

func (c condition) field(name string) string { return text(c, name) }

// is reports whether the condition is True.
func (c condition) is() bool { return text(c, "status") == "True" }

// find returns the condition of a type, nil if there is none.
func (cs conditions) find(kind string) condition {
	for _, v := range cs {
		if c, _ := object.ToMap(v); text(c, "type") == kind {
			return c
		}
	}
	return nil
}

func (cs conditions) without(kind string) conditions {
	return slices.DeleteFunc(slices.Clone(cs), func(v any) bool {
		c, _ := object.ToMap(v)
		return text(c, "type") == kind
	})
}

// put sets a condition the way the workload controllers do: nothing changes if status and reason are the same; the time of transition stays if
// the status does; a condition that changes goes to the end.
func (cs conditions) put(c condition) conditions {
	old := cs.find(c.field("type"))
	if old != nil && old.field("status") == c.field("status") {
		if old.field("reason") == c.field("reason") {
			return cs
		}
		c = maps.Clone(c)
		c["lastTransitionTime"] = old["lastTransitionTime"]
	}
	return append(cs.without(c.field("type")), map[string]any(c))
}

// into writes conditions into a status; none are left out.
func (cs conditions) into(status counts) {
	if len(cs) > 0 {
		status["conditions"] = []any(cs)
	}
}
