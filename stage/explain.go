package stage

import (
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/delay"
	"github.com/stagecraft-go/stagecraft/internal/expression"
	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/internal/position"
	"github.com/stagecraft-go/stagecraft/render"
	"github.com/stagecraft-go/stagecraft/selector"
)

// An Explanation says what a [Set] makes of an object, and why. It is plain data, and must not be
// changed; [Explanation.String] is the form for people.
type Explanation struct {
	Key  Key
	Time time.Time // at which the object was looked at
	// Stages explains every Stage for the kind of the object, in the order of the sources. It is
	// empty if the Set has no Stage for the kind.
	Stages []StageExplanation
	// Kinds are the kinds that the Set has Stages for.
	Kinds []schema.GroupVersionKind

	leaves bool // whether this is the last state of the object, which an Engine ignores
}

// A StageExplanation says whether and how one Stage applies to an object. Its paths are those of
// fields of the Stage.
type StageExplanation struct {
	Stage        string
	Requirements []selector.Requirement // all of the selector, each with what was seen and the error that was passed over
	Matches      bool                   // whether all of them hold
	// Candidate is the Stage as [Set.Candidates] lists it. It is zero, like all that follows,
	// unless the Stage matches.
	Candidate Candidate
	Weight    WeightEvaluation
	Delay     delay.Explanation
	// DryRun is what the effects would do to the object at the earliest time at which they are due.
	DryRun DryRun

	doc *position.Document
}

// A WeightEvaluation tells how the weight of a Stage was found.
type WeightEvaluation struct {
	Path  string // the field that counts: spec.weight, or that of the expression
	Text  string // the source of the expression; "" if there is none
	Seen  any    // what the expression gave; nil if nothing
	Value int64  // from 0 to 2^40; counts only if Given
	Given bool   // false if the expression says so: by text that is empty or no integer, or by an error in CEL
	Err   error  // why the expression does not count, if it failed or gave no integer
}

// A DryRun is what the effects of a Stage would do to an object if nobody else changes it before.
type DryRun struct {
	// Due is when the Stage is played, with the least of its delays. Templates read this time.
	Due time.Time
	// Effects are those of [Transition.Effects], except that the addresses of nodes and pods are
	// placeholders, unless the object has addresses.
	Effects []Effect
	// Err says why there are none, or why one of them cannot be carried out.
	Err error
	// After is the object as its own patches leave it; nil if it is deleted, or after an error.
	// What an API server changes besides is not in it.
	After *unstructured.Unstructured
	// Idle is whether the effects leave the object as it is, with the least and with the greatest
	// delay, so that the Stage is not played again until somebody else changes it.
	Idle bool
	// Livelock is whether the Stage matches again at once after its effects, without delay, and
	// changes the object again a moment later.
	Livelock bool

	sends bool // whether there are effects other than patches that change nothing
}

// Locate returns the place of a field of the Stage; zero if the Stage did not come from text.
func (v StageExplanation) Locate(path string) Position {
	return locate(v.doc, v.Stage, &position.Error{Path: path, Offset: -1}).Position
}

// Explain tells what may happen next to obj, seen at the time now, and why: for every Stage of its
// kind every requirement, the weight, the delay and the effects when they are due. It evaluates what
// [Set.Candidates] and [Set.Next] evaluate, so it agrees with them; Rand() in CEL draws what it
// draws for Candidates. Stages without a selector are not in it, [Set.Warnings] names them. It neither
// changes nor keeps obj.
func (s *Set) Explain(obj *unstructured.Unstructured, now time.Time) Explanation {
	e := Explanation{Key: KeyOf(obj), Time: now, Kinds: s.Kinds()}
	k := s.kindOf(obj)
	if k == nil {
		return e
	}
	e.leaves = leaves(obj)
	candidates := s.Candidates(obj, now)
	scope := s.scope(obj, now)
	defer s.release(scope)
	for _, st := range k.stages {
		v := StageExplanation{Stage: st.name, doc: st.doc}
		scope.Seed = entry(k.identity(0, obj, now), 0).eval(st.salt)
		v.Requirements = st.requirements(scope)
		if i := slices.IndexFunc(candidates, func(c Candidate) bool { return c.transition.stage == st }); i >= 0 {
			v.Matches, v.Candidate = true, candidates[i]
			v.Weight = WeightEvaluation(st.weight.Evaluate(scope))
			v.Weight.Path = position.Join("spec", v.Weight.Path)
			v.Delay = st.explainDelay(scope)
			v.DryRun = v.Candidate.dryRun(obj)
		}
		e.Stages = append(e.Stages, v)
	}
	return e
}

