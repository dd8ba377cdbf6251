package kstatus

import (
	"slices"
	"strings"

	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/kstatus/internal/words"
)

// What the fields of a status say in the ways that are common among APIs. The worst verdict
// decides, so that one part that is ready does not hide another that is not.

func statusFields(o Object) (Result, bool) {
	s := o.summarize(o.conditions)
	worst, found := s.result()
	r, ok := o.worstSource()
	if found && worst.Status == Current && s.isCertain() {
		if ok && r.isWorse(worst) {
			worst.Basis = BasisWords // another field disagrees
		}
		return worst, true
	}
	if ok && (!found || r.isWorse(worst) || s.isOnlySteps()) {
		worst, found = r, true
	}
	if worst.Status == Failed && words.RunsToEnd(o.kind) {
		worst.Terminal = true
	}
	return worst, found
}

// worstSource returns the worst verdict of the fields other than conditions.
func (o *Object) worstSource() (worst Result, found bool) {
	present := o.scanStatus()
	for source := conditionLists; source <= pairs; source <<= 1 {
		if present.sources&source == 0 {
			continue
		}
		if r, ok := o.readSource(source, &present); ok && (!found || r.isWorse(worst)) {
			worst, found = r, true
		}
	}
	return worst, found
}

// A source is a way in which a status says something, besides its conditions.
type source uint16

const (
	conditionLists source = 1 << iota // lists of parts that have conditions
	mapConditions                     // maps that have conditions
	mapCounts                         // maps that have counts
	listedPhases                      // lists of parts with a phase that names an error
	errorFields                       // one of errorFieldNames
	phases                            // a text such as phase: Running
	boolFields                        // one of boolFieldNames
	counts                            // one of countFields
	pairs                             // counts such as readyMembers next to members
)

// A statusScan is what one pass over a status finds: the sources that may be present, and the phase
// with the greatest meaning.
type statusScan struct {
	sources      source
	meaning      words.Meaning
	field, phase string
}

func (o *Object) scanStatus() (s statusScan) {
	for field, v := range o.status {
		switch text := v.(type) {
		case nil, int64, float64:
			if words.IsReadyCount(field) {
				s.sources |= pairs
			}
		case bool:
			s.sources |= boolFields
		case string:
			if words.IsPhaseField(field) || words.IsJudgment(field) {
				s.addPhase(o, field, text)
				o.recordField("status", field, v)
			}
		case []any:
			if field != "conditions" {
				s.sources |= conditionLists | listedPhases
			}
		default: // a map, or a type that only some decoders produce
			s.sources |= conditionLists | mapConditions | mapCounts | pairs
			s.addPhases(o, field, v, phaseDepth)
		}
		if slices.Contains(errorFieldNames[:], field) {
			s.sources |= errorFields
		}
		if slices.Contains(countFields[:], field) {
			s.sources |= counts
		}
	}
	return s
}

func (o *Object) readSource(s source, scan *statusScan) (Result, bool) {
	switch s {
	case conditionLists:
		return listedConditions(o)
	case mapConditions:
		return nestedConditions(o)
	case mapCounts:
		return nestedReplicas(o)
	case listedPhases:
		return failedPart(o)
	case errorFields:
		return errorField(o)
	case phases:
		return o.phaseResult(scan), true
	case boolFields:
		return boolField(o)
	case pairs:
		return o.pairedCounts(o.status, "status", pairDepth)
	default:
		return replicas(o)
	}
}

// failedPart is Failed if an element of a list has a phase that names an error. Lists of what
// happened earlier do not count.
func failedPart(o *Object) (worst Result, found bool) {
	for field, v := range o.status {
		list, _ := object.ToSlice(v)
		if field == "conditions" || len(list) == 0 || words.IsPast(field) || found && field > worst.item {
			continue
		}
		if name, phase, failed := failedElement(list); failed {
			worst = Failed.because(phaseReason(Failed, phase), withWords("%s is %s", name, phase)).atItem("status", field)
			found = true
		}
	}
	return worst, found
}

// failedElement returns the name and the phase of the first element that has a phase with an error.
func failedElement(list []any) (name, phase string, failed bool) {
	for _, item := range list {
		m, _ := object.ToMap(item)
		for _, field := range phaseFieldNames {
			phase, _ := m[field].(string)
			if isError(phase) {
				if name, _ = m["name"].(string); name == "" {
					name = field
				}
				return name, phase, true
			}
		}
	}
	return "", "", false
}

var phaseFieldNames = [...]string{"phase", "state", "status", "health"}

