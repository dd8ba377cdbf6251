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

// rendered returns what one template sends for an object, by a Stage that has it alone; nil if it fails or sends nothing.
func (s *subject) rendered(t template, obj *unstructured.Unstructured) stage.Effect {
	alone := *s.stage
	alone.Spec = v1alpha1.StageSpec{ResourceRef: s.spec.ResourceRef, Selector: &v1alpha1.StageSelector{}, Steps: []v1alpha1.StageStep{t.step}}
	set, err := stage.Compile(options, stage.FromStages(alone))
	if err != nil {
		return nil
	}
	for _, v := range set.Explain(obj, now).Stages {
		if len(v.DryRun.Effects) == 1 {
			return v.DryRun.Effects[0]
		}
	}
	return nil
}

// objects are those that a template is tried on: those that the Stage matches, else fresh ones.
func (s *subject) objects() []*unstructured.Unstructured {
	var list []*unstructured.Unstructured
	for _, l := range s.probes() {
		list = append(list, l.obj)
	}
	if len(list) == 0 {
		list = fresh(s.kind)
	}
	return list[:min(len(list), 4)]
}

func rootlessStatus(s *subject) []fault {
	var faults []fault
	for _, t := range s.templates {
		if t.step.Patch != nil && t.step.Patch.Subresource == "status" && s.missesStatus(t) {
			faults = append(faults, whole(strings.TrimSuffix(t.path, ".template"), "add root: status",
				"the patch goes to the status subresource, but changes no field of status, and nothing else gets through"))
		}
	}
	return faults
}

