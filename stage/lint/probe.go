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

// now is the time at which probes are looked at.
var now = time.Date(2006, 1, 2, 15, 4, 5, 0, time.UTC)

// options compile Stages to be played on probes, which are small: what needs more fails, and then nothing is concluded from it.
var options = stage.Options{Lenient: true, Limits: stage.Limits{JQSteps: 20_000, TemplateSteps: 100_000}}

// peers are the Stages for one kind, with what they make of probes.
type peers struct {
	kind     schema.GroupVersionKind
	subjects []*subject
	text     string // of all templates of all Stages

	walked bool
	set    *stage.Set // of those that compile
	looks  map[string]*look
}

// A look is what the Stages make of one object. It is natural if the status is what Stages made of a fresh one, not made up.
type look struct {
	obj      *unstructured.Unstructured
	natural  bool
	verdicts map[*subject]stage.StageExplanation // those of Stages that match
}

// probe looks at objects that meet the selector of some Stage, and at what its effects make of them, once.
func (p *peers) probe() {
	if p.walked {
		return
	}
	p.walked, p.looks = true, map[string]*look{}
	var sound []v1alpha1.Stage
	for _, s := range p.compiled() {
		sound = append(sound, *s.stage)
	}
	p.set, _ = stage.Compile(options, stage.FromStages(sound...)) // each compiles by itself, so all do
	p.walk(true)
	p.walk(false)
}

// walk looks at the candidates of all Stages, and at what effects make of them. The number of looks is bounded, for Stages can go on for ever.
func (p *peers) walk(natural bool) {
	compiled := p.compiled()
	var queue []*unstructured.Unstructured
	for _, s := range compiled {
		queue = append(queue, s.candidates(natural)...)
	}
	for limit := len(p.looks) + 2*len(queue) + 50; len(queue) > 0 && len(p.looks) < limit; queue = queue[1:] {
		l, known := p.look(queue[0])
		if known {
			continue
		}
		l.natural = natural
		for _, s := range compiled {
			v, matches := l.verdicts[s]
			if !matches {
				continue
			}
			s.looks = append(s.looks, l)
			if v.DryRun.After != nil {
				queue = append(queue, v.DryRun.After)
			}
		}
	}
}

func (p *peers) compiled() []*subject {
	return slices.DeleteFunc(slices.Clone(p.subjects), func(s *subject) bool { return !s.compiles })
}

// look looks at an object, and tells whether it did so before.
func (p *peers) look(obj *unstructured.Unstructured) (l *look, known bool) {
	raw, _ := json.Marshal(obj.Object) // it is made of JSON values
	l, known = p.looks[string(raw)]
	if known {
		return l, true
	}
	l = &look{obj: obj, verdicts: map[*subject]stage.StageExplanation{}}
	p.looks[string(raw)] = l
	verdicts := p.set.Explain(obj, now).Stages
	for i, s := range p.compiled() {
		if verdicts[i].Matches {
			l.verdicts[s] = verdicts[i]
		}
	}
	return l, false
}

// after is the look at what a Stage makes of an object.
func (p *peers) after(v stage.StageExplanation) *look {
	l, _ := p.look(v.DryRun.After)
	return l
}

// probes are the looks at objects that the Stage matches.
func (s *subject) probes() []*look {
	if s.compiles {
		s.peers.probe()
	}
	return s.looks
}

// matched are the verdicts on objects that the Stage can be played on.
func (s *subject) matched() []stage.StageExplanation {
	var verdicts []stage.StageExplanation
	for _, l := range s.probes() {
		if v := l.verdicts[s]; v.Candidate.Probability > 0 {
			verdicts = append(verdicts, v)
		}
	}
	return verdicts
}

// candidates makes probes for the Stage: fresh objects, changed to meet its selector, one for each of the first values that it allows.
// Whether they do meet it the look will tell. Of natural ones the status stays as it is.
func (s *subject) candidates(natural bool) []*unstructured.Unstructured {
	wishes := slices.Clone(s.requirements)
	for _, e := range s.expressions {
		if e.selects && e.cel {
			wishes = append(wishes, wishesOf(e.text)...)
		}
	}
	if natural {
		wishes = slices.DeleteFunc(wishes, func(r requirement) bool { return len(r.path) > 0 && r.path[0].field == "status" })
	}
	var objects []*unstructured.Unstructured
	for _, base := range fresh(s.kind) {
		for n := range 3 {
			obj := base.DeepCopy()
			for _, w := range wishes {
				w.fulfil(s.kind, obj.Object, n)
			}
			objects = append(objects, obj)
		}
	}
	return objects
}

// fulfil changes obj so that it meets the requirement, by the n-th of its values.
func (r requirement) fulfil(kind schema.GroupVersionKind, obj map[string]any, n int) {
	switch r.operator {
	case v1alpha1.SelectorOpIn:
		if len(r.values) > 0 {
			r.path.set(obj, r.values[min(n, len(r.values)-1)])
		}
	case v1alpha1.SelectorOpNotIn:
		r.avoid(kind, obj)
	case v1alpha1.SelectorOpExists:
		if _, ok := r.path.get(obj); !ok {
			r.path.set(obj, r.path.example())
		}
	case v1alpha1.SelectorOpDoesNotExist:
		r.path.remove(obj)
	}
}

// avoid replaces a value that is excluded by another one that the field can have.
func (r requirement) avoid(kind schema.GroupVersionKind, obj map[string]any) {
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
		return owners("apps/v1", "ReplicaSet")
	default:
		return "probe"
	}
}
