package kstatus

import "github.com/stagecraft-go/stagecraft/internal/object"

// Phases are texts in fields such as phase, state, health or deploymentStatus, of the status or of a field of it.

// see takes a phase into account. Of several that are equally loud the first by name is told.
func (l *outlook) see(o *Object, field, phase string) {
	t := phraseTone(phase)
	if t == running && ends(o.kind) {
		t = busy
	}
	if t > l.tone || t == l.tone && t != quiet && field < l.field {
		l.signs |= phasing
		l.tone, l.field, l.phase = t, field, phase
	}
}

// within sees the phases in a map.
func (l *outlook) within(o *Object, field string, v any) {
	m, _ := object.ToMap(v)
	for _, inner := range phaseFields {
		if s, ok := m[inner].(string); ok {
			l.see(o, field+"."+inner, s)
		}
	}
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
	return meansPhase(last) && !wished(first)
}

func meansPhase(word string) bool {
	switch word {
	case "phase", "Phase", "state", "State", "status", "Status", "health", "Health", "stage", "Stage":
		return true
	}
	return false
}

func wished(word string) bool {
	switch word {
	case "desired", "expected", "previous", "target":
		return true
	}
	return false
}

// phase is the verdict that the tone of the loudest phase stands for.
func (o *Object) phase(l *outlook) Result {
	s := phaseStatus[l.tone]
	return Result{
		Status: s, Reason: phaseReason(s, l.phase), Suspended: l.tone == held, Terminal: l.tone == fatal,
		message: o.phaseMessage(l.field, l.phase), path: "status", item: l.field,
	}
}

var phaseStatus = [...]Status{
	stepped: Current, lively: Current, good: Current, sound: Current, done: Current, running: Current, held: Current, busy: InProgress, bad: Failed, fatal: Failed,
}

// phaseReason is the phase if it is one word.
func phaseReason(s Status, phase string) string {
	if s == Current {
		return ""
	}
	if word, rest := cutWord(phase); word != phase || rest != "" {
		return string(s)
	}
	return phase
}

// phaseMessage is what the object itself says, or else the phase.
func (o *Object) phaseMessage(field, phase string) message {
	if s, ok := o.status["message"].(string); ok && s != "" {
		return text(s)
	}
	return message{format: "%s is %s", words: [2]string{field, phase}}
}