// isWorse orders verdicts on parts of one object. Of equally bad ones that with the weaker basis
// counts.
func (r Result) isWorse(than Result) bool {
	if r.Status != than.Status {
		return badness[r.Status] > badness[than.Status]
	}
	switch {
	case r.Suspended != than.Suspended:
		return r.Suspended
	case r.Terminal != than.Terminal:
		return r.Terminal
	case r.RecheckAfter != than.RecheckAfter:
		return sooner(r.RecheckAfter, than.RecheckAfter) == r.RecheckAfter
	}
	r.restOn(BasisWords)
	than.restOn(BasisWords)
	return r.Basis < than.Basis
}

var badness = map[Status]int{Current: 1, InProgress: 2, Failed: 3}

// listedConditions reads the conditions that controllers write for each part of an object, or for
// each object that it belongs to.
func listedConditions(o *Object) (worst Result, found bool) {
	for _, l := range conditionListFields {
		list, _ := object.ToSlice(o.status[l.field])
		for _, item := range list {
			m, _ := object.ToMap(item)
			if m["conditions"] == nil {
				continue
			}
			if r := o.partConditions(m, l.path); !found || r.isWorse(worst) {
				worst, found = r, true
			}
		}
	}
	return worst, found
}

var conditionListFields = [...]struct{ field, path string }{
	{"parents", "status.parents[].conditions"},
	{"ancestors", "status.ancestors[].conditions"},
	{"listeners", "status.listeners[].conditions"},
	{"ingress", "status.ingress[].conditions"},
}

func (o *Object) partConditions(part map[string]any, path string) Result {
	conditions, _ := object.ToSlice(part["conditions"])
	s := o.summarize(conditions)
	r, ok := s.result()
	if !ok {
		return inProgress("ConditionsMissing", text("A part of the status has no conditions yet"), path)
	}
	r.path = path
	return r
}

// nestedConditions reads the conditions one level down. Of several that are equally bad, the first
// by name is reported.
func nestedConditions(o *Object) (worst Result, found bool) {
	for field, v := range o.status {
		m, _ := object.ToMap(v)
		if conditions, _ := object.ToSlice(m["conditions"]); len(conditions) == 0 {
			continue
		}
		r := o.partConditions(m, "").atItem("status", field)
		if !found || r.isWorse(worst) || !worst.isWorse(r) && field < worst.item {
			worst, found = r, true
		}
	}
	return worst, found
}

// errorField reads the fields that are only present when something is wrong.
func errorField(o *Object) (Result, bool) {
	for _, field := range errorFieldNames {
		v := o.statusField(field)
		if m, ok := object.ToMap(v); ok {
			v = m["message"]
		}
		if s, ok := v.(string); ok && s != "" {
			return Failed.Because("Error", s).atItem("status", field), true
		}
	}
	return Result{}, false
}

var errorFieldNames = [...]string{
	"failureMessage", "failureReason", "errorMessage", "errorDescription", "error", "errMsg", "attachError",
	"detachError",
}

// boolField reads the first bool that says whether all is well.
func boolField(o *Object) (Result, bool) {
	for _, f := range boolFieldNames {
		on, ok := o.statusField(f.name).(bool)
		switch {
		case !ok:
		case on:
			return Current.because("", withWords("%s is true", f.name)).atItem("status", f.name), true
		default:
			return f.ifFalse.because(f.reason, withWords("%s is false", f.name)).atItem("status", f.name), true
		}
	}
	return Result{}, false
}

var boolFieldNames = [...]struct {
	name    string
	ifFalse Status
	reason  string
}{
	{"ready", InProgress, "NotReady"},
	{"available", InProgress, "NotAvailable"},
	{"readyToUse", InProgress, "NotReady"},
	{"attached", InProgress, "NotAttached"},
	{"healthy", Failed, "Unhealthy"},
	{"pass", Failed, "NotPassed"},
	{"passed", Failed, "NotPassed"},
}

// replicas compares the counts of a status with the wanted number: spec.replicas, or a count of the
// status that stands for all.
func replicas(o *Object) (Result, bool) {
	wanted, declared := integer(o.specField("replicas"))
	if !declared {
		wanted = -1
	}
	if heldByPartition(o, wanted) {
		return suspendedBy("spec.updateStrategy", "partition"), true
	}
	return o.counted(o.status, "status", wanted)
}

// heldByPartition reports whether an update has reached the partition at which it stops intentionally.
func heldByPartition(o *Object, wanted int64) bool {
	updated, ok := integer(o.status["updatedReplicas"])
	ready, counted := integer(o.status["readyReplicas"])
	target := kruiseTarget(o, wanted)
	return ok && target < wanted && target <= updated && updated < wanted && (!counted || ready >= wanted)
}

// nestedReplicas compares the counts in the maps of a status that have their own wanted number.
func nestedReplicas(o *Object) (worst Result, found bool) {
	for field, v := range o.status {
		m, ok := mapOf(v)
		if _, wanted := integer(m["desiredReplicas"]); !ok || !wanted {
			continue
		}
		r, ok := o.counted(m, field, -1)
		if ok && (!found || r.isWorse(worst) || !worst.isWorse(r) && field < worst.item) {
			worst, found = r.atItem("status", field), true
		}
	}
	return worst, found
}

