package stage

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/render"
)

// A Transition is the decision to play a Stage on an object at a time. It is plain data, made by
// [Set.Next] or an [Engine], and safe for concurrent use.
type Transition struct {
	Key     Key
	UID     types.UID // of the object; "" if it has none
	Stage   string
	N       uint64    // the number of this entry of the object into a Stage, counted from 0
	Entered time.Time // the time of entry into the Stage
	Due     time.Time // when the effects are due; not before Entered
	Random  uint64    // the random number that chose the delay within its range

	set   *Set
	stage *compiled
	draws draws
}

// String prints `Pod default/web: stage "pod-ready" due 15:04:05.123`.
func (t Transition) String() string {
	return fmt.Sprintf("%s: stage %q due %s", t.Key, t.Stage, t.Due.Format("15:04:05.999999999"))
}

// Immediate reports whether the player evaluates the patched object at once, without waiting for
// the watch event.
func (t Transition) Immediate() bool { return t.stage != nil && t.stage.immediate }

// Effects returns the effects of the transition in order, including patches that change nothing. It
// is pure: templates read obj, the time now and the random numbers of the transition. Only the
// addresses of pods come from the [render.Env]. Effects neither changes nor keeps obj. An error is
// an [*Error], and then no effects are returned.
func (t Transition) Effects(obj *unstructured.Unstructured, now time.Time) ([]Effect, error) {
	plan, err := t.Plan(obj, now)
	return filled(plan), err
}

// filled removes the empty slots; nil if all slots are empty.
func filled(slots []Effect) []Effect {
	effects := slices.DeleteFunc(slots, func(e Effect) bool { return e == nil })
	if len(effects) == 0 {
		return nil
	}
	return effects
}

// slotsOfStep is the number of slots of a step: event, finalizers, delete or patch, and apply.
const slotsOfStep = 4

// Plan returns the effects of [Transition.Effects], each at a fixed index. Each step of the Stage
// has four places: event, finalizers, delete or patch, and apply. A place without an effect is nil.
// A place means the same for every version of the object, so that an interrupted transition can
// continue at the place where it stopped.
func (t Transition) Plan(obj *unstructured.Unstructured, now time.Time) ([]Effect, error) {
	if t.stage == nil || obj == nil {
		return nil, errors.New("stage: effects of a zero Transition, or without an object")
	}
	return t.plan(render.Input{Object: obj.Object, Now: now, Seed: t.draws.effects(t.Stage), Env: t.set.env})
}

// Matches reports whether the Stage of the transition still matches the object.
func (t Transition) Matches(obj *unstructured.Unstructured, now time.Time) bool {
	if t.stage == nil || obj == nil {
		return false
	}
	scope := t.set.scope(obj, now)
	defer t.set.release(scope)
	return t.stage.matches(scope, t.draws)
}

// Seed returns a number that depends only on the seed of the draws, the object and the entry. Use
// it for further random numbers that repeat with the transition, such as pauses before retries.
func (t Transition) Seed() uint64 { return uint64(t.draws) }

func (t Transition) plan(input render.Input) ([]Effect, error) {
	obj := unstructured.Unstructured{Object: input.Object}
	p := planner{t: t, input: input, finalizers: obj.GetFinalizers(), effects: make([]Effect, 0, slotsOfStep*len(t.stage.steps))}
	for _, st := range t.stage.steps {
		if err := p.step(st); err != nil {
			return nil, err
		}
	}
	return p.effects, nil
}

// A planner collects the effects of a transition.
type planner struct {
	t          Transition
	input      render.Input
	finalizers []string // after earlier steps
	deleted    bool     // an earlier step deleted the object: only events follow
	effects    []Effect
}

func (p *planner) step(st step) error {
	slots := [slotsOfStep]Effect{st.event}
	if !p.deleted {
		if err := p.changes(st, slots[1:]); err != nil {
			return err
		}
	}
	p.effects = append(p.effects, slots[:]...)
	return nil
}

