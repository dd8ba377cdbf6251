package kstatus

import (
	"strings"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// The generic layer of the extended profile: it must be right on kinds that nobody wrote a rule for. Before the rules for the kind:
var extendedBefore = []step{
	{name: "deletion", rule: deletion},
	{name: "generation", rule: generationSeen},
	{name: "readable", rule: legible},
	{name: "standard conditions", rule: abnormalConditions},
}

// and after them:
var extendedAfter = []step{
	{name: "suspension", rule: suspension},
	{name: "no status", rule: withoutStatus, bare: true},
	{name: "signs", rule: signs},
	{name: "nothing to tell", rule: unclear},
}

// generationSeen waits for the controller to see the latest generation. One that has seen a later one is not behind.
func generationSeen(o Object) (Result, bool) {
	if latest, observed, ok := o.Generations(); !ok || latest <= observed {
		return Result{}, false
	}
	return generation(o)
}

// legible takes an empty map of conditions for an empty list, as some encoders do.
func legible(o Object) (Result, bool) {
	if m, ok := object.ToMap(o.status["conditions"]); ok && len(m) == 0 && o.unreadable == "status.conditions" {
		return Result{}, false
	}
	return readable(o)
}

// abnormalConditions lets no rule for a kind hide a Stalled=True or Reconciling=True. The other conditions may make it worse, and on what
// is held nobody works.
func abnormalConditions(o Object) (Result, bool) {
	if o.standard == 0 {
		return Result{}, false
	}
	if r, held := suspension(o); held {
		return r, true
	}
	if r, again := retried(&o); again {
		return r, true
	}
	t := o.tally(o.conditions)
	if r, found := t.sum(); found && r.Status != Current {
		return r, true
	}
	return standardConditions(o)
}

// retried is the last attempt of a controller that goes on, as those of Flux do, with Reconciling=True of a reason such as
// ProgressingWithRetry: Ready=False tells that it failed, unless its reason is that of something on the way.
func retried(o *Object) (Result, bool) {
	reconciling, ok := o.find(Reconciling, "True", "")
	if !ok || !strings.HasSuffix(reconciling.Reason, "Retry") {
		return Result{}, false
	}
	c, ok := o.fresh("Ready")
	if !ok || c.status != "False" || phraseTone(c.reason()) == busy {
		return Result{}, false
	}
	return Failed.From(c.condition()), true
}

// suspension is the wish to hold, in the words that APIs have for it.
func suspension(o Object) (Result, bool) {
	spec, _ := mapOf(o.fields["spec"])
	if len(spec) == 0 {
		return Result{}, false
	}
	for _, field := range pauseFields {
		if on, _ := spec[field].(bool); on {
			return suspended("spec", field), true
		}
	}
	return Result{}, false
}

var pauseFields = [...]string{"suspend", "suspended", "paused", "pause"}

// suspended is Current: nothing will happen until someone resumes it.
func suspended(path, field string) Result {
	r := Current.Because("Suspended", "Resource is suspended").in(path, field)
	r.Suspended = true
	return r
}

// unclear is the verdict on a status without any sign: its controller has seen the object, if it says so.
func unclear(o Object) (Result, bool) {
	if _, seen := o.Int("status", "observedGeneration"); seen && o.conditions == nil {
		return Current.Because("", "Resource is current").At("status.observedGeneration"), true
	}
	if neverReported(&o) {
		return current, true
	}
	return InProgress.Because("StatusUnclear", "The status does not say whether the resource is ready").At("status"), true
}
