package kstatus

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// A condition that [Rules.Augment] wrote has this field with this value, which distinguishes it
// from the conditions of a controller.
const (
	augmentedField = "augmentedBy"
	augmentedValue = "kstatus"
)

// Augment computes a result and writes its conditions into status.conditions of the object:
// Reconciling=True or Stalled=True, with reason, message, lastUpdateTime and, when the status of
// the condition changes, lastTransitionTime. It removes the conditions that an earlier call wrote
// and that no longer hold. Neither Augment nor [Rules.Compute] takes them for evidence.
//
// If nothing changes, nothing is written: an object of a kind without a status does not get one.
// Only the maps on the way to status.conditions are changed in place; conditions that change are
// replaced.
func (r *Rules) Augment(obj *unstructured.Unstructured, now time.Time) Result {
	result := r.Compute(obj, now)
	if obj == nil || obj.Object == nil {
		return result
	}
	status, conditions, ok := statusAndConditions(obj.Object)
	if !ok {
		return result
	}
	next, changed := mergeConditions(conditions, result.Conditions(), now.UTC().Format(time.RFC3339))
	if changed {
		status["conditions"] = next
		obj.Object["status"] = status
	}
	return result
}

// statusAndConditions returns status and status.conditions, empty if they are missing, or false if
// they have another type.
func statusAndConditions(fields map[string]any) (status map[string]any, conditions []any, ok bool) {
	if status, ok = object.ToMap(fields["status"]); !ok && fields["status"] != nil {
		return nil, nil, false
	}
	if status == nil {
		return map[string]any{}, nil, true
	}
	conditions, ok = object.ToSlice(status["conditions"])
	return status, conditions, ok || status["conditions"] == nil
}

// mergeConditions returns the conditions with the wanted ones added, and without the others that
// Augment wrote earlier.
func mergeConditions(conditions []any, wanted []Condition, now string) (next []any, changed bool) {
	missing := len(wanted) > 0
	for _, item := range conditions {
		m, _ := object.ToMap(item)
		c, isCondition := viewOf(item)
		switch {
		case len(wanted) > 0 && m != nil && m["type"] == wanted[0].Type:
			missing = false
			updated, differs := updateCondition(m, wanted[0], now)
			next, changed = append(next, updated), changed || differs
		case isCondition && c.isAugmented():
			changed = true
		default:
			next = append(next, item)
		}
	}
	if missing {
		added, _ := updateCondition(map[string]any{"type": wanted[0].Type}, wanted[0], now)
		return append(next, added), true
	}
	if next == nil {
		next = []any{}
	}
	return next, changed
}

// updateCondition returns the condition m if it already says what is wanted, otherwise a changed
// copy. A condition that a controller reports as True is not marked as augmented: it stays
// evidence.
func updateCondition(m map[string]any, wanted Condition, now string) (map[string]any, bool) {
	c, _ := viewOf(m)
	if old := c.condition(); old.Status == wanted.Status && old.Reason == wanted.Reason && old.Message == wanted.Message {
		return m, false
	}
	m = maps.Clone(m)
	if c.status != wanted.Status {
		m["lastTransitionTime"] = now
	}
	if !c.isDecisive() {
		m[augmentedField] = augmentedValue
	}
	m["status"], m["reason"], m["message"], m["lastUpdateTime"] = wanted.Status, wanted.Reason, wanted.Message, now
	return m, true
}
