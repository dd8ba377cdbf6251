package kstatus

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/kstatus/internal/words"
)

// The functions with which the tables of kinds are written. A rule in a table says what is
// particular to its kinds. Where it has no opinion, the general rules of the profile decide.

// A kindTable holds rules by "Kind.group". "A,B.group" stands for two kinds; "*" stands for all
// kinds or, as the first part of the group, for all groups below the rest.
type kindTable map[string]Rule

// join returns the rules of tables in the form that [Rules.With] takes.
func join(tables ...kindTable) map[schema.GroupKind]Rule {
	out := map[schema.GroupKind]Rule{}
	for _, t := range tables {
		for key, rule := range t {
			kinds, group, _ := strings.Cut(key, ".")
			for kind := range strings.SplitSeq(kinds, ",") {
				out[schema.GroupKind{Group: group, Kind: kind}] = rule
			}
		}
	}
	return out
}

// either returns the verdict of the first of some rules that has an opinion.
func either(rules ...Rule) Rule {
	return func(o Object) (Result, bool) {
		for _, rule := range rules {
			if r, ok := rule(o); ok {
				return r, true
			}
		}
		return Result{}, false
	}
}

// exists is the rule for kinds without conditions in groups whose other kinds have some: they are
// Current as soon as they exist.
func exists(o Object) (Result, bool) { return current, len(o.conditions) == 0 }

// when has an opinion if a condition has a status and is not about an older generation.
func when(kind, status string, then Status) Rule {
	return func(o Object) (Result, bool) {
		if c, ok := o.fresh(kind); ok && c.status == status {
			return then.From(c.condition()), true
		}
		return Result{}, false
	}
}

// needs is InProgress while one of some conditions is missing or Unknown. It has no opinion on one
// that is False: the general rules or falseFails decide.
func needs(kinds ...string) Rule {
	return func(o Object) (Result, bool) {
		for _, kind := range kinds {
			if c, ok := o.fresh(kind); !ok || c.status != "True" && c.status != "False" {
				return notYet(kind, c, ok), true
			}
		}
		return Result{}, false
	}
}

// falseFails is Failed if one of some conditions is False, whatever its reason. It is for APIs in
// which a condition is Unknown while its controller works on it.
func falseFails(kinds ...string) Rule {
	return func(o Object) (Result, bool) {
		for _, kind := range kinds {
			if c, ok := o.fresh(kind); ok && c.status == "False" {
				return Failed.From(c.condition()), true
			}
		}
		return Result{}, false
	}
}

// ready is the verdict of the conditions alone. Ready must be one of them.
func ready(o Object) (Result, bool) {
	s := o.summarize(o.conditions)
	if s.ready == "" && s.first[failedEffect] == 0 && s.first[outdatedEffect] == 0 {
		return conditionMissing("Ready"), true
	}
	return s.result()
}

// readyOrFailed is ready for APIs in which Ready is Unknown while the controller works on the
// object, so that Ready=False is an error.
func readyOrFailed(o Object) (Result, bool) {
	if c, ok := o.fresh("Ready"); ok && c.status == "False" {
		return Failed.From(c.condition()), true
	}
	return ready(o)
}

// notYet is InProgress because of a condition, whether it exists or not.
func notYet(kind string, c conditionView, exists bool) Result {
	if exists {
		return InProgress.From(c.condition())
	}
	return conditionMissing(kind)
}

func conditionMissing(kind string) Result {
	return InProgress.because("ConditionMissing", withWords("Waiting for condition %s", kind)).onCondition(kind)
}

// pausedBy is Current and suspended if a condition is True.
func pausedBy(kind string) Rule {
	return func(o Object) (Result, bool) {
		c, ok := o.fresh(kind)
		if !ok || c.status != "True" {
			return Result{}, false
		}
		return Current.From(c.condition()).suspended(), true
	}
}

// suspendedWhen is Current and suspended if a bool is true.
func suspendedWhen(path ...string) Rule {
	at := strings.Join(path, ".")
	return func(o Object) (Result, bool) {
		return suspendedBy(at, ""), o.Bool(path...)
	}
}

// annotated is Current and suspended if an annotation has a value. An empty value stands for any.
func annotated(key, value string) Rule {
	return func(o Object) (Result, bool) {
		annotations, _ := object.ToMap(o.metadata["annotations"])
		got, ok := annotations[key].(string)
		return suspendedBy("metadata.annotations", key), ok && (value == "" || got == value)
	}
}

// A phaseTable lists the values of a phase by what they mean. The values are separated by ", ".
type phaseTable struct {
	inProgress, current, suspended, failed string
	fatal                                  string // Failed and Terminal
	empty                                  Status // for an empty or missing phase; "": no opinion
}

// at returns the rule for the phase at a path. It has no opinion on values that are not listed.
func (t phaseTable) at(path ...string) Rule {
	results := t.results()
	field := strings.Join(path, ".")
	return func(o Object) (Result, bool) {
		phase := o.Text(path...)
		r, known := results[phase]
		if !known {
			return Result{}, false
		}
		if phase == "" && r.Status == InProgress {
			return inProgress("NotReported", withWords("Waiting for %s", field), field), true
		}
		r.Reason, r.message = phaseReason(r.Status, phase), o.phaseMessage(path[len(path)-1], phase)
		return r.At(field), true
	}
}

func (t phaseTable) results() map[string]Result {
	out := map[string]Result{}
	add := func(phases string, r Result) {
		for phase := range strings.SplitSeq(phases, ", ") {
			if phase != "" {
				out[phase] = r
			}
		}
	}
	add(t.inProgress, Result{Status: InProgress})
	add(t.current, Result{Status: Current})
	add(t.suspended, Result{Status: Current, Suspended: true})
	add(t.failed, Result{Status: Failed})
	add(t.fatal, Result{Status: Failed, Terminal: true})
	if t.empty != "" {
		out[""] = Result{Status: t.empty}
	}
	return out
}

// isError reports whether a phrase, such as the reason of a condition, names an error.
func isError(phrase string) bool { return words.OfPhrase(phrase).IsError() }
