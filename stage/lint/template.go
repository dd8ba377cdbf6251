package lint

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/position"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

// maxRendered is the largest number of bytes of templates that are rendered for one Stage. Each
// rendering counts, because a template of many fields is rendered for each of them.
const maxRendered = 4 << 20

// leastRendered is the least number of bytes that a rendering counts, for its other work.
const leastRendered = 256

// rendered returns the effect of one template on an object; nil if the template fails or sends
// nothing, or if enough was rendered for the Stage.
func (s *checkedStage) rendered(t template, obj *unstructured.Unstructured) stage.Effect {
	set := s.templateSet(t)
	if set == nil || obj == nil || s.bytesRendered > maxRendered {
		return nil
	}
	s.bytesRendered += leastRendered + len(t.text)
	at := rendering{t.path, obj}
	e, known := s.effects[at]
	if known {
		return e
	}
	if seen := set.Explain(obj, now).Stages[0]; len(seen.DryRun.Effects) == 1 {
		e = seen.DryRun.Effects[0]
	}
	s.effects[at] = e
	return e
}

// A rendering is a template, by its path, and an object.
type rendering struct {
	path string
	obj  *unstructured.Unstructured
}

// templateSet is a Stage that matches always and renders one template; nil if it does not compile.
func (s *checkedStage) templateSet(t template) *stage.Set {
	set, known := s.templateSets[t.path]
	if known {
		return set
	}
	alone := *s.stage
	alone.Spec = v1alpha1.StageSpec{ResourceRef: s.spec.ResourceRef, Selector: &v1alpha1.StageSelector{}, Steps: []v1alpha1.StageStep{t.step}}
	set, err := stage.Compile(compileOptions, stage.FromStages(alone))
	if err != nil {
		set = nil
	}
	s.templateSets[t.path] = set
	return set
}

// templateObjects are the objects that a template is rendered with: the objects that the Stage
// matches, or else new objects.
func (s *checkedStage) templateObjects() []*unstructured.Unstructured {
	var list []*unstructured.Unstructured
	for _, l := range s.probeResults() {
		list = append(list, l.obj)
	}
	if len(list) == 0 {
		list = newObjects(s.kind)
	}
	return list[:min(len(list), 4)]
}

func rootlessStatus(s *checkedStage) []fault {
	var faults []fault
	for _, t := range s.templates {
		if t.step.Patch != nil && t.step.Patch.Subresource == "status" && s.missesStatus(t) {
			faults = append(faults, fieldFault(strings.TrimSuffix(t.path, ".template"), "add root: status",
				"the patch goes to the status subresource, but changes no field of status, and nothing else gets through"))
		}
	}
	return faults
}

// missesStatus reports whether a template sends patches, and no patch changes the status.
func (s *checkedStage) missesStatus(t template) bool {
	sent := false
	for _, obj := range s.templateObjects() {
		p, ok := s.rendered(t, obj).(stage.Patch)
		if ok && touchesStatus(p) {
			return false
		}
		sent = sent || ok
	}
	return sent
}

func touchesStatus(p stage.Patch) bool {
	if p.Type != types.JSONPatchType {
		m, _ := p.Data.(map[string]any)
		_, ok := m["status"]
		return ok || len(m) == 0
	}
	ops, _ := p.Data.([]any)
	return len(ops) == 0 || slices.ContainsFunc(ops, func(op any) bool {
		m, _ := op.(map[string]any)
		at, _ := m["path"].(string)
		return at == "/status" || strings.HasPrefix(at, "/status/")
	})
}

// strategicPatch checks the kind of the Stage, and for apply the kind of the object that is
// applied.
func strategicPatch(s *checkedStage) []fault {
	var faults []fault
	for _, t := range s.templates {
		if !t.isStrategic() {
			continue
		}
		kind, advice := s.kind, "write type: merge, which replaces lists, or type: json"
		if t.step.Apply != nil {
			kind, advice = s.appliedKind(t), "leave it out, for server-side apply, or write type: merge, which replaces lists"
		}
		if isCustom(kind.Group) {
			faults = append(faults, fieldFault(strings.TrimSuffix(t.path, "template")+"type", advice,
				"%s is a custom resource, of which the API server takes no strategic merge patch: it answers 415", kind.Kind))
		}
	}
	return faults
}

func (t template) isStrategic() bool {
	of := func(t *v1alpha1.StagePatchType) bool {
		return t != nil && *t == v1alpha1.StagePatchTypeStrategicMergePatch
	}
	return t.step.Patch != nil && of(t.step.Patch.Type) || t.step.Apply != nil && of(t.step.Apply.Type)
}

// appliedKind is the kind of the first object that a template applies.
func (s *checkedStage) appliedKind(t template) schema.GroupVersionKind {
	for _, obj := range s.templateObjects() {
		if a, ok := s.rendered(t, obj).(stage.Apply); ok {
			return a.Object.GroupVersionKind()
		}
	}
	return schema.GroupVersionKind{}
}

// isCustom reports whether a group has only custom resources. Their groups are domain names; some
// groups below k8s.io are built in.
func isCustom(group string) bool {
	return strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io")
}

// unquoted renders templates with probes as they are, and with text in the fields that only the
// template reads.
func unquoted(s *checkedStage) []fault {
	var faults []fault
	for _, t := range s.templates {
		reported := map[string]bool{}
		for _, l := range s.unquotedIn(t) {
			if !reported[l.key] && len(faults) <= maxFaults {
				reported[l.key] = true
				faults = append(faults, fault{t.path, t.offsetOf(l.key), l.text(), `quote it: {{ … | Quote }}, or "…"`})
			}
		}
	}
	return faults
}

