package lint

import (
	"reflect"
	"slices"
	"strings"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

// A nextPart is one field of spec.next, with a function that reports whether a step does the same.
type nextPart struct {
	field string
	given func(*v1alpha1.StageNext) bool
	done  func(*v1alpha1.StageNext, v1alpha1.StageStep) bool
}

var nextParts = []nextPart{
	{"event", func(n *v1alpha1.StageNext) bool { return n.Event != nil },
		func(n *v1alpha1.StageNext, st v1alpha1.StageStep) bool { return reflect.DeepEqual(st.Event, n.Event) }},
	{"finalizers", func(n *v1alpha1.StageNext) bool { return n.Finalizers != nil },
		func(n *v1alpha1.StageNext, st v1alpha1.StageStep) bool {
			return reflect.DeepEqual(st.Finalizers, n.Finalizers)
		}},
	{"delete", func(n *v1alpha1.StageNext) bool { return n.Delete },
		func(_ *v1alpha1.StageNext, st v1alpha1.StageStep) bool { return st.Delete }},
	{"statusTemplate", func(n *v1alpha1.StageNext) bool { return n.StatusTemplate != "" },
		func(n *v1alpha1.StageNext, st v1alpha1.StageStep) bool { return sendsTemplate(st, n.StatusTemplate) }},
	{"patches", func(n *v1alpha1.StageNext) bool { return len(n.Patches) > 0 },
		func(n *v1alpha1.StageNext, st v1alpha1.StageStep) bool {
			return sendsTemplate(st, n.Patches[len(n.Patches)-1].Template)
		}},
}

func sendsTemplate(st v1alpha1.StageStep, text string) bool {
	return st.Patch != nil && strings.TrimSpace(st.Patch.Template) == strings.TrimSpace(text)
}

// ignoredNext does not report what kwok writes when it exports Stages: next with as much of the
// steps as it can express.
func ignoredNext(s *checkedStage) []fault {
	n := s.spec.Next
	if n == nil || len(s.spec.Steps) == 0 {
		return nil
	}
	var faults []fault
	for _, p := range nextParts {
		if p.given(n) && !slices.ContainsFunc(s.spec.Steps, func(st v1alpha1.StageStep) bool { return p.done(n, st) }) {
			faults = append(faults, fieldFault("spec.next."+p.field, "move it to steps", "next is ignored beside steps, and no step does this"))
		}
	}
	return faults
}

// noEffect finds Stages without effects, and Stages whose patches, without template actions, write
// only what their selectors require.
func noEffect(s *checkedStage) []fault {
	n, steps := s.spec.Next, s.spec.Steps
	idle := len(steps) == 0 && (n == nil || reflect.ValueOf(*n).IsZero())
	idle = idle || len(steps) > 0 && !slices.ContainsFunc(steps, func(st v1alpha1.StageStep) bool { return st != v1alpha1.StageStep{} })
	switch {
	case s.patchesByExtension():
		return nil
	case s.name != "" && idle:
		return []fault{fieldFault("spec", "give it steps, or remove it", "the stage does nothing")}
	case s.onlyPatches() && !slices.ContainsFunc(s.templates, func(t template) bool { return !s.changesNothing(t) }):
		return []fault{fieldFault("spec", "check what it patches against its selector",
			"its patches say what the selector requires already, so the stage changes nothing")}
	}
	return nil
}

// onlyPatches reports whether the Stage does nothing but send patches.
func (s *checkedStage) onlyPatches() bool {
	if n := s.spec.Next; len(s.spec.Steps) == 0 && (n == nil || n.Event != nil || n.Finalizers != nil || n.Delete) {
		return false
	}
	return len(s.templates) > 0 && !slices.ContainsFunc(s.spec.Steps, func(st v1alpha1.StageStep) bool {
		return st.Event != nil || st.Finalizers != nil || st.Delete || st.Apply != nil
	})
}

// changesNothing reports whether the selector requires everything that a template without actions
// writes.
func (s *checkedStage) changesNothing(t template) bool {
	if strings.Contains(t.text, "{{") {
		return false
	}
	p, ok := s.rendered(t, newObjects(s.kind)[0]).(stage.Patch)
	return ok && s.requires(nil, p.Data)
}

// requires reports whether the selector matches only objects in which a field has this value. It is
// false for lists and null.
func (s *checkedStage) requires(at path, v any) bool {
	if m, ok := v.(map[string]any); ok && len(m) > 0 {
		for name, field := range m {
			if !s.requires(append(slices.Clone(at), step{field: name, index: -1}), field) {
				return false
			}
		}
		return true
	}
	text, ok := v.(string)
	return ok && slices.ContainsFunc(s.requirements, func(r requirement) bool {
		return r.key == at.String() && r.operator == v1alpha1.SelectorOpIn && subset(r.values, []string{text})
	})
}
