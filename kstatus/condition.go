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
// It reports false for what cannot be read: no map, no string for a type, neither string nor bool for a status.
func readCondition(item any) (Condition, bool) {
	m, ok := object.ToMap(item)
	if !ok {
		return Condition{}, false
	}
	c := Condition{}
	if c.Type, ok = optional(m["type"]); !ok {
		return Condition{}, false
	}
	if c.Status, ok = truth(m["status"]); !ok {
		return Condition{}, false
	}
	c.Reason, _ = m["reason"].(string)
	c.Message, _ = m["message"].(string)
	c.ObservedGeneration, _ = integer(m["observedGeneration"])
	return c, true
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
