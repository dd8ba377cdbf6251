package kstatus

import "strings"

// A role is what a condition stands for, told by the words of its type.
type role uint8

const (
	neutral    role = iota
	summary         // Ready: stands for the whole object
	opposite        // Ready turned round
	part            // good when True, not yet there when False
	verdict         // good when True, wrong when False
	milestone       // passed when True, with more to come
	sideline        // good when True, of no account when False
	completion      // over when True
	transition      // on the way when True
	failure         // failed when True
	pause           // held on purpose when True
)

var roles = [...]role{
	stepped: milestone, lively: sideline, good: part, sound: verdict, done: completion, running: transition, held: pause, busy: transition, bad: failure,
	fatal: failure, not: neutral,
}

// roleOf tells the role by the last word of the type, or, if that says nothing, by a judgement in the first one: PodsHealthy, ResolvedRefs.
func roleOf(kind string) role {
	if kind == "Ready" {
		return summary
	}
	first, last, words, negated := quiet, quiet, 0, false
	for word, rest := cutWord(kind); word != ""; word, rest = cutWord(rest) {
		t := toneOf(word)
		if t == not {
			negated = true
			continue
		}
		if words++; words == 1 {
			first = t
		}
		last = t
	}
	switch {
	case negated && words == 1 && (last == good || last == sound):
		return opposite
	case negated:
		return neutral
	case last == quiet && first == sound, last == done && words > 1:
		return verdict
	}
	return roles[last]
}

// A weight is what a condition adds to a verdict; of several the lightest that was found decides, unless Ready overrules it.
type weight uint8

const (
	failed  weight = iota // an error
	ailing                // an error of a part, which does not count while Ready
	over                  // completed
	paused                // held on purpose
	stale                 // about an older generation
	lacking               // not yet there, which does not count while Ready
	moving                // on the way
	fine                  // good
	passed                // a step
	weights
)

// A tally holds, for each weight, 1 + the index of the first condition that has it.
type tally struct {
	conditions []any
	first      [weights]int32
	ready      string // the status of Ready, "" if there is none
}

func (o *Object) tally(conditions []any) tally {
	t := tally{conditions: conditions}
	generation, _ := integer(o.metadata["generation"])
	for i, item := range conditions {
		c, ok := look(item)
		if !ok || c.ours() {
			continue
		}
		r := roleOf(c.kind)
		if r == neutral {
			continue
		}
		if o.trace != nil {
			o.saw(c.condition())
		}
		w, counts := c.weigh(r)
		if c.outdated(generation) {
			w, counts = stale, true
		} else if r == summary && t.ready == "" {
			t.ready = c.status
		}
		if counts && t.first[w] == 0 {
			t.first[w] = int32(i + 1)
		}
	}
	return t
}

// outdated tells whether a condition is about an older generation than the given one.
func (g *glance) outdated(generation int64) bool {
	observed, ok := integer(g.fields["observedGeneration"])
	return ok && observed != 0 && observed < generation
}

// weigh says what a condition with a role adds.
func (g *glance) weigh(r role) (weight, bool) {
	switch g.status {
	case "True":
		return g.whenTrue(r)
	case "False":
		return g.whenFalse(r)
	}
	return lacking, r == summary || r == part || r == verdict
}

func (g *glance) whenTrue(r role) (weight, bool) {
	if r == transition && settled(g.reason()) {
		return fine, true
	}
	if r == opposite {
		return g.whenFalse(summary)
	}
	return trueWeights[r], true
}

var trueWeights = [...]weight{
	summary: fine, part: fine, verdict: fine, milestone: passed, sideline: fine, completion: over, transition: moving, failure: failed, pause: paused,
}

// settled says whether the reason of a transition is that it is over: NewReplicaSetAvailable.
func settled(reason string) bool {
	t := lastTone(reason)
	return t == good || t == done
}

func (g *glance) whenFalse(r role) (weight, bool) {
	if r == failure || r == pause || r == opposite || r == sideline {
		return 0, false
	}
	wrong := g.grave(r)
	switch {
	case r == transition:
		return failed, wrong
	case phraseTone(g.reason()) == held:
		return paused, true
	case wrong && r == verdict:
		return failed, true
	case wrong:
		return ailing, true
	}
	return lacking, true
}

// grave tells an error from what is only not there yet: by the severity that some APIs give, by the reason, by the message.
func (g *glance) grave(r role) bool {
	switch g.fields["severity"] {
	case "Error":
		return true
	case "Warning", "Info":
		return false
	}
	reason := phraseTone(g.reason())
	switch {
	case reason.wrong():
		return true
	case r == transition:
		return false
	case reason == busy && !g.tautology():
		return (r == summary || r == verdict) && phraseTone(g.message()).wrong()
	}
	return r == verdict || phraseTone(g.message()).wrong()
}

func (g *glance) message() string {
	s, _ := g.fields["message"].(string)
	return s
}

// tautology says whether the reason only repeats the condition: NotReady, DatabaseNotReady.
func (g *glance) tautology() bool {
	before, repeats := strings.CutSuffix(g.reason(), g.kind)
	return repeats && strings.HasSuffix(before, "Not")
}

// sum is what the conditions say together, if anything.
func (t *tally) sum() (Result, bool) {
	ready := t.ready == "True"
	for w := range weights {
		overruled := ready && (w == ailing || w == lacking) || w == over && t.ready != "" && !ready
		if i := t.first[w]; i != 0 && !overruled {
			c, _ := readCondition(t.conditions[i-1])
			return sums[w].result(c), true
		}
	}
	return Result{}, false
}

// decided says whether the conditions need no confirmation.
func (t *tally) decided() bool { return t.ready == "True" || t.first[over] != 0 }

// A sum is the result that a weight stands for.
type sum struct {
	status    Status
	suspended bool
	outdated  bool
}

var sums = [weights]sum{
	failed: {status: Failed}, ailing: {status: Failed}, over: {status: Current}, paused: {status: Current, suspended: true},
	stale: {status: InProgress, outdated: true}, lacking: {status: InProgress}, moving: {status: InProgress}, fine: {status: Current},
	passed: {status: InProgress},
}

func (s sum) result(c Condition) Result {
	r := s.status.From(c)
	r.Suspended = s.suspended
	r.Terminal = s.status == Failed && (phraseTone(c.Type) == fatal || phraseTone(c.Reason) == fatal)
	if s.outdated {
		r.Reason, r.message = "ConditionNotObserved", named("Condition %s is about an older generation", c.Type)
	}
	return r
}