// changes fills the slots for finalizers, delete or patch, and apply.
func (p *planner) changes(st step, slots []Effect) (err error) {
	if st.finalizers != nil {
		slots[0] = p.editFinalizers(st.finalizers)
	}
	if st.delete {
		p.deleted = true
		slots[1] = Delete{}
		return nil
	}
	if st.patch != nil {
		if slots[1], err = p.patch(st.patch); err != nil {
			return p.failed(st.patch.path, err)
		}
	}
	if st.edit != nil {
		if slots[1], err = p.edit(st.edit); err != nil {
			return p.failed(st.edit.path, err)
		}
	}
	if st.apply != nil {
		if slots[2], err = p.apply(st.apply); err != nil {
			return p.failed(st.apply.path, err)
		}
	}
	return nil
}

func (p *planner) failed(path string, err error) error {
	return &Error{Key: p.t.Key, Stage: p.t.Stage, Path: path, Err: err}
}

func (p *planner) editFinalizers(f *finalizers) Effect {
	ops, after := f.edit(p.finalizers)
	p.finalizers = after
	if len(ops) == 0 {
		return nil
	}
	return Patch{Type: types.JSONPatchType, Data: ops}
}

// patch renders a patch. An empty rendering is no patch. kwok sends null instead, which deletes the
// root field.
func (p *planner) patch(st *patchStep) (Effect, error) {
	data, ok, err := st.template.Value(p.input)
	if err != nil || !ok {
		return nil, err
	}
	if data, err = underRoot(data, st.patchType, st.root); err != nil {
		return nil, err
	}
	return Patch{Type: st.patchType, Subresource: st.subresource, Impersonate: st.user, Data: data}, nil
}

// edit changes the object as it is after earlier steps.
func (p *planner) edit(e *edit) (Effect, error) {
	obj := &unstructured.Unstructured{Object: p.input.Object}
	for _, effect := range p.effects {
		after, err := effectOn(effect, obj, p.input.Now)
		if after == nil {
			return nil, err
		}
		obj = after
	}
	return e.patch(obj.Object, p.input)
}

// underRoot puts the patch below a root field.
func underRoot(data any, t types.PatchType, root string) (any, error) {
	if t == types.JSONPatchType {
		return prefixed(data, root)
	}
	if root != "" {
		return map[string]any{root: data}, nil
	}
	if _, ok := data.(map[string]any); !ok {
		return nil, fmt.Errorf("want the template to give an object, got %T", data)
	}
	return data, nil
}

// prefixed puts the root before each path and from of a JSON patch.
func prefixed(data any, root string) (any, error) {
	ops, ok := data.([]any)
	if !ok {
		return nil, errors.New("want the template to give a list of JSON patch operations")
	}
	prefix := ""
	if root != "" {
		prefix = "/" + pointerEscapes.Replace(root)
	}
	result := make([]any, len(ops))
	for i, op := range ops {
		fields, ok := op.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("operation %d of the JSON patch is not an object", i)
		}
		if _, ok := fields["path"].(string); !ok {
			return nil, fmt.Errorf("operation %d of the JSON patch has no path", i)
		}
		result[i] = withPrefix(fields, prefix)
	}
	return result, nil
}

// pointerEscapes are the escapes of a JSON pointer.
var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

func withPrefix(op map[string]any, prefix string) map[string]any {
	result := make(map[string]any, len(op))
	for k, v := range op {
		if s, ok := v.(string); ok && (k == "path" || k == "from") {
			v = prefix + s
		}
		result[k] = v
	}
	return result
}

// apply renders an object to apply.
func (p *planner) apply(st *applyStep) (Effect, error) {
	data, ok, err := st.template.Value(p.input)
	if err != nil || !ok {
		return nil, err
	}
	fields, ok := data.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("want the template to give an object, got %T", data)
	}
	obj := &unstructured.Unstructured{Object: fields}
	for _, field := range []string{"apiVersion", "kind"} {
		if s, ok := object.String(fields, field); !ok || s == "" {
			return nil, fmt.Errorf("the object has no %s", field)
		}
	}
	return Apply{Type: st.patchType, Subresource: st.subresource, Impersonate: st.user, Object: obj}, st.allow.write(obj, p.t.Key.Namespace)
}
