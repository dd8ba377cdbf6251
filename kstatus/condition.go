package kstatus

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
	l, ok := look(item)
	if !ok || l.ours() {
		return Condition{}, false
	}
	return l.condition(), true
}

// A glance is a condition of which as much has been read as is needed to pass it over.
type glance struct {
	fields       map[string]any
	kind, status string
}

// look reports false, and looks at nothing, for what is no condition: no map, no string for a type, neither string nor bool for a status.
func look(item any) (glance, bool) {
	m, ok := mapOf(item)
	kind, typed := optional(m["type"])
	status, known := truth(m["status"])
	if !ok || !typed || !known {
		return glance{}, false
	}
	return glance{m, kind, status}, true
}

func (g *glance) reason() string {
	s, _ := g.fields["reason"].(string)
	return s
}

// is compares with a type, a status and a reason; "" stands for any status or reason.
func (g *glance) is(kind, status, reason string) bool {
	return g.kind == kind && (status == "" || g.status == status) && (reason == "" || g.reason() == reason) && !g.ours()
}

// ours tells whether Augment wrote the condition.
func (g *glance) ours() bool {
	return (g.kind == Reconciling || g.kind == Stalled) && g.fields[augmented] == "kstatus"
}

// standard tells whether the condition decides by itself.
func (g *glance) standard() bool {
	return (g.kind == Reconciling || g.kind == Stalled) && g.status == "True" && !g.ours()
}

func (g *glance) condition() Condition {
	c := Condition{Type: g.kind, Status: g.status, Reason: g.reason()}
	c.Message, _ = g.fields["message"].(string)
	c.ObservedGeneration, _ = integer(g.fields["observedGeneration"])
	return c
}

// optional reads a string that may be missing or null.
func optional(v any) (string, bool) {
	s, ok := v.(string)
	return s, ok || v == nil
}

// truth reads the status of a condition.
func truth(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case nil:
		return "", true
	case bool:
		if v {
			return "True", true
		}
		return "False", true
	}
	return "", false
}
