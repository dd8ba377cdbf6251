package stage

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/position"
	"github.com/stagecraft-go/stagecraft/render"
	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

// A step is the compiled form of a StageStep. Nil parts have no effect.
type step struct {
	event      Effect // an Event
	finalizers *finalizers
	delete     bool
	patch      *patchStep
	apply      *applyStep
	edit       *edit // replaces patch
}

type patchStep struct {
	path        string // of the template in the Stage
	template    *render.Template
	root        string
	patchType   types.PatchType
	subresource string
	user        string
}

type applyStep struct {
	path        string
	template    *render.Template
	patchType   types.PatchType
	subresource string
	user        string
	allow       *Allow // nil: everything
}

// steps compiles the effects of a Stage: spec.steps, or spec.next without steps.
func (c *compiler) steps(kind schema.GroupVersionKind, s *v1alpha1.StageSpec) []step {
	switch {
	case len(s.Steps) > 0:
		steps := make([]step, len(s.Steps))
		for i, st := range s.Steps {
			steps[i] = c.step(position.Index("spec.steps", i), kind, st)
		}
		return steps
	case s.Next == nil:
		return nil
	case reflect.ValueOf(*s.Next).IsZero():
		c.warn("spec.next", "empty, so that the stage has no effect")
		return nil
	default:
		return c.next(kind, s.Next)
	}
}

func (c *compiler) step(path string, kind schema.GroupVersionKind, s v1alpha1.StageStep) step {
	st := step{event: c.event(path+".event", s.Event), finalizers: c.finalizers(path+".finalizers", s.Finalizers), delete: s.Delete}
	if s.Patch != nil {
		st.patch = c.patch(path+".patch", kind, *s.Patch)
	}
	if s.Apply != nil {
		st.apply = c.apply(path+".apply", s.Apply)
	}
	return st
}

// next turns the legacy form into steps: event, finalizers, patches (or the patch of
// statusTemplate), delete. Delete wins over patches, as the Stage document says.
func (c *compiler) next(kind schema.GroupVersionKind, n *v1alpha1.StageNext) []step {
	steps := []step{
		{event: c.event("spec.next.event", n.Event)},
		{finalizers: c.finalizers("spec.next.finalizers", n.Finalizers)},
	}
	if len(n.Patches) > 0 && n.StatusTemplate != "" {
		c.warn("spec.next.statusTemplate", "ignored beside patches")
	}
	patches := c.nextPatches(kind, n)
	if n.Delete {
		return append(steps, step{delete: true})
	}
	return append(steps, patches...)
}

func (c *compiler) nextPatches(kind schema.GroupVersionKind, n *v1alpha1.StageNext) []step {
	var steps []step
	for i, p := range n.Patches {
		steps = append(steps, step{patch: c.patch(position.Index("spec.next.patches", i), kind, p)})
	}
	if len(n.Patches) > 0 || n.StatusTemplate == "" {
		return steps
	}
	subresource := "status"
	if n.StatusSubresource != nil {
		subresource = *n.StatusSubresource
	}
	return []step{{patch: &patchStep{
		path:        "spec.next.statusTemplate",
		template:    c.template("spec.next.statusTemplate", n.StatusTemplate),
		root:        "status",
		patchType:   c.patchType("", kind, nil),
		subresource: subresource,
		user:        c.user("spec.next.statusPatchAs", n.StatusPatchAs),
	}}}
}

func (c *compiler) event(path string, e *v1alpha1.StageEvent) Effect {
	if e == nil {
		return nil
	}
	switch e.Type {
	case "Normal", "Warning":
	case "":
		c.add(&position.Error{Path: path + ".type", Offset: -1, Warning: true, Err: errors.New("missing; want Normal or Warning")})
	default:
		c.faultf(path+".type", "unknown type %q; want Normal or Warning", e.Type)
	}
	return Event{Type: e.Type, Reason: e.Reason, Message: e.Message}
}

func (c *compiler) patch(path string, kind schema.GroupVersionKind, p v1alpha1.StagePatch) *patchStep {
	return &patchStep{
		path:        path + ".template",
		template:    c.template(path+".template", p.Template),
		root:        p.Root,
		patchType:   c.patchType(path+".type", kind, p.Type),
		subresource: p.Subresource,
		user:        c.user(path+".impersonation", p.Impersonation),
	}
}

