package stage

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/delay"
	"github.com/stagecraft-go/stagecraft/internal/expression"
	"github.com/stagecraft-go/stagecraft/internal/parts"
	"github.com/stagecraft-go/stagecraft/internal/position"
	"github.com/stagecraft-go/stagecraft/render"
	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

// A Set is compiled Stages, for any number of kinds. It is immutable and safe for concurrent use.
type Set struct {
	kinds    map[string]map[string]*kind // by apiVersion, then kind: looking up an object takes no parsing
	refs     []schema.GroupVersionKind
	env      render.Env
	warnings Errors
	scopes   sync.Pool // of *expression.Scope
}

// A kind is the Stages for one kind of object.
type kind struct {
	schema.GroupVersionKind
	stages    []*compiled
	selectors *parts.SelectorGroup // of the stages, in their order
}

// compiled is one Stage.
type compiled struct {
	name      string
	doc       *position.Document // nil if the Stage did not come from text
	spec      *v1alpha1.StageSpec
	kind      schema.GroupVersionKind
	selector  *parts.Selector
	weight    parts.Weight
	delay     *parts.Delay
	extension *delay.Extension // nil: none
	given     []string         // the names and values of the annotations that are extensions
	steps     []step
	immediate bool
	salt      uint64 // makes the random numbers of its expressions differ from other Stages'
}

// Candidate is a Stage that matches an object.
type Candidate struct {
	Stage string
	// Weight is the weight of the Stage, 0 or more. It counts only if Weighted is true; an
	// expression might give no weight.
	Weight   int64
	Weighted bool
	// Probability is the chance that this Stage is chosen. The sum over all candidates is 1.
	Probability float64
	// Delay is the time from entering the Stage to its effects.
	Delay delay.Range

	transition Transition // without random number and due time
}

// Transition returns the decision to play this candidate, whatever its probability. The random
// number chooses the delay: 0 is the least delay.
func (c Candidate) Transition(random uint64) Transition {
	t := c.transition
	t.Random, t.Due = random, dueTime(t.Entered, c.Delay.Pick(random))
	return t
}

func newSet(env render.Env) *Set {
	return &Set{kinds: map[string]map[string]*kind{}, env: env}
}

func (s *Set) add(st *compiled) {
	apiVersion, name := st.kind.ToAPIVersionAndKind()
	if s.kinds[apiVersion] == nil {
		s.kinds[apiVersion] = map[string]*kind{}
	}
	k := s.kinds[apiVersion][name]
	if k == nil {
		k = &kind{GroupVersionKind: st.kind}
		s.kinds[apiVersion][name] = k
		s.refs = append(s.refs, st.kind)
	}
	k.stages = append(k.stages, st)
}

// group makes the selectors of each kind share their work. It is called after all Stages are added.
func (s *Set) group() {
	for _, kinds := range s.kinds {
		for _, k := range kinds {
			var all []*parts.Selector
			for _, st := range k.stages {
				all = append(all, st.selector)
			}
			k.selectors = parts.NewSelectorGroup(all...)
		}
	}
}

// Kinds returns the kinds of object that the Set has Stages for, in the order of the sources.
func (s *Set) Kinds() []schema.GroupVersionKind { return slices.Clone(s.refs) }

// WithEnv returns the same Stages with another Env, so that one Set can be compiled and played on
// several clusters at the same time. Nil means a new [render.Network], as in [Options].
func (s *Set) WithEnv(env render.Env) *Set {
	if env == nil {
		env = render.NewNetwork(render.NetworkOptions{})
	}
	return &Set{kinds: s.kinds, refs: s.refs, env: env, warnings: s.warnings}
}

// Stages returns the names of the Stages for a kind, in the order of the sources.
func (s *Set) Stages(kind schema.GroupVersionKind) []string {
	var names []string
	for _, st := range s.stagesOf(kind) {
		names = append(names, st.name)
	}
	return names
}

// Warnings returns what Compile found but did not refuse.
func (s *Set) Warnings() Errors { return slices.Clone(s.warnings) }

// ObserveEnv passes an object to the Env of the Set, so that the Env knows the addresses of nodes
// and pods. It does nothing if the Env does not observe objects. A player calls ObserveEnv for
// every object that it sees. A program that drives an [Engine] calls ObserveEnv before Observe.
func (s *Set) ObserveEnv(obj *unstructured.Unstructured) {
	if env, ok := s.env.(observer); ok && obj != nil {
		env.Observe(obj.Object)
	}
}

// ForgetEnv tells the Env of the Set that an object is gone.
func (s *Set) ForgetEnv(obj *unstructured.Unstructured) {
	if env, ok := s.env.(observer); ok && obj != nil {
		env.Forget(obj.Object)
	}
}

var (
	nodeKind = schema.GroupVersionKind{Version: "v1", Kind: "Node"}
	podKind  = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
)

