package kstatus

import (
	"strings"
	"time"

	"github.com/stagecraft-go/stagecraft/kstatus/internal/words"
)

// What conditions of any kind say together. The words of the type of a condition give its role;
// role and status give its effect; of all effects the strongest decides.

// A role is what a condition stands for.
type role uint8

const (
	neutral      role = iota // says nothing
	readyRole                // Ready: stands for the whole object
	notReadyRole             // the negation of Ready
	partRole                 // good if True, not yet there if False
	judgmentRole             // good if True, wrong if False
	stepRole                 // done if True, with more to come
	activityRole             // good if True, says nothing if False
	endRole                  // completed if True
	progressRole             // in progress if True
	errorRole                // failed if True
	pauseRole                // paused intentionally if True
)

// roles are the roles of condition types that end in a word with a meaning.
var roles = [...]role{
	words.StepDone: stepRole, words.Active: activityRole, words.Good: partRole, words.Accepted: judgmentRole,
	words.Done: endRole, words.Running: progressRole, words.Paused: pauseRole, words.Busy: progressRole,
	words.Bad: errorRole, words.Fatal: errorRole, words.Not: neutral,
}

// roleOf reads the role from the last word of the type. If that has no meaning, a judgment in the
// first word counts: PodsHealthy, but also ResolvedRefs.
func roleOf(kind string) role {
	switch {
	case kind == "Ready":
		return readyRole
	case strings.HasSuffix(kind, "UpToDate"):
		return judgmentRole
	case words.IsTransition(kind):
		return progressRole
	}
	first, last, count, negated := words.None, words.None, 0, false
	for word, rest := words.Cut(kind); word != ""; word, rest = words.Cut(rest) {
		m := words.Of(word)
		if m == words.Not {
			negated = true
			continue
		}
		if count++; count == 1 {
			first = m
		}
		last = m
	}
	switch {
	case negated && count == 1 && (last == words.Good || last == words.Accepted):
		return notReadyRole
	case negated:
		return neutral
	case last == words.None && first == words.Accepted, last == words.Done && count > 1:
		return judgmentRole
	case last == words.None && !negated && words.BeginsWithChange(kind) && !strings.HasSuffix(kind, "ed"):
		return progressRole
	}
	return roles[last]
}

// An effect is what one condition adds to a verdict. Of several the first in this order decides,
// except that an object that is ready as a whole overrules some of them (see
// conditionSummary.isReady).
type effect uint8

const (
	failedEffect     effect = iota // an error
	partFailedEffect               // an error of a part, which does not count while the whole is ready
	completedEffect
	pausedEffect
	outdatedEffect // about an older generation
	missingEffect  // not yet there, which does not count while the whole is ready
	progressEffect
	goodEffect
	stepEffect // one of several steps is done
	effects
)

// A conditionSummary holds, for each effect, 1 + the index of the first condition that has it.
type conditionSummary struct {
	conditions []any
	first      [effects]int32
	ready      string // the status of Ready, "" without one
	// available and degraded are what the conditions of these names say of the whole object.
	available, degraded aspect
	// notReady: Ready is False for a reason that is not a pause, so that the object would not be ready
	// either if no one had paused it.
	notReady bool
	// loose: the status of Ready is not a string, as the API conventions want it.
	// reconciled: the reason of Ready says only that the controller has dealt with the object.
	loose, reconciled bool
	// recheck is the time until a failure that is tried again counts as one, 0 without one.
	recheck time.Duration
}

func (o *Object) summarize(conditions []any) conditionSummary {
	s := conditionSummary{conditions: conditions}
	generation := o.generation()
	for i, item := range conditions {
		c, ok := viewOf(item)
		if !ok || c.isAugmented() {
			continue
		}
		r := roleOf(c.kind)
		if r == neutral && !c.hasWordStatus() {
			continue
		}
		o.recordCondition(c.kind, c.status)
		e, counts := c.effect(r)
		if c.isOutdated(generation) {
			e, counts = outdatedEffect, true
		} else if r == readyRole {
			s.addReady(&c, e)
		}
		s.notice(&c, counts && e == outdatedEffect)
		if (e == failedEffect || e == partFailedEffect) && counts {
			if left, retried := c.retriedFor(o); retried {
				e = missingEffect
				s.recheck = sooner(s.recheck, left)
			}
		}
		if counts {
			s.add(e, i, &c)
		}
	}
	return s
}