// A typeFault is a value of a rendered template that has the wrong type, or could have.
type typeFault struct{ name, key, message string }

func (f typeFault) text() string {
	if f.message == "" {
		return f.name + " has no quotes: its owner can add fields here"
	}
	return f.name + " is text, but " + f.message
}

// Texts that are put into fields. A version may look like the first one, which YAML reads as a
// number; the second is always text.
const (
	sampleNumber = "1.10"
	sampleText   = "v1.10"
)

func (s *checkedStage) unquotedIn(t template) []typeFault {
	var list []typeFault
	for _, obj := range s.templateObjects() {
		list = append(list, s.wrongTypes(scalars(s.rendered(t, obj)))...)
		if len(t.fieldsRead()) == 0 {
			list = append(list, t.booleanKeys(scalars(s.rendered(t, obj)))...)
			continue
		}
		list = append(list, s.addedFields(t, t.withText(obj, sampleText))...)
		text := scalars(s.rendered(t, t.withText(obj, sampleText)))
		list = append(list, s.wrongTypes(text)...)
		list = append(list, t.booleanKeys(text)...)
		list = append(list, numberLike(text, scalars(s.rendered(t, t.withText(obj, sampleNumber))))...)
	}
	return list
}

// wrongTypes finds values that are not text although the API has text there.
func (s *checkedStage) wrongTypes(values []scalar) []typeFault {
	var list []typeFault
	for _, v := range values {
		if _, isText := v.value.(string); !isText && v.value != nil && s.isTextField(v.name) {
			list = append(list, typeFault{v.name, v.key, "YAML reads it as " + fmt.Sprint(v.value)})
		}
	}
	return list
}

// booleanKeys finds keys that YAML reads as a boolean, such as n, yes and on.
func (t template) booleanKeys(values []scalar) []typeFault {
	var list []typeFault
	for _, v := range values {
		if (v.key == "true" || v.key == "false") && !strings.Contains(t.text, v.key) {
			list = append(list, typeFault{v.name, v.key, "YAML reads the key, which is one such as n, no, y, yes, on or off, as " + v.key})
		}
	}
	return list
}

// numberLike finds text fields that become a number if the field they are copied from looks like
// one.
func numberLike(text, number []scalar) []typeFault {
	before := map[string]any{}
	for _, v := range text {
		before[v.name] = v.value
	}
	var list []typeFault
	for _, v := range number {
		if _, isNumber := v.value.(float64); isNumber && before[v.name] == sampleText && isProse(v.key) {
			list = append(list, typeFault{v.name, v.key, fmt.Sprintf("YAML reads a value such as %s as the number %v", sampleNumber, v.value)})
		}
	}
	return list
}

// scalars are the values that an effect writes.
func scalars(e stage.Effect) []scalar {
	switch e := e.(type) {
	case stage.Patch:
		return scalarsIn("", "", e.Data)
	case stage.Apply:
		return scalarsIn("", "", e.Object.Object)
	}
	return nil
}

// A scalar is one value of a rendered template and the field that holds it.
type scalar struct {
	name, key string // status.phase and phase
	value     any
}

func scalarsIn(name, key string, v any) []scalar {
	var list []scalar
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			list = append(list, scalarsIn(position.Field(name, k), k, v[k])...)
		}
	case []any:
		for i, item := range v {
			list = append(list, scalarsIn(position.Index(name, i), key, item)...)
		}
	default:
		list = append(list, scalar{name, key, v})
	}
	return list
}

// textFields are the places where objects of every kind hold text.
var textFields = regexp.MustCompile(`^metadata\.(name|namespace|(labels|annotations)(\.[^.]+|\[".*"\]))$` +
	`|^status\.(message|reason|conditions\[\d+\]\.(type|status|reason|message|lastTransitionTime))$`)

func (s *checkedStage) isTextField(name string) bool {
	return textFields.MatchString(name) || name == "status.phase" && enumerations[s.kind.GroupKind()] != nil
}

// isProse reports whether a field of this name holds text by convention: a version, or a message
// for people.
func isProse(key string) bool {
	key = strings.ToLower(key)
	return slices.ContainsFunc([]string{"message", "reason", "version", "phase", "name", "image"}, func(word string) bool { return strings.HasSuffix(key, word) })
}

// offsetOf is the offset of the value of a key in the template; -1 if the key is not written there.
func (t template) offsetOf(key string) int {
	at := regexp.MustCompile(`(?m)(?:^|[\s{,-])["']?` + regexp.QuoteMeta(key) + `["']?:[ \t]*`).FindStringIndex(t.text)
	if at == nil {
		return -1
	}
	return at[1]
}

// withText returns a copy of obj with a text in the fields that the template reads and obj lacks,
// for fields whose text users choose: spec, labels and annotations. It returns obj itself without
// such fields.
func (t template) withText(obj *unstructured.Unstructured, value string) *unstructured.Unstructured {
	given := obj
	for _, r := range t.fieldsRead() {
		names := r.fields()
		chosen := names[0] == "spec" || len(names) == 3 && names[0] == "metadata" && (names[1] == "labels" || names[1] == "annotations")
		if _, there := r.get(obj.Object); chosen && len(names) > 1 && !there && !r.list {
			if obj == given {
				obj = given.DeepCopy()
			}
			r.set(obj.Object, value)
		}
	}
	return obj
}
