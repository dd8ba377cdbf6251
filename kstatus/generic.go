package kstatus

import "strings"

// The generic layer of the standard profile. Before the rules for the kind:
var standardBefore = []step{
	{name: "deletion", rule: deletion},
	{name: "generation", rule: generation},
	{name: "readable", rule: readable},
	{name: "standard conditions", rule: standardConditions},
}

// and after them:
var standardAfter = []step{{name: "Ready condition", rule: readyCondition}}

// current is the verdict when no rule has an opinion.
var current = Current.Because("", "Resource is current")

func deletion(o Object) (Result, bool) {
	if v := o.Value("metadata", "deletionTimestamp"); v == nil || v == "" {
		return Result{}, false
	}
	return Terminating.Because("", "Resource scheduled for deletion").At("metadata.deletionTimestamp"), true
}

func generation(o Object) (Result, bool) {
	generation, observed, ok := o.Generations()
	if !ok || generation == observed {
		return Result{}, false
	}
	m := counted("%s generation is %d, but latest observed generation is %d", generation, observed)
	m.words[0] = o.kind
	return InProgress.because("LatestGenerationNotObserved", m).At("status.observedGeneration"), true
}

// readable is the answer for objects on which upstream gives up: a part that every verdict rests on has the wrong shape.
func readable(o Object) (Result, bool) {
	if o.unreadable == "" {
		return Result{}, false
	}
	m := named("Failed to compute %s status: %s has the wrong type", strings.ToLower(o.kind), o.unreadable)
	return Unknown.because("Unreadable", m).At(o.unreadable), true
}

func standardConditions(o Object) (Result, bool) {
	if o.standard == 0 {
		return Result{}, false
	}
	c, _ := readCondition(o.conditions[o.standard-1])
	o.saw(c)
	if c.Type == Stalled {
		return Failed.From(c), true
	}
	return InProgress.From(c), true
}

func readyCondition(o Object) (Result, bool) {
	for i := range o.conditions {
		if o.mark(i).kind() != isReady {
			continue
		}
		g, _ := o.glance(i)
		o.sawStatus(g)
		switch g.status {
		case "True":
			return Current.saying(text("Resource is Ready")).on(g), true
		case "False", "Unknown":
			return InProgress.From(g.condition()), true
		}
	}
	return Result{}, false
}
