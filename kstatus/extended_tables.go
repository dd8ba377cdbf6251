package kstatus

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// The words in which the tables of the families are written. A rule of a family says what is particular to its kinds; where it has no opinion the
// generic layer goes on.

// A catalogue is rules by "Kind.group"; "A,B.group" stands for two kinds, "*" for all kinds or, as first part of the group, all groups below.
type catalogue map[string]Rule

// join makes the rules of catalogues ready for [Rules.With].
func join(catalogues ...catalogue) map[schema.GroupKind]Rule {
	out := map[schema.GroupKind]Rule{}
	for _, c := range catalogues {
		for key, rule := range c {
			kinds, group, _ := strings.Cut(key, ".")
			for kind := range strings.SplitSeq(kinds, ",") {
				out[schema.GroupKind{Group: group, Kind: kind}] = rule
			}
		}
	}
	return out
}

// either is the first of some rules that has an opinion.
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

// when is a verdict if a condition has a status, and is about the latest generation.
func when(kind, status string, then Status) Rule {
	return func(o Object) (Result, bool) {
		if c, ok := o.fresh(kind); ok && c.status == status {
			return then.From(c.condition()), true
		}
		return Result{}, false
	}
}

// needs is InProgress while one of some conditions is missing or Unknown. What is False it leaves to the generic layer, or to falseFails.
func needs(kinds ...string) Rule {
	return func(o Object) (Result, bool) {
		for _, kind := range kinds {
			if c, ok := o.fresh(kind); !ok || c.status != "True" && c.status != "False" {
				return o.missing(kind, c, ok), true
			}
		}
		return Result{}, false
	}
}

// ready is the verdict of the conditions alone, of which Ready must be one.
func ready(o Object) (Result, bool) {
	t := o.tally(o.conditions)
	if t.ready == "" && t.first[failed] == 0 && t.first[stale] == 0 {
		return o.missing("Ready", glance{}, false), true
	}
	return t.sum()
}

// readyOrFailed is ready for APIs in which Ready is Unknown for what is on the way, so that False is an error.
func readyOrFailed(o Object) (Result, bool) {
	if c, ok := o.fresh("Ready"); ok && c.status == "False" {
		return Failed.From(c.condition()), true
	}
	return ready(o)
}

func (o *Object) missing(kind string, c glance, there bool) Result {
	if there {
		return InProgress.From(c.condition())
	}
	return InProgress.because("ConditionMissing", named("Waiting for condition %s", kind)).in("status.conditions", kind)
}

// falseFails is Failed if one of some conditions is False, whatever its reason: these APIs say Unknown for what is on the way.
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

// pausedBy is Current, suspended, if a condition is True.
func pausedBy(kind string) Rule {
	return func(o Object) (Result, bool) {
		c, ok := o.fresh(kind)
		if !ok || c.status != "True" {
			return Result{}, false
		}
		r := Current.From(c.condition())
		r.Suspended = true
		return r, true
	}
}

// suspendedWhen is Current, suspended, if a bool is true.
func suspendedWhen(path ...string) Rule {
	at := strings.Join(path, ".")
	return func(o Object) (Result, bool) {
		return suspended(at, ""), o.Bool(path...)
	}
}

// annotated is Current, suspended, if an annotation has a value; "" stands for any.
func annotated(key, value string) Rule {
	return func(o Object) (Result, bool) {
		annotations, _ := object.ToMap(o.metadata["annotations"])
		got, there := annotations[key].(string)
		return suspended("metadata.annotations", key), there && (value == "" || got == value)
	}
}

// fresh returns the first condition of a type, unless it is about an older generation.
func (o *Object) fresh(kind string) (glance, bool) {
	wanted := typeMark(kind)
	for i := range o.conditions {
		if o.mark(i).kind() != wanted {
			continue
		}
		c, ok := o.glance(i)
		if !ok || c.kind != kind || c.ours() {
			continue
		}
		if o.trace != nil {
			o.saw(c.condition())
		}
		generation, _ := integer(o.metadata["generation"])
		return c, !c.outdated(generation)
	}
	return glance{}, false
}

// A vocabulary lists the values of a phase by what they mean, separated by ", ".
type vocabulary struct {
	inProgress, current, suspended, failed string
	fatal                                  string // failed for good
	empty                                  Status // what it means that there is none; "": no opinion
}

// says is the rule for a phase with known values; others are left to the generic layer.
func (v vocabulary) says(path ...string) Rule {
	meaning := v.index()
	field := strings.Join(path, ".")
	return func(o Object) (Result, bool) {
		phase := o.Text(path...)
		m, known := meaning[phase]
		if !known {
			return Result{}, false
		}
		if phase == "" && m.Status == InProgress {
			return InProgress.because("NotReported", named("Waiting for %s", field)).At(field), true
		}
		r := m.because(phaseReason(m.Status, phase), o.phaseMessage(path[len(path)-1], phase)).At(field)
		r.Suspended, r.Terminal = m.Suspended, m.Terminal
		return r, true
	}
}

func (v vocabulary) index() map[string]Result {
	out := map[string]Result{}
	add := func(words string, r Result) {
		for w := range strings.SplitSeq(words, ", ") {
			if w != "" {
				out[w] = r
			}
		}
	}
	add(v.inProgress, Result{Status: InProgress})
	add(v.current, Result{Status: Current})
	add(v.suspended, Result{Status: Current, Suspended: true})
	add(v.failed, Result{Status: Failed})
	add(v.fatal, Result{Status: Failed, Terminal: true})
	if v.empty != "" {
		out[""] = Result{Status: v.empty}
	}
	return out
}

// because keeps the flags of a result.
func (r Result) because(reason string, m message) Result {
	r.Reason, r.message = reason, m
	return r
}