// missesStatus reports whether a template sends patches, and none that changes the status.
func (s *subject) missesStatus(t template) bool {
	sent := false
	for _, obj := range s.objects() {
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

// strategicPatch goes by the kind of the Stage, for apply by that of the object that is applied.
func strategicPatch(s *subject) []fault {
	var faults []fault
	for _, t := range s.templates {
		if !t.isStrategic() {
			continue
		}
		kind, advice := s.kind, "write type: merge, which replaces lists, or type: json"
		if t.step.Apply != nil {
			kind, advice = s.applied(t), "leave it out, for server-side apply, or write type: merge, which replaces lists"
		}
		if isCustom(kind.Group) {
			faults = append(faults, whole(strings.TrimSuffix(t.path, "template")+"type", advice,
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

// applied is the kind of what a template applies, on the first object on which it applies something.
func (s *subject) applied(t template) schema.GroupVersionKind {
	for _, obj := range s.objects() {
		if a, ok := s.rendered(t, obj).(stage.Apply); ok {
			return a.Object.GroupVersionKind()
		}
	}
	return schema.GroupVersionKind{}
}

// isCustom reports whether only custom resources are in a group. Those are below a domain, and some of what is below k8s.io is built in.
func isCustom(group string) bool {
	return strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io")
}

// unquoted renders templates on probes, as they are and with texts in the fields that only the template reads.
func unquoted(s *subject) []fault {
	var faults []fault
	for _, t := range s.templates {
		reported := map[string]bool{}
		for _, l := range s.unquotedIn(t) {
			if !reported[l.key] {
				reported[l.key] = true
				faults = append(faults, fault{t.path, t.place(l.key), l.name + " is text, but " + l.message, `quote it: {{ … | Quote }}, or "…"`})
			}
		}
	}
	return faults
}

// A leaf is a value of a rendered template at fault.
type leaf struct{ name, key, message string }

// The texts that are put into fields: a version may look like the first, which is a number to YAML; the second is none.
const (
	likeNumber = "1.10"
	likeText   = "v1.10"
)

func (s *subject) unquotedIn(t template) []leaf {
	var list []leaf
	for _, obj := range s.objects() {
		text := scalars(s.rendered(t, t.filled(obj, likeText)))
		list = append(list, s.mistyped(scalars(s.rendered(t, obj)))...)
		list = append(list, s.mistyped(text)...)
		list = append(list, t.misread(text)...)
		list = append(list, treacherous(text, scalars(s.rendered(t, t.filled(obj, likeNumber))))...)
	}
	return list
}

// mistyped finds what is not text although the API has text there.
func (s *subject) mistyped(values []scalar) []leaf {
	var list []leaf
	for _, v := range values {
		if _, isText := v.value.(string); !isText && v.value != nil && s.isTextField(v.name) {
			list = append(list, leaf{v.name, v.key, "YAML reads it as " + fmt.Sprint(v.value)})
		}
	}
	return list
}

// misread finds keys that YAML reads as a boolean, such as n, yes and on.
func (t template) misread(values []scalar) []leaf {
	var list []leaf
	for _, v := range values {
		if (v.key == "true" || v.key == "false") && !strings.Contains(t.text, v.key) {
			list = append(list, leaf{v.name, v.key, "YAML reads the key, which is one such as n, no, y, yes, on or off, as " + v.key})
		}
	}
	return list
}

// treacherous finds prose that becomes a number if the field it is read from looks like one.
func treacherous(text, number []scalar) []leaf {
	before := map[string]any{}
	for _, v := range text {
		before[v.name] = v.value
	}
	var list []leaf
	for _, v := range number {
		if _, isNumber := v.value.(float64); isNumber && before[v.name] == likeText && isProse(v.key) {
			list = append(list, leaf{v.name, v.key, fmt.Sprintf("YAML reads a value such as %s as the number %v", likeNumber, v.value)})
		}
	}
	return list
}

// scalars are the values that an effect writes.
func scalars(e stage.Effect) []scalar {
	switch e := e.(type) {
	case stage.Patch:
		return leaves("", "", e.Data)
	case stage.Apply:
		return leaves("", "", e.Object.Object)
	}
	return nil
}

// A scalar is one value of a rendered template, with the field that holds it.
type scalar struct {
	name, key string // status.phase and phase
	value     any
}

func leaves(name, key string, v any) []scalar {
	var list []scalar
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			list = append(list, leaves(position.Field(name, k), k, v[k])...)
		}
	case []any:
		for i, item := range v {
			list = append(list, leaves(position.Index(name, i), key, item)...)
		}
	default:
		list = append(list, scalar{name, key, v})
	}
	return list
}

// textFields are places where objects of every kind have text.
var textFields = regexp.MustCompile(`^metadata\.(name|namespace|(labels|annotations)(\.[^.]+|\[".*"\]))$` +
	`|^status\.(message|reason|conditions\[\d+\]\.(type|status|reason|message|lastTransitionTime))$`)

func (s *subject) isTextField(name string) bool {
	return textFields.MatchString(name) || name == "status.phase" && enumerations[s.kind.GroupKind()] != nil
}

// isProse reports whether a field of this name holds text by convention: a version, or what people read.
func isProse(key string) bool {
	key = strings.ToLower(key)
	return slices.ContainsFunc([]string{"message", "reason", "version", "phase", "name", "image"}, func(word string) bool { return strings.HasSuffix(key, word) })
}

// place finds the value of a key in the template; -1 if the key is not written there.
func (t template) place(key string) int {
	at := regexp.MustCompile(`(?m)(?:^|[\s{,-])["']?` + regexp.QuoteMeta(key) + `["']?:[ \t]*`).FindStringIndex(t.text)
	if at == nil {
		return -1
	}
	return at[1]
}

// filled puts a text into the fields of obj that the template reads and obj does not have: of spec, labels and annotations, whose texts users choose.
func (t template) filled(obj *unstructured.Unstructured, value string) *unstructured.Unstructured {
	obj = obj.DeepCopy()
	for _, r := range t.reads() {
		names := r.fields()
		chosen := names[0] == "spec" || len(names) == 3 && names[0] == "metadata" && (names[1] == "labels" || names[1] == "annotations")
		if _, there := r.get(obj.Object); chosen && len(names) > 1 && !there && !r.list {
			r.set(obj.Object, value)
		}
	}
	return obj
}