// NeedsNodes reports whether the Env of the Set must observe the Nodes before the Stages of Pods
// and Nodes are played. This is so if the Env observes objects and the Set has such Stages.
func (s *Set) NeedsNodes() bool {
	_, observes := s.env.(observer)
	return observes && len(s.stagesOf(podKind))+len(s.stagesOf(nodeKind)) > 0
}

// observer is an optional interface of a [render.Env].
type observer interface {
	Observe(obj map[string]any)
	Forget(obj map[string]any)
}

// Candidates returns every Stage that matches obj at the time now, in the order of the sources,
// with its weight, probability and delays. It draws no random number. It neither changes nor keeps
// obj.
func (s *Set) Candidates(obj *unstructured.Unstructured, now time.Time) []Candidate {
	k := s.kindOf(obj)
	if k == nil {
		return nil
	}
	key, uid := k.identify(obj)
	t := Transition{Key: key, UID: uid, Entered: now, set: s}
	t.draws = entry(k.identity(0, obj, now), 0)
	scope := s.scope(obj, now)
	defer s.release(scope)
	w := k.match(scope, t.draws, nil)
	w.weigh(scope)
	candidates := make([]Candidate, len(w.choices))
	for i, c := range w.choices {
		t.Stage, t.stage = c.stage.name, c.stage
		candidates[i] = Candidate{
			Stage:       c.stage.name,
			Weight:      c.weight,
			Weighted:    c.given,
			Probability: w.probability(i),
			Delay:       c.stage.delays(scope, t.draws),
			transition:  t,
		}
	}
	return candidates
}

// Next decides what happens to obj, observed at the time now for the first time: it chooses a Stage
// and a delay by the n-th draw of the object. It returns false if no Stage matches. Next is pure;
// an [Engine] remembers earlier choices and the time of the first observation, and counts n. Next
// neither changes nor keeps obj.
func (s *Set) Next(obj *unstructured.Unstructured, now time.Time, seed, n uint64) (Transition, bool) {
	k := s.kindOf(obj)
	if k == nil {
		return Transition{}, false
	}
	key, uid := k.identify(obj)
	d := entry(k.identity(seed, obj, now), n)
	scope := s.scope(obj, now)
	defer s.release(scope)
	var few [4]choice
	w := k.match(scope, d, few[:])
	if len(w.choices) == 0 {
		return Transition{}, false
	}
	st := w.draw(scope)
	t := Transition{Key: key, UID: uid, Stage: st.name, N: n, Entered: now, Random: d.delay(st.name), set: s, stage: st, draws: d}
	t.Due = dueTime(now, st.delays(scope, d).Pick(t.Random))
	return t, true
}

// dueTime is the time at which a Stage entered at a time is played: at once if the delay is not
// positive.
func dueTime(entered time.Time, d time.Duration) time.Time { return entered.Add(max(d, 0)) }

// scope prepares an object for evaluation.
func (s *Set) scope(obj *unstructured.Unstructured, now time.Time) *expression.Scope {
	scope, ok := s.scopes.Get().(*expression.Scope)
	if !ok {
		scope = new(expression.Scope)
	}
	scope.Reset(obj.Object, now)
	return scope
}

// release gives a scope back, without the object.
func (s *Set) release(scope *expression.Scope) {
	scope.Reset(nil, time.Time{})
	s.scopes.Put(scope)
}

// kindOf returns the kind of an object; nil for a kind without Stages, or for a nil object.
func (s *Set) kindOf(obj *unstructured.Unstructured) *kind {
	if obj == nil {
		return nil
	}
	return s.kinds[text(obj.Object, "apiVersion")][text(obj.Object, "kind")]
}

// identify returns the key, as [KeyOf] does, and the UID of an object of the kind.
func (k *kind) identify(obj *unstructured.Unstructured) (Key, types.UID) {
	metadata, _ := obj.Object["metadata"].(map[string]any)
	key := Key{Group: k.Group, Version: k.Version, Kind: k.Kind, Namespace: text(metadata, "namespace"), Name: text(metadata, "name")}
	return key, types.UID(text(metadata, "uid"))
}

// match returns the Stages whose selectors the object meets, as a weighted choice that reuses buf.
func (k *kind) match(scope *expression.Scope, d draws, buf []choice) weightedChoice {
	w := weightedChoice{choices: buf[:0], draws: d}
	var known parts.Answers
	for i, st := range k.stages {
		scope.Seed = d.eval(st.salt)
		if k.selectors.Match(i, scope, &known) {
			w.choices = append(w.choices, choice{stage: st})
		}
	}
	return w
}

func (st *compiled) matches(scope *expression.Scope, d draws) bool {
	scope.Seed = d.eval(st.salt)
	return st.selector.Match(scope)
}
