package kstatus

import (
	"slices"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// signs weighs all that a status says in the ways that are common among APIs. The worst decides, so that one part that is ready does not hide
// another that is not.
func signs(o Object) (Result, bool) {
	var worst Result
	found := false
	if len(o.conditions) > 0 {
		t := o.tally(o.conditions)
		if worst, found = t.sum(); found && worst.Status == Current && t.decided() {
			return worst, true
		}
	}
	there := o.outlook()
	for look := branching; look <= counting; look <<= 1 {
		if there.signs&look == 0 {
			continue
		}
		if r, ok := o.sign(look, &there); ok && (!found || r.worse(worst)) {
			worst, found = r, true
		}
	}
	if worst.Status == Failed && ends(o.kind) {
		worst.Terminal = true
	}
	return worst, found
}

// A sign is a way in which a status tells something beside its conditions.
type sign uint8

const (
	branching sign = 1 << iota // conditions in lists
	nesting                    // conditions in maps
	faulting                   // one of faultFields
	phasing                    // a phase
	flagging                   // a bool
	counting                   // one of replicaFields
)

// An outlook is what one pass over a status finds: the signs that there may be, for most objects have few of them, and the loudest phase.
type outlook struct {
	signs        sign
	tone         tone
	field, phase string
}

func (o *Object) outlook() (l outlook) {
	for field, v := range o.status {
		switch text := v.(type) {
		case nil, int64, float64:
		case bool:
			l.signs |= flagging
		case string:
			if namesPhase(field) {
				l.see(o, field, text)
				o.note("status", field, v)
			}
		case []any:
			if field != "conditions" {
				l.signs |= branching
			}
		default: // a map, or what only some decoders make
			l.signs |= branching | nesting
			l.within(o, field, v)
		}
		if slices.Contains(faultFields[:], field) {
			l.signs |= faulting
		}
		if slices.Contains(replicaFields[:], field) {
			l.signs |= counting
		}
	}
	return l
}

// sign is what one of the signs says.
func (o *Object) sign(s sign, l *outlook) (Result, bool) {
	switch s {
	case branching:
		return branches(o)
	case nesting:
		return nested(o)
	case faulting:
		return faults(o)
	case phasing:
		return o.phase(l), true
	case flagging:
		return flags(o)
	default:
		return replicas(o)
	}
}

// worse orders verdicts on parts of one object.
func (r Result) worse(than Result) bool {
	if r.Status != than.Status {
		return badness[r.Status] > badness[than.Status]
	}
	return r.Suspended && !than.Suspended
}

var badness = map[Status]int{Current: 1, InProgress: 2, Failed: 3}

// branches are conditions that controllers give for each of the parts of an object, or of what it belongs to.
func branches(o *Object) (worst Result, found bool) {
	for _, b := range branchLists {
		list, _ := object.ToSlice(o.status[b.field])
		for _, item := range list {
			m, _ := object.ToMap(item)
			if m["conditions"] == nil {
				continue
			}
			if r := o.branch(m, b.path); !found || r.worse(worst) {
				worst, found = r, true
			}
		}
	}
	return worst, found
}

func (o *Object) branch(part map[string]any, path string) Result {
	conditions, _ := object.ToSlice(part["conditions"])
	t := o.tally(conditions)
	r, ok := t.sum()
	if !ok {
		return InProgress.Because("ConditionsMissing", "A part of the status has no conditions yet").At(path)
	}
	r.path = path
	return r
}

// nested are conditions one level down. Of several that are equally bad, the first by name is told.
func nested(o *Object) (worst Result, found bool) {
	for field, v := range o.status {
		m, _ := object.ToMap(v)
		if conditions, _ := object.ToSlice(m["conditions"]); len(conditions) == 0 {
			continue
		}
		r := o.branch(m, "").in("status", field)
		if !found || r.worse(worst) || !worst.worse(r) && field < worst.item {
			worst, found = r, true
		}
	}
	return worst, found
}

// branchLists are the lists of parts that have conditions.
var branchLists = [...]struct{ field, path string }{
	{"parents", "status.parents[].conditions"},
	{"ancestors", "status.ancestors[].conditions"},
	{"listeners", "status.listeners[].conditions"},
	{"ingress", "status.ingress[].conditions"},
}

// seen returns a field of the status, and notes for an explanation that it was read.
func (o *Object) seen(field string) any {
	v := o.status[field]
	if v != nil {
		o.note("status", field, v)
	}
	return v
}

// faults are fields that are only there when something is wrong.
func faults(o *Object) (Result, bool) {
	for _, field := range faultFields {
		v := o.seen(field)
		if m, ok := object.ToMap(v); ok {
			v = m["message"]
		}
		if s, ok := v.(string); ok && s != "" {
			return Failed.Because("Error", s).in("status", field), true
		}
	}
	return Result{}, false
}

var faultFields = [...]string{"failureMessage", "failureReason", "errorMessage", "error", "errMsg", "attachError", "detachError"}

// flags are bools that say whether all is well.
func flags(o *Object) (Result, bool) {
	for _, f := range flagFields {
		on, ok := o.seen(f.name).(bool)
		switch {
		case !ok:
		case on:
			return Current.because("", named("%s is true", f.name)).in("status", f.name), true
		default:
			return f.otherwise.because(f.reason, named("%s is false", f.name)).in("status", f.name), true
		}
	}
	return Result{}, false
}

var flagFields = [...]struct {
	name      string
	otherwise Status
	reason    string
}{
	{"ready", InProgress, "NotReady"}, {"available", InProgress, "NotAvailable"}, {"readyToUse", InProgress, "NotReady"}, {"attached", InProgress, "NotAttached"},
	{"healthy", Failed, "Unhealthy"}, {"pass", Failed, "NotPassed"}, {"passed", Failed, "NotPassed"},
}

// replicas compares the counts of what scales.
func replicas(o *Object) (Result, bool) {
	wanted, ok := o.Int("spec", "replicas")
	if !ok {
		if wanted, ok = integer(o.seen("replicas")); !ok {
			return Result{}, false
		}
	}
	counts := 0
	for _, field := range replicaFields {
		n, ok := integer(o.seen(field))
		if !ok {
			continue
		}
		if counts++; n < wanted {
			return InProgress.because("LessReplicas", replicaCount(field, n, wanted)).in("status", field), true
		}
	}
	return Current.saying(counted("Replicas: %d", wanted)), counts > 0
}

var replicaFields = [...]string{"readyReplicas", "availableReplicas", "updatedReplicas"}

func replicaCount(field string, n, wanted int64) message {
	m := counted("%s: %d/%d", n, wanted)
	m.words[0] = field
	return m
}
