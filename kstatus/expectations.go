package kstatus

// Expectations say what the controller of a kind reports. They are for kinds without a rule of
// their own: an object on which the controller has not reported yet is then InProgress, not
// Current. Pass [Expectations.Rule] to [Rules.With].
type Expectations struct {
	Conditions         []string // types of conditions that the controller writes and that shall be True
	ObservedGeneration bool     // the controller writes status.observedGeneration
}

// Rule returns InProgress while something expected is missing or not True; otherwise it has no
// opinion.
func (e Expectations) Rule(o Object) (Result, bool) {
	if e.ObservedGeneration {
		if _, ok := o.Int("status", "observedGeneration"); !ok {
			return noObservedGeneration(&o), true
		}
	}
	for _, kind := range e.Conditions {
		c, ok := o.Condition(kind)
		switch {
		case !ok:
			missing := withWords("%s condition %s not found", o.kind, kind)
			return InProgress.because("ConditionMissing", missing).onCondition(kind), true
		case c.Status != "True":
			return InProgress.From(c), true
		}
	}
	return Result{}, false
}