// add notes a condition with an effect. Of several with the same, Ready decides, and otherwise the
// first by name: the order of a list of conditions has no meaning.
func (s *conditionSummary) add(e effect, i int, c *conditionView) {
	if s.first[e] != 0 {
		before, _ := viewOf(s.conditions[s.first[e]-1])
		if !c.comesBefore(&before) {
			return
		}
	}
	s.first[e] = int32(i + 1)
}

// addReady notes what a condition Ready says. Of several, the worst counts.
func (s *conditionSummary) addReady(c *conditionView, e effect) {
	ready := c.readiness()
	_, isText := c.fields["status"].(string)
	s.loose, s.reconciled = s.loose || !isText, s.reconciled || c.saysReconciled()
	if s.ready == "" || s.ready == "True" || ready == "False" {
		s.ready = ready
	}
	s.notReady = s.notReady || ready == "False" && c.reason() != "" && e != pausedEffect
}

// saysReconciled reports whether the reason is no more than that the controller has dealt with the
// object: ReconciliationSucceeded, ReconcileSuccess.
func (c *conditionView) saysReconciled() bool { return strings.HasPrefix(c.reason(), "Reconcil") }

// sooner returns the shorter of two times. 0 stands for no time.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// An aspect is what the conditions with one name say. The zero value is that no condition has the name.
type aspect uint8

const (
	isWell  aspect = iota + 1 // all of them say that the object is well
	notWell                   // one of them does not
)

func (a *aspect) add(well bool) {
	if !well {
		*a = notWell
	} else if *a == 0 {
		*a = isWell
	}
}

// notice notes what a condition with the name Available or Degraded says.
func (s *conditionSummary) notice(c *conditionView, outdated bool) {
	switch c.kind {
	case "Available":
		s.available.add(c.status == "True" && !outdated && !c.contradictsItself())
	case "Degraded":
		s.degraded.add(c.status == "False" && !outdated)
	}
}

// isReady reports whether the object as a whole is ready, so that parts that are not, or have
// failed, do not count: by Ready or, without it, by Available and Degraded together. The operators
// of OpenShift have these two, and more conditions for their parts.
func (s *conditionSummary) isReady() bool {
	return s.ready == "True" || s.ready == "" && s.available == isWell && s.degraded == isWell
}

// readiness is the status of a Ready condition, Unknown if it contradicts itself.
func (c *conditionView) readiness() string {
	if c.status == "True" && c.contradictsItself() {
		return "Unknown"
	}
	return c.status
}

// effect returns the effect of a condition with a role, or false if it has none.
func (c *conditionView) effect(r role) (effect, bool) {
	switch {
	case c.status == "True":
		return c.effectIfTrue(r)
	case c.status == "False":
		return c.effectIfFalse(r)
	case c.hasWordStatus():
		if e, known := wordEffects[words.OfPhrase(c.status)]; known {
			return e, true
		}
		return missingEffect, true
	}
	return missingEffect, r == readyRole || r == partRole || r == judgmentRole
}

// hasWordStatus reports whether the status is a word that the API conventions do not have, such as
// Online or Failed. It is read as a phase.
func (c *conditionView) hasWordStatus() bool {
	switch c.status {
	case "True", "False", "Unknown", "":
		return false
	}
	return true
}

