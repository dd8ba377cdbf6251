package kstatus

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// augmented is the field that marks a condition which Augment wrote, so that it can be told from what a controller reports.
const augmented = "augmentedBy"

// Augment computes a result and writes its conditions into status.conditions of the object: Reconciling=True or Stalled=True, with
// reason, message, lastUpdateTime and, when the status changes, lastTransitionTime. What it wrote before and no longer holds it takes out again,
// and neither it nor [Rules.Compute] is led by it. Nothing is written when nothing changes: kinds without a status stay without.
//
// Only maps on the way to status.conditions are changed; conditions that change are replaced.
func (r *Rules) Augment(obj *unstructured.Unstructured, now time.Time) Result {
	result := r.Compute(obj, now)
	if obj == nil || obj.Object == nil {
		return result
	}
	status, conditions, ok := conditionsOf(obj.Object)
	if !ok {
		return result
	}
	next, changed := merge(conditions, result.Conditions(), now.UTC().Format(time.RFC3339))
	if changed {
		status["conditions"] = next
		obj.Object["status"] = status
	}
	return result
}

// conditionsOf returns status and status.conditions, made if missing, or false if something else stands in their place.
func conditionsOf(fields map[string]any) (status map[string]any, conditions []any, ok bool) {
	if status, ok = object.ToMap(fields["status"]); !ok && fields["status"] != nil {
		return nil, nil, false
	}
	if status == nil {
		return map[string]any{}, nil, true
	}
	conditions, ok = object.ToSlice(status["conditions"])
	return status, conditions, ok || status["conditions"] == nil
}

// merge returns the conditions with the wanted ones put in and our own others taken out.
func merge(conditions []any, wanted []Condition, now string) (next []any, changed bool) {
	missing := len(wanted) > 0
	for _, item := range conditions {
		m, _ := object.ToMap(item)
		switch {
		case len(wanted) > 0 && m != nil && m["type"] == wanted[0].Type:
			missing = false
			updated, differs := update(m, wanted[0], now)
			next, changed = append(next, updated), changed || differs
		case ours(item):
			changed = true
		default:
			next = append(next, item)
		}
	}
	if missing {
		added, _ := update(map[string]any{"type": wanted[0].Type}, wanted[0], now)
		return append(next, added), true
	}
	if next == nil {
		next = []any{}
	}
	return next, changed
}

// update returns a condition of the wanted type that says what is wanted: itself if it does already. One that a controller reports as true stays
// its own: it is evidence also after it was updated.
func update(m map[string]any, c Condition, now string) (map[string]any, bool) {
	g, _ := look(m)
	if old := g.condition(); old.Status == c.Status && old.Reason == c.Reason && old.Message == c.Message {
		return m, false
	}
	m = maps.Clone(m)
	if g.status != c.Status {
		m["lastTransitionTime"] = now
	}
	if !g.standard() {
		m[augmented] = "kstatus"
	}
	m["status"], m["reason"], m["message"], m["lastUpdateTime"] = c.Status, c.Reason, c.Message, now
	return m, true
}

// ours tells whether Augment wrote a condition.
func ours(item any) bool {
	g, ok := look(item)
	return ok && g.ours()
}
