package lint

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/internal/parts"
	"github.com/stagecraft-go/stagecraft/internal/position"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

// A checkedStage is one Stage with the data that the rules need.
type checkedStage struct {
	source stage.Source
	index  int // in the source
	stage  *v1alpha1.Stage
	name   string
	spec   *v1alpha1.StageSpec
	kind   schema.GroupVersionKind

	selector     []parts.WrittenRequirement // as it is written
	weight       parts.WeightDescription
	expressions  []expression
	requirements []requirement
	templates    []template
	templateSets map[string]*stage.Set // by the path of the template; see templateSet

	bytesRendered int
	effects       map[rendering]stage.Effect

	compiles bool
	set      *stage.Set // of this Stage alone
	order    int        // among all Stages
	// all Stages for the same kind
	group   *kindGroup
	matches []*probeResult // the probes that it matches
	first   *stage.StageExplanation
}

// An expression is jq or CEL somewhere in a Stage.
type expression struct {
	path, text string
	cel        bool
	selects    bool // it is part of the selector
}

// A template is one template of a Stage, with a step that renders this template alone.
type template struct {
	path, text string
	step       v1alpha1.StageStep
}

// newCheckedStages reads the Stages of the sources and groups them by kind.
func newCheckedStages(sources []stage.Source) []*checkedStage {
	var all []*checkedStage
	for _, source := range sources {
		stages := source.Stages()
		for i := range stages {
			all = append(all, newCheckedStage(source, i, &stages[i]))
		}
	}
	kinds := map[schema.GroupVersionKind]*kindGroup{}
	var text strings.Builder
	for i, s := range all {
		s.order = i
		if kinds[s.kind] == nil {
			kinds[s.kind] = &kindGroup{kind: s.kind, failures: map[expression]string{}}
		}
		s.group = kinds[s.kind]
		s.group.stages = append(s.group.stages, s)
		for _, t := range s.templates {
			text.WriteString(t.text + "\n")
		}
		text.WriteString(s.stage.Annotations[stage.PatchesExtension] + "\n")
	}
	for _, p := range kinds {
		p.templateText = text.String()
	}
	return all
}

func newCheckedStage(source stage.Source, i int, st *v1alpha1.Stage) *checkedStage {
	gv, _ := schema.ParseGroupVersion(cmp.Or(st.Spec.ResourceRef.APIGroup, "v1"))
	s := &checkedStage{source: source, index: i, stage: st, name: st.Name, spec: &st.Spec, kind: gv.WithKind(st.Spec.ResourceRef.Kind)}
	s.selector, s.weight = parts.ReadSelector(st.Spec.Selector), parts.DescribeWeight(&st.Spec)
	s.requirements = requirementsOf(s.selector)
	s.expressions = expressionsOf(&st.Spec, s.selector, s.weight)
	s.templates, s.templateSets, s.effects = templatesOf(&st.Spec), map[string]*stage.Set{}, map[rendering]stage.Effect{}
	set, err := stage.Compile(compileOptions, stage.FromStages(*st))
	s.set, s.compiles = set, err == nil && len(set.Kinds()) > 0 && !misread(source, st.Name)
	return s
}

// misread reports whether a part of the selector or of the delay was not understood, such as an
// unknown field. The Stage then asks for more, or waits for longer, than lint can see.
func misread(source stage.Source, name string) bool {
	return slices.ContainsFunc(source.Errors(), func(e *stage.Error) bool {
		return e.Stage == name && !e.Warning && (strings.HasPrefix(e.Path, "spec.selector.") || strings.HasPrefix(e.Path, "spec.delay"))
	})
}

// expressionsOf lists the expressions of a Stage, whether they compile or not.
func expressionsOf(s *v1alpha1.StageSpec, selector []parts.WrittenRequirement, weight parts.WeightDescription) []expression {
	var list []expression
	for _, w := range selector {
		if w.Source.Text != "" {
			list = append(list, expression{path: position.Join("spec.selector", w.Source.Path), text: w.Source.Text, cel: w.Source.CEL, selects: true})
		}
	}
	if w := weight.Source; w.Path != "" {
		list = append(list, expression{path: position.Join("spec", w.Path), text: w.Text, cel: w.CEL})
	}
	for _, d := range parts.DescribeDelay(s.Delay).Sources {
		list = append(list, expression{path: position.Join("spec.delay", d.Path), text: d.Text, cel: d.CEL})
	}
	return list
}

// templatesOf lists the templates that are used: the templates of steps, or of next without steps.
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

// mentions reports whether a word is anywhere in the templates, so that a Stage may write it.
func (p *kindGroup) mentions(word string) bool { return strings.Contains(p.templateText, word) }
