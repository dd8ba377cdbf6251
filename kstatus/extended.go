package kstatus

import (
	"slices"
	"strings"

	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/kstatus/internal/words"
)

// extended is the profile that is right more often. Its parts, in the order in which a reader may
// want them:
//
//   - extended.go: the general rules of the profile
//   - extended_conditions.go: what conditions of any kind say together
//   - extended_fields.go: what other fields of a status of any kind say
//   - extended_nostatus.go: what it means that an object has no status; a table of kinds
//   - extended_rules.go: the functions with which the tables of kinds are written
//   - extended_builtin.go, extended_pod.go: built-in kinds
//   - kinds_….go: custom resources, a table for each subject
var extended = (&Rules{
	before: extendedBefore, standard: true, after: extendedAfter, waitForJobs: true, distinct: true, combine: failAndExplain,
}).extendedBy(
	reporting(join(customTables()...)),
).extendedBy(join(builtinWorkloads, builtinOthers, reporters))

// Extended returns the rules that are right more often than upstream. They differ from [Standard]
// in these points:
//
//   - An object without a status is InProgress, unless its kind never has one. If the kind is not
//     known, it is Current after five minutes.
//   - An observedGeneration may also be a string of digits. Only one that is older than the
//     generation blocks. Conditions about an older generation are not believed. Of several conditions
//     of one type the worst counts, whatever their order.
//   - The rules for built-in kinds look at more fields: containers that cannot start, load
//     balancers without an address, paused and failed rollouts. Jobs are waited for (see
//     [Rules.WaitForJobs]).
//   - Some 200 kinds of custom resources have rules of their own: those of Argo, cert-manager,
//     Cluster API, Crossplane, Flux, Gateway API, Kueue and others.
//   - For all other kinds the words of the status decide. Ready=False is Failed if its reason or
//     message names an error, otherwise InProgress. The last word of the type of another condition
//     says what it stands for (PodsHealthy, InstallFailed, Progressing). Phases, bools and counts
//     are read too. The worst verdict counts, except that Ready=True overrules conditions of parts.
//   - A failure that is tried again is InProgress with its reason: a Pod that the scheduler cannot
//     place, with the scheduler's words, a ReplicaFailure, an ExternalSecret that cannot be read. If
//     only the words of a condition say that it is tried again, that holds for five minutes.
//   - What is paused intentionally is Current and Suspended, unless Ready=False has another reason.
//     What does not get better by trying again is Terminal.
//
// ACCURACY.md has the scores against the opinions of other projects, and on kinds that have no rules
// of their own: there about one verdict in six is another than its controllers mean, one in twenty
// Current too early. [Result].Basis says which verdicts are more certain. Give such kinds a rule
// (packages celrule and argolua). extended_scores_test.go gives the reason for each difference from
// the older test cases of Argo CD.
func Extended() *Rules { return extended }

// extendedBefore are the general rules that come before those for the kind.
var extendedBefore = []step{
	{"deletion", deletion, BasisConvention},
	{"generation", generationBehind, BasisConvention},
	{"readable", readableOrEmpty, BasisConvention},
	{"standard conditions", abnormalConditions, BasisConvention},
}

// extendedAfter are the ones that come after them.
var extendedAfter = []step{
	{"suspension", suspension, BasisWords},
	{"no status", withoutStatus, BasisGuess},
	{"signs", statusFields, BasisWords},
	{"nothing to tell", unclear, BasisGuess},
}

// generationBehind waits until the controller has observed the latest generation. One that has
// observed a later generation is not behind.
func generationBehind(o Object) (Result, bool) {
	if latest, observed, ok := o.Generations(); !ok || latest <= observed {
		return Result{}, false
	}
	return generation(o)
}

// readableOrEmpty accepts an empty map of conditions, which some encoders write for an empty list.
func readableOrEmpty(o Object) (Result, bool) {
	m, ok := object.ToMap(o.status["conditions"])
	if ok && len(m) == 0 && o.unreadable == "status.conditions" {
		return Result{}, false
	}
	return readable(o)
}

// abnormalConditions ensures that no rule for a kind hides Stalled=True or Reconciling=True. A
// suspended object is Suspended all the same, and the other conditions may make the verdict worse.
func abnormalConditions(o Object) (Result, bool) {
	if o.decisive == 0 {
		return Result{}, false
	}
	if r, suspended := suspension(o); suspended {
		return r, true
	}
	if r, failed := failedAttempt(&o); failed {
		return r, true
	}
	s := o.summarize(o.conditions)
	if r, found := s.result(); found && r.Status != Current {
		return r, true
	}
	return decisiveCondition(o)
}

