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

// peers are the Stages for one kind, with what they make of probes.
type peers struct {
	kind     schema.GroupVersionKind
	subjects []*subject
	text     string // of all templates of all Stages

	looked bool
	set    *stage.Set // of those that compile
	looks  []look
}

// A look is what the Stages make of one probe.
type look struct {
	probe
	verdicts map[*subject]stage.Verdict
}

// A probe is an object. It is natural if its status is what Stages made of a fresh one, not made up.
type probe struct {
	obj     *unstructured.Unstructured
	natural bool
}

// probes returns the looks at objects that meet the selector of some Stage, and at what its effects make of them.
func (p *peers) probes() []look {
	if p.looked {
		return p.looks
	}
	p.looked = true
	var sound []v1alpha1.Stage
	for _, s := range p.compiled() {
		sound = append(sound, *s.stage)
	}
	p.set, _ = stage.Compile(stage.Options{Lenient: true}, stage.Objects(sound...)) // each compiles by itself, so all do
	p.walk(true)
	p.walk(false)
	return p.looks
}

// walk looks at the candidates of all Stages, and at what effects make of them. The number of looks is bounded, for Stages can go on for ever.
func (p *peers) walk(natural bool) {
	var queue []*unstructured.Unstructured
	for _, s := range p.compiled() {
		queue = append(queue, s.candidates(natural)...)
	}
	seen := map[string]bool{}
	for limit := 2*len(queue) + 50; len(queue) > 0 && len(seen) < limit; queue = queue[1:] {
		id := identity(queue[0])
		if seen[id] {
			continue
		}
		seen[id] = true
		l := p.look(probe{queue[0], natural})
		p.looks = append(p.looks, l)
		for _, s := range p.compiled() {
			if after := l.verdicts[s].Outcome.After; after != nil {
				queue = append(queue, after)
			}
		}
	}
}

func (p *peers) compiled() []*subject {
	return slices.DeleteFunc(slices.Clone(p.subjects), func(s *subject) bool { return !s.compiles })
}

func (p *peers) look(at probe) look {
	l := look{probe: at, verdicts: map[*subject]stage.Verdict{}}
	verdicts := p.set.Explain(at.obj, now).Verdicts
	for i, s := range p.compiled() {
		l.verdicts[s] = verdicts[i]
	}
	return l
}

func identity(obj *unstructured.Unstructured) string {
	raw, _ := json.Marshal(obj.Object) // it is made of JSON values
	return string(raw)
}

// matched are the looks at probes that the Stage can be played on.
func (s *subject) matched() []stage.Verdict {
	var verdicts []stage.Verdict
	if !s.compiles {
		return nil
	}
	for _, l := range s.peers.probes() {
		if v := l.verdicts[s]; v.Matches && v.Candidate.Probability > 0 {
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
