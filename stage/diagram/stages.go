package diagram

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/stagecraft-go/stagecraft/delay"
	"github.com/stagecraft-go/stagecraft/internal/parts"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/explore"
	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

// FromStages makes a diagram of Stages as they are written: a box for each Stage, and a dashed
// arrow where a Stage writes a literal value that another one requires.
func FromStages(stages []v1alpha1.Stage) *Diagram {
	d := &Diagram{}
	for _, st := range stages {
		d.Boxes = append(d.Boxes, staticBox(st))
	}
	for i, from := range stages {
		for j, to := range stages {
			if i != j && mayLeadTo(from, to) {
				d.Arrows = append(d.Arrows, Arrow{From: i, To: j, Style: Dashed})
			}
		}
	}
	return d
}

func staticBox(st v1alpha1.Stage) Box {
	b := Box{Title: st.Spec.ResourceRef.Kind + ": " + st.Name, Lines: conditions(&st.Spec)}
	when := delayText(&st.Spec) + extensionText(st.Annotations[delay.ExtensionAnnotation])
	if w := weightText(&st.Spec); w != "" {
		when += " · " + w
	}
	b.Lines = append(b.Lines, when)
	for _, e := range effectLines(&st.Spec) {
		b.Lines = append(b.Lines, "→ "+e)
	}
	if st.Annotations[stage.PatchesExtension] != "" {
		b.Lines = append(b.Lines, "→ "+stage.PatchesExtension)
	}
	return b
}

// extensionText describes the delay with an extension. If the extension has faults, it only says
// that the delay comes from the extension.
func extensionText(text string) string {
	if text == "" {
		return ""
	}
	x, err := delay.ParseExtension(text)
	if err != nil {
		return ", " + delay.ExtensionAnnotation
	}
	return ", " + x.String()
}

// delayText describes a delay, and where the object can override it.
func delayText(s *v1alpha1.StageSpec) string {
	d := parts.DescribeDelay(s.Delay)
	text := explore.FormatDelay(delay.Range{Min: d.Min, Max: d.Max})
	if d.Max > 0 {
		text = "after " + text
	}
	for _, o := range d.Others {
		text += " " + o.Word + " " + sourceText(o.Source)
	}
	return text
}

func weightText(s *v1alpha1.StageSpec) string {
	switch w := parts.DescribeWeight(s); {
	case w.Constant != 0:
		return fmt.Sprintf("weight %d", w.Constant)
	case w.Given():
		return "weight " + sourceText(w.Source)
	}
	return ""
}

// steps returns the steps of either form of the API.
func steps(s *v1alpha1.StageSpec) []v1alpha1.StageStep {
	if len(s.Steps) > 0 || s.Next == nil {
		return s.Steps
	}
	steps := []v1alpha1.StageStep{{Event: s.Next.Event, Finalizers: s.Next.Finalizers, Delete: s.Next.Delete}}
	for i := range s.Next.Patches {
		steps = append(steps, v1alpha1.StageStep{Patch: &s.Next.Patches[i]})
	}
	if s.Next.StatusTemplate != "" && len(s.Next.Patches) == 0 {
		steps = append(steps, v1alpha1.StageStep{Patch: &v1alpha1.StagePatch{Root: "status", Template: s.Next.StatusTemplate}})
	}
	return steps
}

// effectLines lists the effects of a Stage, in order.
func effectLines(s *v1alpha1.StageSpec) (lines []string) {
	for _, st := range steps(s) {
		if st.Event != nil {
			lines = append(lines, "event "+st.Event.Reason)
		}
		if st.Finalizers != nil {
			lines = append(lines, "finalizers")
		}
		switch {
		case st.Delete:
			lines = append(lines, "delete")
		case st.Patch != nil:
			lines = append(lines, patchText(st.Patch))
		}
		if st.Apply != nil {
			lines = append(lines, "apply "+cmp.Or(literals(st.Apply.Template)["kind"], "an object"))
		}
	}
	return slices.Compact(lines)
}

// patchText describes a patch: the phase that it sets, or else its target.
func patchText(p *v1alpha1.StagePatch) string {
	if phase := literals(p.Template)["phase"]; phase != "" {
		return "phase " + phase
	}
	return "patch " + cmp.Or(p.Root, p.Subresource, "the object")
}

var literalLine = regexp.MustCompile(`(?m)^(\w+): *"?([\w./-]+)"?\s*$`)

// literals are the top-level fields of a template that have a literal value.
func literals(template string) map[string]string {
	found := map[string]string{}
	for _, m := range literalLine.FindAllStringSubmatch(template, -1) {
		found[m[1]] = m[2]
	}
	return found
}

// writes are the literal values that a Stage writes, by path.
func writes(s *v1alpha1.StageSpec) map[string]string {
	all := map[string]string{}
	for _, st := range steps(s) {
		if st.Patch == nil {
			continue
		}
		for name, v := range literals(st.Patch.Template) {
			all["."+strings.TrimPrefix(st.Patch.Root+"."+name, ".")] = v
		}
	}
	return all
}

// mayLeadTo reports whether a Stage writes a value that another one requires, and none that it
// excludes.
func mayLeadTo(from, to v1alpha1.Stage) bool {
	if from.Spec.ResourceRef != to.Spec.ResourceRef {
		return false
	}
	asked, written := false, writes(&from.Spec)
	for _, r := range parts.ReadSelector(to.Spec.Selector) {
		v, ok := written[r.Key]
		if r.Entries != "" || !ok {
			continue
		}
		in := slices.Contains(r.Values, v)
		switch r.Operator {
		case v1alpha1.SelectorOpIn, v1alpha1.SelectorOpExists:
			asked = true
			if r.Operator == v1alpha1.SelectorOpIn && !in {
				return false
			}
		case v1alpha1.SelectorOpNotIn:
			if in {
				return false
			}
		default:
			return false
		}
	}
	return asked
}