// wordEffects are the effects of a status that is a word. One without a meaning is like Unknown.
var wordEffects = map[words.Meaning]effect{
	words.StepDone: stepEffect, words.Active: goodEffect, words.Good: goodEffect, words.Accepted: goodEffect,
	words.Done: goodEffect, words.Running: goodEffect, words.Paused: pausedEffect, words.Busy: progressEffect,
	words.Bad: failedEffect, words.Fatal: failedEffect,
}

func (c *conditionView) effectIfTrue(r role) (effect, bool) {
	switch {
	case r == progressRole && c.reason() != c.kind && (isOver(c.reason()) || c.hasStarted()):
		return goodEffect, true
	case r == notReadyRole:
		return c.effectIfFalse(readyRole)
	case r == endRole && isError(c.reason()):
		return failedEffect, true
	case r == readyRole && c.contradictsItself():
		return missingEffect, true
	}
	return trueEffects[r], true
}

// hasStarted reports whether the reason of Progressing is that something runs: OSDsRunning.
func (c *conditionView) hasStarted() bool {
	return c.kind == "Progressing" && words.OfOutcome(c.reason()) == words.Running
}

// retryGrace is how long a failure that is tried again is in progress.
const retryGrace = 5 * time.Minute

// retriedFor returns how long a failure is still in progress because the condition says that the
// controller tries again; 0 without an end. It returns false if it does not say so, or has been
// saying so for longer than retryGrace.
func (c *conditionView) retriedFor(o *Object) (left time.Duration, retried bool) {
	if !words.SaysRetry(c.reason()) && !words.SaysRetry(c.message()) {
		return 0, false
	}
	return c.graceOfRetry(o)
}

func (c *conditionView) graceOfRetry(o *Object) (left time.Duration, young bool) {
	since, _ := c.fields["lastTransitionTime"].(string)
	at, err := time.Parse(time.RFC3339, since)
	if err != nil {
		return 0, true
	}
	left = at.Add(retryGrace).Sub(o.now)
	return left, left > 0
}

// contradictsItself reports whether the reason of a condition that is True says the opposite.
func (c *conditionView) contradictsItself() bool {
	switch c.reason() {
	case "Progressing", "Reconciling", "InProgress", "Pending":
		return true
	}
	return isError(c.reason())
}

var trueEffects = [...]effect{
	readyRole: goodEffect, partRole: goodEffect, judgmentRole: goodEffect, stepRole: stepEffect,
	activityRole: goodEffect, endRole: completedEffect, progressRole: progressEffect,
	errorRole: failedEffect, pauseRole: pausedEffect,
}

// isOver reports whether the reason of a condition says that the progress is over:
// NewReplicaSetAvailable, but not PodsNotReady.
func isOver(reason string) bool {
	if words.IsTransition(reason) {
		return false
	}
	m := words.OfOutcome(reason)
	return m == words.Good || m == words.Done
}

func (c *conditionView) effectIfFalse(r role) (effect, bool) {
	if r == errorRole || r == pauseRole || r == notReadyRole || r == activityRole {
		return 0, false
	}
	isError := c.isError(r)
	switch {
	case r == progressRole:
		return failedEffect, isError
	case words.OfPhrase(c.reason()) == words.Paused:
		return pausedEffect, true
	case isError && r == judgmentRole:
		return failedEffect, true
	case isError:
		return partFailedEffect, true
	}
	return missingEffect, true
}

// isError distinguishes an error from something that is only not there yet: by the severity that
// some APIs give, by the reason, and by the message.
func (c *conditionView) isError(r role) bool {
	switch c.fields["severity"] {
	case "Error":
		return true
	case "Warning", "Info":
		return false
	}
	reason := words.OfPhrase(c.reason())
	switch {
	case reason.IsError():
		return true
	case r == progressRole:
		return false
	case reason == words.Busy && !c.reasonRepeatsType():
		return (r == readyRole || r == judgmentRole) && words.OfPhrase(c.message()).IsError()
	}
	return r == judgmentRole || words.OfPhrase(c.message()).IsError()
}

