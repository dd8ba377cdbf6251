package lint

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/internal/position"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

// uncheckedTarget finds templates that apply another object whose name or namespace the author of
// the played object chooses, while the Stage still matches. The other object can belong to another
// user.
func uncheckedTarget(s *checkedStage) []fault {
	var faults []fault
	for _, t := range s.templates {
		if t.step.Apply == nil {
			continue
		}
		if field, kind := s.chosenTarget(t); field != "" {
			faults = append(faults, fieldFault(t.path, "name it by .metadata.uid, or require in the selector that it belongs to this object",
				"who writes %s chooses which %s is written: it may be somebody else's", field, kind))
		}
	}
	return faults
}

// chosenTarget returns a field whose text decides which object a template applies, and its kind.
func (s *checkedStage) chosenTarget(t template) (field, kind string) {
	for _, l := range s.probeResults() {
		from := t.withText(l.obj, sampleText)
		base, ok := s.rendered(t, from).(stage.Apply)
		if !ok {
			continue
		}
		for _, r := range t.fieldsTried() {
			obj := withChosen(r, from, "other")
			if obj == nil {
				continue
			}
			a, ok := s.rendered(t, obj).(stage.Apply)
			if !ok || stage.KeyOf(a.Object) == stage.KeyOf(base.Object) {
				continue
			}
			if result, _ := s.group.resultFor(obj); !hasKey(result.matching, s) {
				continue
			}
			return fieldPath(r), a.Object.GetKind()
		}
	}
	return "", ""
}

func fieldPath(r fieldRead) string {
	path := ""
	for _, name := range r.fields() {
		path = position.Field(path, name)
	}
	return path
}

func hasKey[K comparable, V any](m map[K]V, k K) bool {
	_, ok := m[k]
	return ok
}

// withChosen returns a copy of obj with a text in a field that users choose: a field of spec, an
// annotation or a label. It returns nil for other fields, and for fields whose value is not a
// string.
func withChosen(r fieldRead, obj *unstructured.Unstructured, value string) *unstructured.Unstructured {
	names := r.fields()
	chosen := len(names) > 1 && names[0] == "spec" || len(names) == 3 && names[0] == "metadata" && (names[1] == "labels" || names[1] == "annotations")
	old, there := r.get(obj.Object)
	if _, isText := old.(string); !chosen || r.list || there && !isText {
		return nil
	}
	obj = obj.DeepCopy()
	r.set(obj.Object, value)
	return obj
}

// probeField is a field that only a hostile text can have added.
const probeField = "stagecraftProbe"

// addedFields finds values through which the owner of an object can add fields to an effect: values
// of annotations, and of the spec of custom resources, which can contain any text.
func (s *checkedStage) addedFields(t template, obj *unstructured.Unstructured) []typeFault {
	var list []typeFault
	for _, r := range t.fieldsTried() {
		names := r.fields()
		if names[0] == "spec" && !isCustom(s.kind.Group) || len(names) > 1 && names[1] == "labels" {
			continue
		}
		if plain := withChosen(r, obj, sampleText); plain != nil && s.addsField(t, r, obj) {
			list = append(list, writtenFrom(scalars(s.rendered(t, plain)))...)
		}
	}
	return list
}

// writtenFrom are the faults of the values that hold the sample text.
func writtenFrom(values []scalar) []typeFault {
	var list []typeFault
	for _, v := range values {
		if text, ok := v.value.(string); ok && strings.Contains(text, sampleText) {
			list = append(list, typeFault{name: v.name, key: v.key})
		}
	}
	return list
}

// addsField reports whether a text in a field of the object adds a field to an effect.
func (s *checkedStage) addsField(t template, r fieldRead, obj *unstructured.Unstructured) bool {
	const quiet = "x # y"
	holds := func(text string, found func(scalar) bool) bool {
		return slices.ContainsFunc(scalars(s.rendered(t, withChosen(r, obj, text))), found)
	}
	if holds(quiet, func(v scalar) bool { text, ok := v.value.(string); return ok && strings.Contains(text, quiet) }) {
		return false // it is quoted
	}
	return slices.ContainsFunc(hostileTexts(t.text), func(text string) bool {
		return holds(text, func(v scalar) bool { return strings.Contains(position.Field(v.name, v.key), probeField) })
	})
}

// hostileTexts are texts that add a field in one of the ways in which YAML writes mappings.
func hostileTexts(template string) []string {
	list := []string{"x, " + probeField + ": y", `x", ` + probeField + `: "y`, `x', ` + probeField + `: 'y`}
	for line := range strings.Lines(template) {
		indent := line[:len(line)-len(strings.TrimLeft(line, " -"))]
		text := fmt.Sprintf("x\n%s%s: y", strings.ReplaceAll(indent, "-", " "), probeField)
		if !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}

// actsAs finds Stages that send effects as other users.
func actsAs(s *checkedStage) []fault {
	var faults []fault
	for _, t := range s.templates {
		if path, user := t.user(s.spec.Next); user != "" {
			faults = append(faults, fieldFault(path, "list the user in stage.Options.Allow where Stages come from a cluster",
				"the stage acts as %q, with all that this user may do", user))
		}
	}
	return faults
}

// user is the user as whom a template is sent, "" if it is the player itself, and the field that
// names him.
func (t template) user(next *v1alpha1.StageNext) (path, user string) {
	path, as := strings.TrimSuffix(t.path, "template")+"impersonation", (*v1alpha1.ImpersonationConfig)(nil)
	switch {
	case t.step.Apply != nil:
		as = t.step.Apply.Impersonation
	case t.path == "spec.next.statusTemplate":
		path, as = "spec.next.statusPatchAs", next.StatusPatchAs
	default:
		as = t.step.Patch.Impersonation
	}
	if as == nil {
		return "", ""
	}
	return path, as.Username
}

// writesOthers finds templates that apply objects.
func writesOthers(s *checkedStage) []fault {
	var faults []fault
	for _, t := range s.templates {
		if t.step.Apply != nil {
			faults = append(faults, fieldFault(strings.TrimSuffix(t.path, ".template"), "list its kind in stage.Options.Allow where Stages come from a cluster",
				"the stage writes any object that its template names, with all that the player may do"))
		}
	}
	return faults
}