func (st *compiled) requirements(scope *expression.Scope) []selector.Requirement {
	var requirements []selector.Requirement
	for _, r := range st.selector.Explain(scope) {
		r.Path = position.Join("spec.selector", r.Path)
		requirements = append(requirements, selector.Requirement(r))
	}
	return requirements
}

func (st *compiled) explainDelay(scope *expression.Scope) delay.Explanation {
	e := st.explainedDelay(scope)
	for i := range e.Parts {
		if p := &e.Parts[i]; p.Path != "" {
			p.Path = position.Join("spec.delay", p.Path)
		}
	}
	return st.extension.Extend(e)
}

// moment is how much later an outcome is tried again: a template that prints the time prints
// another one.
const moment = time.Millisecond

// dryRun plays the candidate on obj when it is due and, if it is a candidate again at once, on the
// result.
func (c Candidate) dryRun(obj *unstructured.Unstructured) DryRun {
	first, last := c.Transition(0).Due, c.Transition(math.MaxUint64).Due
	o := c.try(obj, first)
	if o.Idle && last.After(first) {
		o.Idle = c.try(obj, last).Idle
	}
	if o.After == nil || o.Idle {
		return o
	}
	for _, again := range c.transition.set.Candidates(o.After, first) {
		if again.transition.stage == c.transition.stage && again.Probability > 0 && again.Delay.Max <= 0 {
			second := again.try(o.After, first.Add(moment))
			o.Livelock = second.After != nil && !second.Idle
		}
	}
	return o
}

// try carries the effects out on a copy.
func (c Candidate) try(obj *unstructured.Unstructured, now time.Time) DryRun {
	t, o := c.transition, DryRun{Due: now}
	slots, err := t.plan(render.Input{Object: obj.Object, Now: now, Seed: t.draws.effects(t.Stage), Env: presentAddresses(t.set.env, obj)})
	if err != nil {
		o.Err = err
		return o
	}
	o.Effects, o.After, o.Idle = filled(slots), obj, true
	for _, e := range o.Effects {
		after, err := effectOn(e, o.After, now)
		if err != nil {
			return DryRun{Due: now, Effects: o.Effects, Err: err}
		}
		_, isPatch := e.(Patch)
		o.sends = o.sends || !isPatch || after != o.After
		o.Idle = o.Idle && after == o.After
		if o.After = after; after == nil {
			break
		}
	}
	return o
}

// presentAddresses is the Env for a dry run: it allocates nothing. It is nil, and the addresses are
// placeholders, unless the object has some.
func presentAddresses(env render.Env, obj *unstructured.Unstructured) render.Env {
	status, _ := object.Map(obj.Object, "status")
	var ips []string
	list, _ := object.Slice(status, "podIPs")
	for _, item := range list {
		m, _ := item.(map[string]any)
		ips = append(ips, text(m, "ip"))
	}
	if ip := text(status, "podIP"); len(ips) == 0 && ip != "" {
		ips = []string{ip}
	}
	if len(ips) == 0 {
		return nil
	}
	return fixedAddresses{env, ips}
}

// fixedAddresses gives every pod the same addresses.
type fixedAddresses struct {
	render.Env
	ips []string
}

func (e fixedAddresses) PodIPs(render.Pod) ([]string, error) { return e.ips, nil }