// failedAttempt is the verdict on a controller that tries again after an error, like those of Flux
// do: Reconciling=True has a reason such as ProgressingWithRetry, and Ready=False has the error,
// unless its reason is one of progress. It is Failed once that has lasted for retryGrace.
func failedAttempt(o *Object) (Result, bool) {
	reconciling, ok := o.findView(Reconciling, "True", "")
	if !ok || !strings.HasSuffix(reconciling.reason(), "Retry") {
		return Result{}, false
	}
	c, ok := o.fresh("Ready")
	if !ok || c.status != "False" || words.OfPhrase(c.reason()) == words.Busy {
		return Result{}, false
	}
	if left, young := c.graceOfRetry(o); young {
		r := InProgress.From(c.condition())
		r.RecheckAfter = left
		return r, true
	}
	return Failed.From(c.condition()), true
}

// suspension is the wish in the spec that the controller does nothing.
func suspension(o Object) (Result, bool) {
	spec, _ := mapOf(o.fields["spec"])
	if len(spec) == 0 {
		return Result{}, false
	}
	for _, field := range [...]string{"suspend", "suspended", "paused", "pause"} {
		if on, _ := spec[field].(bool); on {
			return suspendedBy("spec", field), true
		}
	}
	return Result{}, false
}

// suspendedBy is the verdict on an object that a field suspends.
func suspendedBy(path, field string) Result {
	return Current.Because("Suspended", "Resource is suspended").atItem(path, field).suspended()
}

// unclear is the verdict on a status in which no field says anything. If it has an
// observedGeneration, other values, and no conditions, the controller has done all that it reports.
// The same holds after some minutes for other values if no one is about a state, and for an
// observedGeneration alone, which some controllers write first.
func unclear(o Object) (Result, bool) {
	_, observed := o.Int("status", "observedGeneration")
	if observed && len(o.status) > 1 && o.conditions == nil && !o.hasPhase() {
		return Current.Because("", "Resource is current").At("status.observedGeneration"), true
	}
	if isStatusless(&o) {
		return current.on(BasisKind), true
	}
	if r, ok := o.allClear(); ok {
		return r, true
	}
	r := inProgress("StatusUnclear", unclearMessage, "status")
	created := o.created()
	if created.IsZero() || words.RunsToEnd(o.kind) || !hasValue(o.status) || namesState(o.status, stateDepth) {
		return r, true
	}
	if left := created.Add(reportGrace).Sub(o.now); left > 0 {
		r.RecheckAfter = left
		return r, true
	}
	if observed && len(o.status) == 1 {
		return Current.Because("", "The status is an observedGeneration alone").At("status.observedGeneration"), true
	}
	return Current.Because("", "The status has values, and no field for a state").At("status"), true
}

// hasPhase reports whether a field of the status is a phase. Here, none of its words is known.
func (o *Object) hasPhase() bool {
	for field, v := range o.status {
		if phase, _ := v.(string); phase != "" && words.IsPhaseField(field) {
			return true
		}
	}
	return false
}

var unclearMessage = text("The status does not say whether the resource is ready")

// stateDepth is how many maps deep a field for a state is looked for: a map of parts by name has
// its fields in the third.
const stateDepth = 3

// hasValue reports whether there is anything but empty maps, lists and strings in a value, and but
// what happened last.
func hasValue(v any) bool {
	switch v.(type) {
	case int64, float64, bool:
		return true
	}
	if m, ok := mapOf(v); ok {
		for key, inner := range m {
			if !strings.HasPrefix(key, "last") && hasValue(inner) {
				return true
			}
		}
		return false
	}
	if list, ok := object.ToSlice(v); ok {
		return slices.ContainsFunc(list, hasValue)
	}
	return v != nil && v != ""
}

// namesState reports whether a key with a value says that it is about a state.
func namesState(v any, depth int) bool {
	if list, ok := object.ToSlice(v); ok {
		return slices.ContainsFunc(list, func(item any) bool { return namesState(item, depth) })
	}
	m, _ := mapOf(v)
	for key, inner := range m {
		if words.NamesState(key) && hasValue(inner) || depth > 1 && namesState(inner, depth-1) {
			return true
		}
	}
	return false
}
