package lint

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

// now is the time at which Stages are evaluated on probes.
var now = time.Date(2006, 1, 2, 15, 4, 5, 0, time.UTC)

// compileOptions limit evaluation, because probes are small. A rule concludes nothing from an
// evaluation that exceeds the limits.
var compileOptions = stage.Options{Lenient: true, Extensions: true, JQSteps: 20_000, TemplateSteps: 100_000}

// A kindGroup is the Stages for one kind, with their effects on probes.
type kindGroup struct {
	kind         schema.GroupVersionKind
	stages       []*checkedStage
	templateText string // all templates of all Stages of all kinds

	probed bool
	index  *stageIndex // of the Stages that compile
	budget int         // the remaining number of pairs of an object and a Stage that are explained
	// by the JSON of the object
	results map[string]*probeResult
	// the errors of expressions, without their paths, that fail on a probe; see failsAlways
	failures  map[expression]string
	evaluated int // the number of objects that were evaluated for them
}

// A probeResult has the effects of the Stages on one object.
type probeResult struct {
	obj *unstructured.Unstructured
	// the status was written by Stages, starting from a new object; it was not invented
	natural    bool
	matching   map[*checkedStage]stage.StageExplanation // only the Stages that match
	stages     []*checkedStage                          // those, in order
	unweighted []*checkedStage                          // the matching Stages without a weight, in order
	certain    *checkedStage                            // the Stage that is certainly played at once
}

// leastBudget is the number of pairs of an object and a Stage that are explained in each of the two
// rounds of probing. With many Stages the number is 2 for each Stage. Without a budget there could
// be n² pairs: if n Stages match the same objects, and each results in another object.
const leastBudget = 10_000

// probe evaluates the Stages once, on objects that match the selectors and on these objects after
// the effects.
func (p *kindGroup) probe() {
	if p.probed {
		return
	}
	p.probed, p.results = true, map[string]*probeResult{}
	compiled := slices.DeleteFunc(slices.Clone(p.stages), func(s *checkedStage) bool { return !s.compiles })
	p.index = newStageIndex(compiled)
	for _, natural := range []bool{true, false} {
		p.budget = max(leastBudget, 2*len(compiled))
		p.probeAll(compiled, natural)
	}
	p.budget = max(leastBudget, 2*len(compiled))
}

// probeAll evaluates all Stages on their probes, and then on the results of their effects. The
// number of evaluations is limited, because Stages can repeat without end.
func (p *kindGroup) probeAll(compiled []*checkedStage, natural bool) {
	probes := 3 * len(newObjects(p.kind)) * len(compiled)
	limit := len(p.results) + 2*probes + 50
	var queue []*unstructured.Unstructured
	for _, s := range compiled {
		for _, obj := range s.probeObjects(natural) {
			queue = append(queue, p.visit(obj, natural)...)
		}
	}
	for ; len(queue) > 0 && len(p.results) < limit; queue = queue[1:] {
		queue = append(queue, p.visit(queue[0], natural)...)
	}
}

// visit evaluates the Stages on an object, and returns the results of their effects. It returns
// nothing for an object that it has seen before.
func (p *kindGroup) visit(obj *unstructured.Unstructured, natural bool) (after []*unstructured.Unstructured) {
	l, known := p.resultFor(obj)
	if known {
		return nil
	}
	l.natural = natural
	for _, s := range l.stages {
		s.matches = append(s.matches, l)
		if v := l.matching[s]; v.DryRun.After != nil {
			after = append(after, v.DryRun.After)
		}
	}
	return after
}

// resultFor evaluates the Stages on an object, and reports whether that was done before. If the
// budget does not suffice, the result has no Stages and is not kept.
func (p *kindGroup) resultFor(obj *unstructured.Unstructured) (l *probeResult, known bool) {
	possible := p.index.possible(obj)
	if p.budget < possible.size() {
		return &probeResult{obj: obj}, false
	}
	raw, _ := json.Marshal(obj.Object) // it is made of JSON values
	l, known = p.results[string(raw)]
	if known {
		return l, true
	}
	p.budget -= possible.size()
	l = &probeResult{obj: obj, matching: map[*checkedStage]stage.StageExplanation{}}
	p.results[string(raw)] = l
	for _, s := range possible.sorted() {
		if v := s.set.Explain(obj, now).Stages[0]; v.Matches {
			l.matching[s] = v
			l.stages = append(l.stages, s)
			if !s.weight.Given() {
				l.unweighted = append(l.unweighted, s)
			}
		}
	}
	l.weigh()
	return l, false
}

