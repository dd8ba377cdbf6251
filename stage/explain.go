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

// An Explanation says which Stages of a [Set] apply to an object, and why. It is plain data, and
// must not be changed. [Explanation.String] prints it for people.
type Explanation struct {
	Key  Key
	Time time.Time // at which the object was looked at
	// Stages explains every Stage for the kind of the object, in the order of the sources. It is
	// empty if the Set has no Stage for the kind.
	Stages []StageExplanation
	// Kinds are the kinds that the Set has Stages for.
	Kinds []schema.GroupVersionKind

	leaves bool // whether this is the last state of a deleted object, which an Engine ignores
}

// A StageExplanation says whether and how one Stage applies to an object. Its paths name fields of
// the Stage.
type StageExplanation struct {
	Stage        string
	Requirements []selector.Requirement // all requirements of the selector, each with the values seen and the ignored error
	Matches      bool                   // whether all of them hold
	// Candidate is the Stage as [Set.Candidates] lists it. Candidate and all fields below it are
	// zero, unless the Stage matches.
	Candidate Candidate
	Weight    WeightEvaluation
	Delay     delay.Explanation
	// DryRun says what the effects would do to the object at the earliest due time.
	DryRun DryRun

	doc *position.Document
}

// A WeightEvaluation tells where the weight of a Stage comes from.
type WeightEvaluation struct {
	Path  string // the field that gave the weight: spec.weight, or the field of the expression
	Text  string // the source of the expression; "" without an expression
	Seen  any    // the result of the expression; nil without a result
	Value int64  // from 0 to 2^40; counts only if Given
	Given bool   // false if the expression gives an empty text, a text that is not an integer, or an error in CEL
	Err   error  // why the expression was not used: it failed, or its result is not an integer
}

// A DryRun says what the effects of a Stage would do to an object, if no other client changes the
// object before.
type DryRun struct {
	// Due is when the Stage is played, with the least of its delays. Templates read this time.
	Due time.Time
	// Effects are the same as from [Transition.Effects], except for the addresses of nodes and
	// pods: they are placeholders, unless the object has addresses.
	Effects []Effect
	// Err says why Effects is empty, or why an effect fails.
	Err error
	// After is the object after its own patches; nil if it is deleted, or after an error. It does
	// not have changes that an API server makes, such as a new resourceVersion.
	After *unstructured.Unstructured
	// Idle reports whether the effects do not change the object, both with the least and with the
	// greatest delay. Then the Stage is not played again until another client changes the object.
	Idle bool
	// Livelock reports whether the Stage matches again after its effects, without delay, and then
	// changes the object again.
	Livelock bool

	sends bool // whether at least one effect is not a patch that changes nothing
}

// Locate returns the place of a field of the Stage; zero if the Stage did not come from text.
func (v StageExplanation) Locate(path string) Position {
	return locate(v.doc, v.Stage, &position.Error{Path: path, Offset: -1}).Position
}

// Explain tells what can happen next to obj at the time now, and why. For every Stage of its kind
// it lists every requirement, the weight, the delay, and the effects at the due time. It evaluates
// the same as [Set.Candidates] and [Set.Next], so that it agrees with them; Rand() in CEL draws the
// same as for Candidates. Stages without a selector are left out; [Set.Warnings] names them.
// Explain neither changes nor keeps obj.
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

// moment is the time between the two tries of an outcome, so that a template which prints the time
// gives a different result.
const moment = time.Millisecond

// dryRun plays the candidate on obj when it is due. If the Stage is then a candidate again without
// delay, dryRun also plays it on the result.
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

// try applies the effects to a copy.
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

// presentAddresses returns the Env for a dry run, which allocates no address. The result is nil if
// the object has no addresses; then templates see placeholders.
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
