// Package conditions reads and changes status.conditions in the way of kube-controller-manager.
package conditions

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
)

// A Condition is one entry of status.conditions. Its read methods accept a nil Condition.
type Condition map[string]any

// A List is the conditions of an object, in their order. Its methods return a new list and never
// change one.
type List []any

// Of returns the conditions of an object.
func Of(obj *unstructured.Unstructured) List {
	return fields.Slice(obj.Object, "status", "conditions")
}

// New returns a condition with a time of transition.
func New(kind, status, reason, message, at string) Condition {
	return Condition{"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": at}
}

// Field returns a text, "" if it is missing.
func (c Condition) Field(name string) string { return fields.String(c, name) }

// IsTrue reports whether the status is True.
func (c Condition) IsTrue() bool { return c.Field("status") == "True" }

// index returns the position of the condition with the given type, or -1.
func (l List) index(kind string) int {
	return slices.IndexFunc(l, func(v any) bool {
		c, _ := object.ToMap(v)
		return fields.String(c, "type") == kind
	})
}

// Find returns the condition with the given type, or nil.
func (l List) Find(kind string) Condition {
	i := l.index(kind)
	if i < 0 {
		return nil
	}
	c, _ := object.ToMap(l[i])
	return c
}

// Without leaves out the condition of a type.
func (l List) Without(kind string) List {
	return slices.DeleteFunc(slices.Clone(l), func(v any) bool {
		c, _ := object.ToMap(v)
		return fields.String(c, "type") == kind
	})
}

// Set sets a condition as the workload controllers do. Nothing changes if status and reason are the
// same; the time of transition stays if the status does; a condition that changes goes to the end.
func (l List) Set(c Condition) List {
	old := l.Find(c.Field("type"))
	if old != nil && old.Field("status") == c.Field("status") {
		if old.Field("reason") == c.Field("reason") {
			return l
		}
		c = maps.Clone(c)
		c["lastTransitionTime"] = old["lastTransitionTime"]
	}
	return append(l.Without(c.Field("type")), map[string]any(c))
}

// Replace sets a condition in its place, or at the end if it is new.
func (l List) Replace(c Condition) List {
	i := l.index(c.Field("type"))
	if i < 0 {
		return append(slices.Clip(l), map[string]any(c))
	}
	l = slices.Clone(l)
	l[i] = map[string]any(c)
	return l
}

// WriteTo writes the conditions into a status. Without conditions the status has no such field.
func (l List) WriteTo(status map[string]any) {
	if len(l) > 0 {
		status["conditions"] = []any(l)
	}
}