// weigh corrects the probabilities as stage.Candidate describes them. Before, each Stage was
// evaluated alone.
func (l *probeResult) weigh() {
	given, sum := 0, int64(0)
	for _, v := range l.matching {
		if v.Candidate.Weighted {
			given, sum = given+1, sum+v.Candidate.Weight
		}
	}
	for s, v := range l.matching {
		switch {
		case given == 0:
			v.Candidate.Probability = 1 / float64(len(l.matching))
		case !v.Candidate.Weighted:
			v.Candidate.Probability = 0
		case sum == 0:
			v.Candidate.Probability = 1 / float64(given)
		default:
			v.Candidate.Probability = float64(v.Candidate.Weight) / float64(sum)
		}
		l.matching[s] = v
		if v.Candidate.Probability == 1 && v.Delay.Range.Max <= 0 {
			l.certain = s
		}
	}
}

// resultAfter is the result for the object as a Stage leaves it.
func (p *kindGroup) resultAfter(v stage.StageExplanation) *probeResult {
	l, _ := p.resultFor(v.DryRun.After)
	return l
}

// probeResults are the results for the objects that the Stage matches.
func (s *checkedStage) probeResults() []*probeResult {
	if s.compiles {
		s.group.probe()
	}
	return s.matches
}

// playable returns the explanations of the Stage for the objects on which it can be chosen.
func (s *checkedStage) playable() []stage.StageExplanation {
	var verdicts []stage.StageExplanation
	for _, l := range s.probeResults() {
		if v := l.matching[s]; v.Candidate.Probability > 0 {
			verdicts = append(verdicts, v)
		}
	}
	return verdicts
}

// probeObjects makes probes for the Stage: new objects, changed to meet its selector, one for each
// of the first three values that it allows. They may still not match; evaluating the Stage tells. A
// natural probe keeps its status.
func (s *checkedStage) probeObjects(natural bool) []*unstructured.Unstructured {
	wishes := slices.Clone(s.requirements)
	for _, e := range s.expressions {
		if e.selects && e.cel {
			wishes = append(wishes, celRequirements(e.text)...)
		}
	}
	if natural {
		wishes = slices.DeleteFunc(wishes, func(r requirement) bool { return len(r.path) > 0 && r.path[0].field == "status" })
	}
	variants := 1
	for _, w := range wishes {
		variants = max(variants, min(3, len(w.values)))
	}
	var objects []*unstructured.Unstructured
	for _, base := range newObjects(s.kind) {
		for n := range variants {
			obj := base.DeepCopy()
			for _, w := range wishes {
				w.satisfy(s.kind, obj.Object, n)
			}
			objects = append(objects, obj)
		}
	}
	return objects
}

// satisfy changes obj so that it meets the requirement, with the n-th of its values.
func (r requirement) satisfy(kind schema.GroupVersionKind, obj map[string]any, n int) {
	switch r.operator {
	case v1alpha1.SelectorOpIn:
		if len(r.values) > 0 {
			r.path.set(obj, r.values[min(n, len(r.values)-1)])
		}
	case v1alpha1.SelectorOpNotIn:
		r.avoidValues(kind, obj)
	case v1alpha1.SelectorOpExists:
		if _, ok := r.path.get(obj); !ok {
			r.path.set(obj, r.path.example())
		}
	case v1alpha1.SelectorOpDoesNotExist:
		r.path.remove(obj)
	}
}

// avoidValues replaces an excluded value by another one that the field can have, or removes the
// field.
func (r requirement) avoidValues(kind schema.GroupVersionKind, obj map[string]any) {
	got, ok := r.path.get(obj)
	text, isText := got.(string)
	if !ok || isText && !slices.Contains(r.values, text) {
		return
	}
	values, _ := valuesOf(kind, r.path)
	for _, v := range values {
		if !slices.Contains(r.values, v) {
			r.path.set(obj, v)
			return
		}
	}
	r.path.remove(obj)
}

// example is a value that a field at the end of the path may have.
func (p path) example() any {
	last := ""
	if len(p) > 0 {
		last = p[len(p)-1].field
	}
	switch {
	case strings.HasSuffix(last, "Timestamp") || strings.HasSuffix(last, "Time") || strings.HasSuffix(last, "At"):
		return now.Format(time.RFC3339)
	case last == "finalizers":
		return []any{"example.com/probe"}
	case last == "ownerReferences":
		return ownerReferences("apps/v1", "ReplicaSet")
	default:
		return "probe"
	}
}