// reasonRepeatsType reports whether the reason only negates the type: NotReady, DatabaseNotReady.
func (c *conditionView) reasonRepeatsType() bool {
	before, repeats := strings.CutSuffix(c.reason(), c.kind)
	return repeats && strings.HasSuffix(before, "Not")
}

// result returns the verdict of all conditions together, or false if they say nothing.
func (s *conditionSummary) result() (Result, bool) {
	ready := s.isReady()
	for e := range effects {
		overruled := ready && (e == partFailedEffect || e == missingEffect) ||
			e == completedEffect && s.ready != "" && !ready
		if i := s.first[e]; i != 0 && !overruled {
			c, _ := readCondition(s.conditions[i-1])
			r := e.result(c)
			r.Basis = s.basisOf(e, c)
			if e == pausedEffect && s.notReady {
				r.Status, r.Suspended = InProgress, false
			}
			if r.Status == InProgress {
				r.RecheckAfter = s.recheck
			}
			return r, true
		}
	}
	return Result{}, false
}

// basisOf returns the basis of the verdict that an effect of a condition decides. Ready, and Available
// with Degraded, stand for the whole object by convention; whether an error or a word is behind
// another condition is a matter of words.
func (s *conditionSummary) basisOf(e effect, c Condition) Basis {
	switch {
	case e == goodEffect && s.isReady() && s.isUndisputed(), e == outdatedEffect, e == missingEffect && c.Type == "Ready":
		return BasisConvention
	}
	return BasisWords
}

// isUndisputed reports whether no other condition says that something is wrong, or not there yet.
func (s *conditionSummary) isUndisputed() bool {
	return !s.loose && !s.reconciled && s.first[failedEffect] == 0 && s.first[partFailedEffect] == 0 && s.first[missingEffect] == 0
}

// allClear is the verdict on conditions that name only what can go wrong or be under way, if none of
// them holds: an API with no other conditions says nothing more when all is well. A young object may
// get others yet.
func (o *Object) allClear() (Result, bool) {
	first := 0
	for i, item := range o.conditions {
		c, ok := viewOf(item)
		if !ok || c.isAugmented() {
			continue
		}
		switch r := roleOf(c.kind); {
		case r != errorRole && r != progressRole && r != notReadyRole, c.status != "False":
			return Result{}, false
		case r == errorRole && first == 0:
			first = i + 1
		}
	}
	if first == 0 || words.RunsToEnd(o.kind) {
		return Result{}, false
	}
	c, _ := readCondition(o.conditions[first-1])
	if left := o.created().Add(reportGrace).Sub(o.now); left > 0 {
		r := inProgress("StatusUnclear", unclearMessage, "status")
		r.RecheckAfter = left
		return r, true
	}
	return Current.From(c), true
}

// isOnlySteps reports whether the conditions only say that steps are done. Whether more are to come
// is then for other fields to say.
func (s *conditionSummary) isOnlySteps() bool {
	for e, first := range s.first {
		if first != 0 && effect(e) != stepEffect {
			return false
		}
	}
	return s.first[stepEffect] != 0
}

// isCertain reports whether the conditions need no confirmation by other fields.
func (s *conditionSummary) isCertain() bool {
	return s.ready == "True" && !s.reconciled || s.first[completedEffect] != 0
}

var effectStatuses = [effects]Status{
	failedEffect: Failed, partFailedEffect: Failed, completedEffect: Current, pausedEffect: Current,
	outdatedEffect: InProgress, missingEffect: InProgress, progressEffect: InProgress, goodEffect: Current,
	stepEffect: InProgress,
}

func (e effect) result(c Condition) Result {
	r := effectStatuses[e].From(c)
	r.Suspended = e == pausedEffect
	r.Terminal = r.Status == Failed && (words.OfPhrase(c.Type) == words.Fatal || words.OfPhrase(c.Reason) == words.Fatal)
	if e == outdatedEffect {
		r.Reason, r.message = "ConditionNotObserved", withWords("Condition %s is about an older generation", c.Type)
	}
	return r
}
