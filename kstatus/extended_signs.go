package kstatus

import (
	"github.com/stagecraft-go/stagecraft/internal/object"
)

// signs weighs all that a status says in the ways that are common among APIs. The worst decides, so that one part that is ready does not hide
// another that is not.
func signs(o Object) (Result, bool) {
	t := o.tally(o.conditions)
	worst, found := t.sum()
	if found && worst.Status == Current && t.decided() {
		return worst, true
	}
	for _, sign := range [...]Rule{branches, nested, faults, phases, flags, replicas} {
		if r, ok := sign(o); ok && (!found || r.worse(worst)) {
			worst, found = r, true
		}
	}
	if worst.Status == Failed && ends(o.kind) {
		worst.Terminal = true
	}
	return worst, found
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
func branches(o Object) (worst Result, found bool) {
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
func nested(o Object) (worst Result, found bool) {
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
	if o.trace != nil && v != nil {
		o.trace.see("status."+field, v)
	}
	return v
}

// faults are fields that are only there when something is wrong.
func faults(o Object) (Result, bool) {
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

// phases are texts in fields such as phase, state, health or deploymentStatus, of the status or of a field of it.
func phases(o Object) (Result, bool) {
	var loudest tone
	var field, phase string
	see := func(path, s string) {
		t := phraseTone(s)
		if t == running && ends(o.kind) {
			t = busy
		}
		if t > loudest || t == loudest && t != quiet && path < field {
			loudest, field, phase = t, path, s
		}
	}
	for key, v := range o.status {
		if s, ok := v.(string); ok {
			if namesPhase(key) {
				see(key, s)
				o.seen(key)
			}
			continue
		}
		m, _ := object.ToMap(v)
		for _, inner := range phaseFields {
			if s, ok := m[inner].(string); ok {
				see(key+"."+inner, s)
			}
		}
	}
	if loudest == quiet {
		return Result{}, false
	}
	return o.phase(field, phase, loudest), true
}

var phaseFields = [...]string{"phase", "state", "status", "health"}

// namesPhase tells by the name of a field whether it holds a phase; what is only wished for is none.
func namesPhase(field string) bool {
	first, last := "", ""
	for word, rest := cutWord(field); word != ""; word, rest = cutWord(rest) {
		if first == "" {
			first = word
		}
		last = word
	}
	return !wishes[first] && phaseWords[last]
}

var (
	phaseWords = set("phase Phase state State status Status health Health stage Stage")
	wishes     = set("desired expected previous target")
)

// phase is the verdict that the tone of a phase stands for.
func (o *Object) phase(field, phase string, t tone) Result {
	s := phaseStatus[t]
	r := s.because(phaseReason(s, phase), o.phaseMessage(field, phase)).in("status", field)
	r.Suspended = t == held
	r.Terminal = t == fatal
	return r
}

var phaseStatus = [...]Status{
	stepped: Current, lively: Current, good: Current, sound: Current, done: Current, running: Current, held: Current, busy: InProgress, bad: Failed, fatal: Failed,
}

// phaseReason is the phase if it is one word.
func phaseReason(s Status, phase string) string {
	if word, rest := cutWord(phase); s == Current || word != phase || rest != "" {
		return phaseReasons[s]
	}
	return phase
}

var phaseReasons = map[Status]string{InProgress: "InProgress", Failed: "Failed"}

// phaseMessage is what the object itself says, or else the phase.
func (o *Object) phaseMessage(field, phase string) message {
	if s, ok := o.status["message"].(string); ok && s != "" {
		return text(s)
	}
	return named("%s is %s", field, phase)
}

// flags are bools that say whether all is well.
func flags(o Object) (Result, bool) {
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
func replicas(o Object) (Result, bool) {
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
