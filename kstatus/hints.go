package kstatus

// Hints say what is known of the status of a kind that has no rule of its own, so that an object whose controller has not looked at it yet is not
// taken for ready. [Hints.Rule] is meant for [Rules.With].
type Hints struct {
	Conditions         []string // types that its controller publishes and that shall be True
	ObservedGeneration bool     // its controller publishes status.observedGeneration
}

// Rule is InProgress as long as something that the hints name is missing or not true; otherwise it has no opinion.
func (h Hints) Rule(o Object) (Result, bool) {
	if h.ObservedGeneration {
		if _, ok := o.Int("status", "observedGeneration"); !ok {
			return InProgress.because("NoObservedGeneration", named("%s status.observedGeneration not found", o.kind)).At("status.observedGeneration"), true
		}
	}
	for _, kind := range h.Conditions {
		c, ok := o.Condition(kind)
		switch {
		case !ok:
			missing := named("%s condition %s not found", o.kind, kind)
			return InProgress.because("ConditionMissing", missing).in("status.conditions", kind), true
		case c.Status != "True":
			return InProgress.From(c), true
		}
	}
	return Result{}, false
}
