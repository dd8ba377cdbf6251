package kstatus

import "github.com/stagecraft-go/stagecraft/internal/object"

// A Condition is an element of status.conditions: one that an object has, or one that a [Result] stands for.
type Condition struct {
	Type               string
	Status             string // True, False or Unknown in well-formed objects
	Reason             string
	Message            string
	ObservedGeneration int64 // 0 if it is not given
}

// readCondition reads an element of a list of conditions. A bool status is True or False; a reason or message that is no string is "".
// It reports false for what cannot be read, and for what Augment wrote.
func readCondition(item any) (Condition, bool) {
	if item == nil || unreadable(item) {
		return Condition{}, false
	}
	m, _ := object.ToMap(item)
	c := Condition{}
	c.Type, _ = m["type"].(string)
	c.Status, _ = truth(m["status"])
	c.Reason, _ = m["reason"].(string)
	c.Message, _ = m["message"].(string)
	c.ObservedGeneration, _ = integer(m["observedGeneration"])
	return c, !ours(m)
}

// unreadable tells whether an element of a list of conditions is none: no map, no string for a type, neither string nor bool for a status.
func unreadable(item any) bool {
	m, ok := object.ToMap(item)
	_, typed := optional(m["type"])
	_, known := truth(m["status"])
	return !ok || !typed || !known
}

// standardTrue tells whether a readable condition is Reconciling=True or Stalled=True, and not from Augment.
func standardTrue(item any) bool {
	m, _ := object.ToMap(item)
	kind, _ := m["type"].(string)
	if kind != Reconciling && kind != Stalled {
		return false
	}
	status, _ := truth(m["status"])
	return status == "True" && !ours(m)
}

// optional reads a string that may be missing or null.
func optional(v any) (string, bool) {
	s, ok := v.(string)
	return s, ok || v == nil
}

// truth reads the status of a condition.
func truth(v any) (string, bool) {
	b, ok := v.(bool)
	switch {
	case !ok:
		return optional(v)
	case b:
		return "True", true
	}
	return "False", true
}
