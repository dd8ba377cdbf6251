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
var compileOptions = stage.Options{Lenient: true, Extensions: true, Limits: stage.Limits{JQSteps: 20_000, TemplateSteps: 100_000}}

// A kindGroup is the Stages for one kind, with what they do to probes.
type kindGroup struct {
	kind         schema.GroupVersionKind
	stages       []*checkedStage
	templateText string // all templates of all Stages of all kinds

	probed bool
	set    *stage.Set // the Stages that compile
	// by the JSON of the object
	results map[string]*probeResult
}

// A probeResult is what the Stages do to one object.
type probeResult struct {
	obj *unstructured.Unstructured
	// the status was written by Stages, starting from a new object; it was not invented
	natural  bool
	matching map[*checkedStage]stage.StageExplanation // only the Stages that match
}

// probe evaluates the Stages, once, on objects that match the selectors and on what the effects
// make of those objects.
func (p *kindGroup) probe() {
	if p.probed {
		return
	}
	p.probed, p.results = true, map[string]*probeResult{}
	var sound []v1alpha1.Stage
	for _, s := range p.compiled() {
		sound = append(sound, *s.stage)
	}
	p.set, _ = stage.Compile(compileOptions, stage.FromStages(sound...)) // each compiles by itself, so all do
	p.probeAll(true)
	p.probeAll(false)
}

// probeAll evaluates all Stages on their probes, and then on what effects make of them. The number
// of evaluations is limited, because Stages can repeat for ever.
func (p *kindGroup) probeAll(natural bool) {
	compiled := p.compiled()
	var queue []*unstructured.Unstructured
	for _, s := range compiled {
		queue = append(queue, s.probeObjects(natural)...)
	}
	for limit := len(p.results) + 2*len(queue) + 50; len(queue) > 0 && len(p.results) < limit; queue = queue[1:] {
		l, known := p.resultFor(queue[0])
		if known {
			continue
		}
		l.natural = natural
		for _, s := range compiled {
			v, matches := l.matching[s]
			if !matches {
				continue
			}
			s.matches = append(s.matches, l)
			if v.DryRun.After != nil {
				queue = append(queue, v.DryRun.After)
			}
		}
	}
}

func (p *kindGroup) compiled() []*checkedStage {
	return slices.DeleteFunc(slices.Clone(p.stages), func(s *checkedStage) bool { return !s.compiles })
}

// resultFor evaluates the Stages on an object, and reports whether that was done before.
func (p *kindGroup) resultFor(obj *unstructured.Unstructured) (l *probeResult, known bool) {
	raw, _ := json.Marshal(obj.Object) // it is made of JSON values
	l, known = p.results[string(raw)]
	if known {
		return l, true
	}
	l = &probeResult{obj: obj, matching: map[*checkedStage]stage.StageExplanation{}}
	p.results[string(raw)] = l
	verdicts := p.set.Explain(obj, now).Stages
	for i, s := range p.compiled() {
		if verdicts[i].Matches {
			l.matching[s] = verdicts[i]
		}
	}
	return l, false
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
	var objects []*unstructured.Unstructured
	for _, base := range newObjects(s.kind) {
		for n := range 3 {
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
