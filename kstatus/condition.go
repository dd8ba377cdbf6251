package kstatus

// A Condition is an element of status.conditions of an object, or the condition that a [Result]
// stands for.
type Condition struct {
	Type               string
	Status             string // True, False or Unknown in well-formed objects
	Reason             string
	Message            string
	ObservedGeneration int64 // 0 if it is missing
}

// readCondition reads an element of a list of conditions. A bool status is True or False; a reason
// or message that is not a string is "". It returns false for conditions that cannot be read, and
// for the ones that [Rules.Augment] wrote.
func readCondition(item any) (Condition, bool) {
	c, ok := viewOf(item)
	if !ok || c.isAugmented() {
		return Condition{}, false
	}
	return c.condition(), true
}

// A conditionView is a condition whose type and status alone have been read. That is enough to
// skip most conditions.
type conditionView struct {
	fields       map[string]any
	kind, status string
}

// viewOf returns false for what is not a condition: not a map, a type that is not a string, or a
// status that is neither a string nor a bool.
func viewOf(item any) (conditionView, bool) {
	m, ok := mapOf(item)
	kind, kindOK := optionalString(m["type"])
	status, statusOK := conditionStatus(m["status"])
	if !ok || !kindOK || !statusOK {
		return conditionView{}, false
	}
	return conditionView{m, kind, status}, true
}

func (c *conditionView) reason() string {
	s, _ := c.fields["reason"].(string)
	return s
}

func (c *conditionView) message() string {
	s, _ := c.fields["message"].(string)
	return s
}

// is compares type, status and reason. An empty status or reason stands for any.
func (c *conditionView) is(kind, status, reason string) bool {
	return c.kind == kind && (status == "" || c.status == status) &&
		(reason == "" || c.reason() == reason) && !c.isAugmented()
}

// comesBefore orders conditions that say the same, so that their order in a list does not matter:
// Ready first, then by type, status, reason and message.
func (c *conditionView) comesBefore(o *conditionView) bool {
	switch {
	case c.kind != o.kind:
		return c.kind == "Ready" || o.kind != "Ready" && c.kind < o.kind
	case c.status != o.status:
		return c.status < o.status
	case c.reason() != o.reason():
		return c.reason() < o.reason()
	}
	return c.message() < o.message()
}

// isAbnormal reports whether the type is one of the abnormal-true types of kstatus.
func (c *conditionView) isAbnormal() bool { return c.kind == Reconciling || c.kind == Stalled }

// isAugmented reports whether [Rules.Augment] wrote the condition.
func (c *conditionView) isAugmented() bool {
	return c.isAbnormal() && c.fields[augmentedField] == augmentedValue
}

// isDecisive reports whether the condition decides by itself, whatever the kind.
func (c *conditionView) isDecisive() bool {
	return c.isAbnormal() && c.status == "True" && !c.isAugmented()
}

// isOutdated reports whether the condition is about an older generation than the given one.
func (c *conditionView) isOutdated(generation int64) bool {
	observed, ok := integer(c.fields["observedGeneration"])
	return ok && observed != 0 && observed < generation
}

func (c *conditionView) condition() Condition {
	observed, _ := integer(c.fields["observedGeneration"])
	return Condition{
		Type: c.kind, Status: c.status, Reason: c.reason(), Message: c.message(), ObservedGeneration: observed,
	}
}

// optionalString reads a string that may be missing or null.
func optionalString(v any) (string, bool) {
	s, ok := v.(string)
	return s, ok || v == nil
}

// conditionStatus reads the status of a condition, which some controllers write as a bool.
func conditionStatus(v any) (string, bool) {
	b, isBool := v.(bool)
	switch {
	case !isBool:
		return optionalString(v)
	case b:
		return "True", true
	}
	return "False", true
}
