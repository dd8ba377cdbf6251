package lint

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/internal/position"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

// A subject is one Stage and what can be read of it.
type subject struct {
	source stage.Source
	index  int // in the source
	stage  *v1alpha1.Stage
	name   string
	spec   *v1alpha1.StageSpec
	kind   schema.GroupVersionKind

	expressions  []expression
	requirements []requirement
	templates    []template

	compiles bool
	peers    *peers
	looks    []*look // at what it matches
}

// An expression is jq or CEL somewhere in a Stage.
type expression struct {
	path, text string
	cel        bool
	selects    bool // it stands in the selector
}

// A template is one of a Stage, with the step that renders it alone.
type template struct {
	path, text string
	step       v1alpha1.StageStep
}

// subjects reads the Stages of the sources.
func subjects(sources []stage.Source) []*subject {
	var all []*subject
	for _, source := range sources {
		stages := source.Stages()
		for i := range stages {
			all = append(all, newSubject(source, i, &stages[i]))
		}
	}
	kinds := map[schema.GroupVersionKind]*peers{}
	text := ""
	for _, s := range all {
		if kinds[s.kind] == nil {
			kinds[s.kind] = &peers{kind: s.kind}
		}
		s.peers = kinds[s.kind]
		s.peers.subjects = append(s.peers.subjects, s)
		for _, t := range s.templates {
			text += t.text + "\n"
		}
	}
	for _, p := range kinds {
		p.text = text
	}
	return all
}

func newSubject(source stage.Source, i int, st *v1alpha1.Stage) *subject {
	gv, _ := schema.ParseGroupVersion(cmp.Or(st.Spec.ResourceRef.APIGroup, "v1"))
	s := &subject{source: source, index: i, stage: st, name: st.Name, spec: &st.Spec, kind: gv.WithKind(st.Spec.ResourceRef.Kind)}
	s.requirements = requirementsOf(st.Spec.Selector)
	s.expressions = expressionsOf(&st.Spec)
	s.templates = templatesOf(&st.Spec)
	_, err := stage.Compile(options, stage.FromStages(*st))
	s.compiles = err == nil && st.Spec.Selector != nil && !misreadSelector(source, st.Name)
	return s
}

// misreadSelector reports whether something in the selector of a Stage was not understood, such as a field: it asks for more than what was read.
func misreadSelector(source stage.Source, name string) bool {
	return slices.ContainsFunc(source.Errors(), func(e *stage.Error) bool {
		return e.Stage == name && !e.Warning && strings.HasPrefix(e.Path, "spec.selector.")
	})
}

func expressionsOf(s *v1alpha1.StageSpec) []expression {
	var list []expression
	if s.Selector != nil {
		for i, e := range s.Selector.MatchExpressions {
			at := position.Index("spec.selector.matchExpressions", i)
			switch {
			case e.JQ != nil:
				list = append(list, expression{path: at + ".jq.key", text: e.JQ.Key, selects: true})
			case e.CEL != nil:
				list = append(list, expression{path: at + ".cel.expression", text: e.CEL.Expression, cel: true, selects: true})
			case e.Key != "":
				list = append(list, expression{path: at + ".key", text: e.Key, selects: true})
			}
		}
	}
	list = append(list, expressionFrom("spec.weightFrom", s.WeightFrom)...)
	if s.Delay != nil {
		list = append(list, expressionFrom("spec.delay.durationFrom", s.Delay.DurationFrom)...)
		list = append(list, expressionFrom("spec.delay.jitterDurationFrom", s.Delay.JitterDurationFrom)...)
	}
	return list
}

func expressionFrom(path string, f *v1alpha1.ExpressionFrom) []expression {
	switch {
	case f == nil:
		return nil
	case f.CEL != nil:
		return []expression{{path: path + ".cel.expression", text: f.CEL.Expression, cel: true}}
	case f.JQ != nil:
		return []expression{{path: path + ".jq.expression", text: f.JQ.Expression}}
	default:
		return []expression{{path: path + ".expressionFrom", text: f.ExpressionFrom}}
	}
}

// templatesOf lists the templates that count: those of steps, or of next where there are no steps.
func templatesOf(s *v1alpha1.StageSpec) []template {
	var list []template
	add := func(path string, step v1alpha1.StageStep) {
		if step.Patch != nil {
			list = append(list, template{path + ".template", step.Patch.Template, v1alpha1.StageStep{Patch: step.Patch}})
		}
		if step.Apply != nil {
			list = append(list, template{path + ".template", step.Apply.Template, v1alpha1.StageStep{Apply: step.Apply}})
		}
	}
	for i, step := range s.Steps {
		add(position.Index("spec.steps", i)+".patch", v1alpha1.StageStep{Patch: step.Patch})
		add(position.Index("spec.steps", i)+".apply", v1alpha1.StageStep{Apply: step.Apply})
	}
	if len(s.Steps) > 0 || s.Next == nil || s.Next.Delete {
		return list
	}
	for i := range s.Next.Patches {
		add(position.Index("spec.next.patches", i), v1alpha1.StageStep{Patch: &s.Next.Patches[i]})
	}
	if len(s.Next.Patches) == 0 && s.Next.StatusTemplate != "" {
		list = append(list, statusTemplate(s.Next))
	}
	return list
}

func statusTemplate(n *v1alpha1.StageNext) template {
	patch := &v1alpha1.StagePatch{Root: "status", Subresource: "status", Template: n.StatusTemplate}
	if n.StatusSubresource != nil {
		patch.Subresource = *n.StatusSubresource
	}
	return template{"spec.next.statusTemplate", n.StatusTemplate, v1alpha1.StageStep{Patch: patch}}
}

// writes reports whether a Stage of the sources may write a word: whether it stands in any of their templates.
func (p *peers) writes(word string) bool { return strings.Contains(p.text, word) }