// counted compares the counts of a map with a number. If that is negative, a count of the map stands
// for all.
func (o *Object) counted(m map[string]any, path string, wanted int64) (Result, bool) {
	declared := wanted >= 0
	for _, field := range wantedFields {
		if n, ok := integer(m[field]); ok && wanted < 0 {
			wanted, declared = n, field != "replicas"
		}
	}
	if wanted < 0 {
		return Result{}, false
	}
	found := false
	for _, field := range countFields {
		n, ok := integer(m[field])
		if !ok {
			continue
		}
		found = true
		o.recordField(path, field, m[field])
		if n < wanted {
			return countResult("LessReplicas", field, n, wanted).atItem(path, field), true
		}
	}
	if all, _ := integer(m["replicas"]); declared && all > wanted {
		return countResult("ExtraReplicas", "replicas", all, wanted).atItem(path, "replicas"), true
	}
	return Current.because("", withNumbers("Replicas: %d", wanted)), found
}

func countResult(reason, field string, n, wanted int64) Result {
	m := withNumbers("%s: %d/%d", n, wanted)
	m.words[0] = field
	return InProgress.because(reason, m)
}

var wantedFields = [...]string{
	"desiredReplicas", "desiredNumberScheduled", "desiredHealthy", "expectedMachines", "matchedPods", "replicas",
}

var countFields = [...]string{
	"readyReplicas", "availableReplicas", "updatedReplicas", "upToDateReplicas", "updatedReadyReplicas", "updatedAvailableReplicas",
	"numberReady", "numberAvailable", "updatedNumberScheduled", "currentHealthy", "readyPods", "updatedPods",
}

// Phases are texts in fields such as phase, state, health or deploymentStatus, of the status or of
// a map in it.

// addPhase takes a phase into account. Of several with the same meaning the first by name of its
// field is reported.
func (s *statusScan) addPhase(o *Object, field, phase string) {
	m := words.OfPhrase(phase)
	if m == words.Running && (words.RunsToEnd(o.kind) || words.RunsSomething(phase)) {
		m = words.Busy
	}
	if m == words.StepDone && (words.IsOfPart(phase) || words.IsBeginning(phase) && !words.IsSchedule(o.kind)) {
		m = words.Busy
	}
	if words.IsJudgment(field) && words.IsNegated(phase) || m == words.None && words.IsWarning(phase) {
		m = words.Bad
	}
	if m > s.meaning || m == s.meaning && m != words.None && field < s.field {
		s.sources |= phases
		s.meaning, s.field, s.phase = m, field, phase
	}
}

// phaseDepth is how many maps deep a phase is looked for: status.statuses.<name>.state is in the
// second.
const phaseDepth = 2

// addPhases takes the phases in a map into account, and those in the maps in it that have names.
func (s *statusScan) addPhases(o *Object, field string, v any, depth int) {
	m, _ := object.ToMap(v)
	for _, inner := range phaseFieldNames {
		if phase, ok := m[inner].(string); ok {
			s.addPhase(o, field+"."+inner, phase)
		}
	}
	if depth == 1 || words.IsPast(field) {
		return
	}
	for name, inner := range m {
		if _, ok := mapOf(inner); ok {
			s.addPhases(o, field+"."+name, inner, depth-1)
		}
	}
}

func (o *Object) phaseResult(s *statusScan) Result {
	status := phaseStatuses[s.meaning]
	return Result{
		Status: status, Reason: phaseReason(status, s.phase), message: o.phaseMessage(s.field, s.phase),
		Suspended: s.meaning == words.Paused, Terminal: s.meaning == words.Fatal,
	}.atItem("status", s.field)
}

var phaseStatuses = [...]Status{
	words.StepDone: Current, words.Active: Current, words.Good: Current, words.Accepted: Current,
	words.Done: Current, words.Running: Current, words.Paused: Current, words.Busy: InProgress,
	words.Bad: Failed, words.Fatal: Failed,
}

// phaseReason is the phase if it is one word, otherwise the status.
func phaseReason(s Status, phase string) string {
	switch {
	case s == Current:
		return ""
	case words.IsOne(phase):
		return capitalized(phase)
	}
	return string(s)
}

// capitalized returns a word that begins with a capital, as reasons do.
func capitalized(word string) string {
	if word == "" || word[0] < 'a' || word[0] > 'z' {
		return word
	}
	return strings.ToUpper(word[:1]) + word[1:]
}

// phaseMessage is the message of the status, or else the phase.
func (o *Object) phaseMessage(field, phase string) message {
	if s, ok := o.status["message"].(string); ok && s != "" {
		return text(s)
	}
	return withWords("%s is %s", field, phase)
}