func (c *compiler) apply(path string, a *v1alpha1.StageApply) *applyStep {
	c.allowedApply(path, a)
	return &applyStep{
		allow:       c.options.Allow,
		path:        path + ".template",
		template:    c.template(path+".template", a.Template),
		patchType:   c.applyType(path+".type", a.Type),
		subresource: a.Subresource,
		user:        c.user(path+".impersonation", a.Impersonation),
	}
}

// patchTypes are the types of a patch step.
var patchTypes = map[v1alpha1.StagePatchType]types.PatchType{
	v1alpha1.StagePatchTypeJSONPatch:           types.JSONPatchType,
	v1alpha1.StagePatchTypeMergePatch:          types.MergePatchType,
	v1alpha1.StagePatchTypeStrategicMergePatch: types.StrategicMergePatchType,
}

// strategicKinds get a strategic merge patch if the Stage does not name a patch type.
var strategicKinds = map[schema.GroupVersionKind]bool{
	{Version: "v1", Kind: "Pod"}:  true,
	{Version: "v1", Kind: "Node"}: true,
}

func (c *compiler) patchType(path string, kind schema.GroupVersionKind, t *v1alpha1.StagePatchType) types.PatchType {
	if t == nil && strategicKinds[kind] {
		return types.StrategicMergePatchType
	}
	if t == nil {
		return types.MergePatchType
	}
	known, ok := patchTypes[*t]
	if !ok {
		c.faultf(path, "unknown type %q; want json, merge or strategic", *t)
	}
	return known
}

// applyTypes are the types of an apply step.
var applyTypes = map[v1alpha1.StagePatchType]types.PatchType{
	v1alpha1.StagePatchTypeApply:               types.ApplyPatchType,
	v1alpha1.StagePatchTypeMergePatch:          types.MergePatchType,
	v1alpha1.StagePatchTypeStrategicMergePatch: types.StrategicMergePatchType,
}

func (c *compiler) applyType(path string, t *v1alpha1.StagePatchType) types.PatchType {
	if t == nil {
		return types.ApplyPatchType
	}
	known, ok := applyTypes[*t]
	if !ok {
		c.faultf(path, "unknown type %q; want apply, merge or strategic", *t)
	}
	return known
}

func (c *compiler) user(path string, i *v1alpha1.ImpersonationConfig) string {
	if i == nil {
		return ""
	}
	if i.Username == "" {
		c.faultf(path+".username", "missing")
	}
	c.allowedUser(path+".username", i.Username)
	return i.Username
}

func (c *compiler) template(path, text string) *render.Template {
	t, err := render.Compile(text, c.templates)
	c.fault(path, templateFaults(err))
	if at := numberMethod.FindStringSubmatchIndex(text); at != nil {
		c.add(&position.Error{Path: path, Offset: at[2], Err: fmt.Errorf("a number has no method %s; remove %s", text[at[2]+1:at[3]], text[at[2]:at[3]])})
	}
	return t
}

// numberMethod matches a method of json.Number on a value within an action. In kwok's templates a
// number is a json.Number.
var numberMethod = regexp.MustCompile(`\{\{[^}]*[\w)](\.(?:Int64|Float64|String))\b`)

// templateFaults turns the errors that render.Compile joins into faults of a field.
func templateFaults(err error) error {
	switch err := err.(type) {
	case *render.Error:
		return &position.Error{Offset: err.Offset, Err: err.Err}
	case interface{ Unwrap() []error }:
		var faults []error
		for _, e := range err.Unwrap() {
			faults = append(faults, templateFaults(e))
		}
		return errors.Join(faults...)
	}
	return err
}

func (c *compiler) finalizers(path string, f *v1alpha1.StageFinalizers) *finalizers {
	if f == nil {
		return nil
	}
	return &finalizers{
		add:    c.finalizerNames(path+".add", f.Add),
		remove: c.finalizerNames(path+".remove", f.Remove),
		empty:  f.Empty,
	}
}

func (c *compiler) finalizerNames(path string, items []v1alpha1.FinalizerItem) []string {
	names := make([]string, len(items))
	for i, item := range items {
		if item.Value == "" {
			c.fault(fmt.Sprintf("%s[%d].value", path, i), errors.New("missing"))
		}
		names[i] = item.Value
	}
	return names
}
