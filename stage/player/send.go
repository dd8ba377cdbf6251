package player

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/listwatch"
	"github.com/stagecraft-go/stagecraft/internal/patch"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// fieldManager is the field manager of effects.
const fieldManager = "stagecraft"

// inFlight is a transition whose effects are being sent.
type inFlight struct {
	transition stage.Transition
	obj        *unstructured.Unstructured // after the effects so far; nil after its deletion
	plan       []stage.Effect
	index      int    // of the next effect in the plan
	refilters  int64  // how often the filter had changed when the transition began
	begun      bool   // whether an effect was applied, or can have been
	changed    bool   // whether a patch changed the object
	last       string // the version after the last patch
	released   bool   // whether the last patch removed the last finalizer of a deleted object, so that the object is gone
	noop       bool   // whether the last effect was a patch that changes nothing, and so was not sent
}

func (p *inFlight) done() bool { return p.index >= len(p.plan) }

// send sends the effect at index and increments index. On an error index stays.
func (p *inFlight) send(ctx context.Context, w transport.Writer, now time.Time) error {
	e := p.plan[p.index]
	if e != nil {
		if err := p.effect(ctx, w, e, now); err != nil {
			return &SendError{Key: p.transition.Key, Stage: p.transition.Stage, Index: p.index, Effect: e, Err: err}
		}
		p.begun = true
	}
	p.index++
	return nil
}

func (p *inFlight) effect(ctx context.Context, w transport.Writer, e stage.Effect, now time.Time) error {
	p.noop = false
	switch e := e.(type) {
	case stage.Event:
		return p.event(ctx, w, e, now)
	case stage.Delete:
		return p.delete(ctx, w)
	case stage.Apply:
		return p.apply(ctx, w, e)
	case stage.Patch:
		return p.patch(ctx, w, e)
	default:
		return &localError{fmt.Errorf("unknown effect %T", e)}
	}
}

// patch sends a patch unless it changes nothing.
func (p *inFlight) patch(ctx context.Context, w transport.Writer, e stage.Patch) error {
	change := change{Patch: e, key: p.transition.Key, before: p.obj}
	var err error
	if p.noop, err = change.noOp(w); p.noop {
		return nil
	}
	if err != nil {
		return &localError{err}
	}
	w, err = impersonate(w, e.Impersonate)
	if err != nil {
		return err
	}
	obj, err := change.send(ctx, w)
	if err == nil {
		err = answers(obj, p.transition.Key, p.transition.UID)
	}
	if err == nil {
		p.became(obj)
	}
	return err
}

// became records the object after a patch.
func (p *inFlight) became(obj *unstructured.Unstructured) {
	version := obj.GetResourceVersion()
	same := version == p.obj.GetResourceVersion()
	p.changed = p.changed || !same
	p.released = same && obj.GetDeletionTimestamp() != nil && len(obj.GetFinalizers()) == 0 && len(p.obj.GetFinalizers()) > 0
	p.obj, p.last = obj, version
}

// A change is a patch of an object.
type change struct {
	stage.Patch
	key    stage.Key
	before *unstructured.Unstructured
	after  any // the object with the patch; only computed for a ValueWriter
}

// noOp reports whether the patch changes nothing.
func (c *change) noOp(w transport.Writer) (bool, error) {
	if _, ok := w.(transport.ValueWriter); !ok || c.before == nil {
		return c.NoOp(c.before)
	}
	var err error
	c.after, err = c.Result(c.before)
	return err == nil && patch.Equal(c.before.Object, c.after), err
}

// send sends the patch as values if the Writer takes them, or else as text.
func (c *change) send(ctx context.Context, w transport.Writer) (*unstructured.Unstructured, error) {
	o := metav1.PatchOptions{FieldManager: fieldManager}
	if v, ok := w.(transport.ValueWriter); ok {
		return listwatch.Guard(func() (*unstructured.Unstructured, error) { return v.PatchValue(ctx, c.result(), o) })
	}
	data := withVersion(c.Patch, c.before).JSON()
	return listwatch.Guard(func() (*unstructured.Unstructured, error) {
		return w.Patch(ctx, c.key.GroupVersionKind(), c.key.NamespacedName(), c.Type, data, o, subresources(c.Subresource)...)
	})
}

func (c *change) result() transport.PatchResult {
	return transport.PatchResult{
		Kind: c.key.GroupVersionKind(), Name: c.key.NamespacedName(), Subresource: c.Subresource,
		Type: c.Type, Data: c.Data, Before: c.before, After: c.after,
	}
}

// withVersion adds the resourceVersion of obj to the patch, so that the server refuses it if the
// object has changed.
func withVersion(p stage.Patch, obj *unstructured.Unstructured) stage.Patch {
	version := obj.GetResourceVersion()
	if version == "" {
		return p
	}
	if ops, ok := p.Data.([]any); ok {
		p.Data = append(slices.Clip(ops), map[string]any{"op": "replace", "path": "/metadata/resourceVersion", "value": version})
		return p
	}
	data := copyOf(p.Data)
	metadata := copyOf(data["metadata"])
	metadata["resourceVersion"] = version
	data["metadata"] = metadata
	p.Data = data
	return p
}

// copyOf returns a shallow copy of an object, or an empty one.
func copyOf(v any) map[string]any {
	if m, _ := v.(map[string]any); m != nil {
		return maps.Clone(m)
	}
	return map[string]any{}
}

func subresources(name string) []string {
	if name == "" {
		return nil
	}
	return []string{name}
}

// delete deletes the object, unless another object has its name now.
func (p *inFlight) delete(ctx context.Context, w transport.Writer) error {
	k := p.transition.Key
	o := metav1.DeleteOptions{GracePeriodSeconds: new(int64)}
	if uid := p.transition.UID; uid != "" {
		o.Preconditions = &metav1.Preconditions{UID: &uid}
	}
	_, err := listwatch.Guard(func() (any, error) { return nil, w.Delete(ctx, k.GroupVersionKind(), k.NamespacedName(), o) })
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	p.obj = nil
	return nil
}

// apply patches a subresource, or applies the object. The other patch types first try to create the
// object, and patch it if it exists.
func (p *inFlight) apply(ctx context.Context, w transport.Writer, e stage.Apply) error {
	w, err := impersonate(w, e.Impersonate)
	if err != nil {
		return err
	}
	obj := e.Object
	name := types.NamespacedName{Namespace: cmp.Or(obj.GetNamespace(), p.transition.Key.Namespace), Name: obj.GetName()}
	if e.Subresource == "" && e.Type != types.ApplyPatchType {
		created := obj.DeepCopy()
		created.SetNamespace(name.Namespace)
		result, err := listwatch.Guard(func() (*unstructured.Unstructured, error) {
			return w.Create(ctx, created, metav1.CreateOptions{FieldManager: fieldManager})
		})
		if err == nil || !apierrors.IsAlreadyExists(err) {
			return cmp.Or(err, answersApply(result, obj, name))
		}
	}
	o := metav1.PatchOptions{FieldManager: fieldManager}
	if e.Type == types.ApplyPatchType {
		o.Force = new(true)
	}
	result, err := listwatch.Guard(func() (*unstructured.Unstructured, error) {
		return w.Patch(ctx, obj.GroupVersionKind(), name, e.Type, e.JSON(), o, subresources(e.Subresource)...)
	})
	if err = cmp.Or(err, answersApply(result, obj, name)); err == nil && result != nil && p.obj != nil && answers(result, p.transition.Key, p.transition.UID) == nil {
		p.obj = result // the applied object is the object itself
	}
	return err
}

var errNoImpersonation = errors.New("the transport cannot impersonate")

// answersApply checks that a result, if any, is the applied object. The result has no namespace for
// a cluster-scoped kind.
func answersApply(result, applied *unstructured.Unstructured, name types.NamespacedName) error {
	if result == nil {
		return nil
	}
	k := stage.KeyOf(applied)
	k.Namespace = result.GetNamespace()
	if k.Namespace != "" {
		k.Namespace = name.Namespace
	}
	return answers(result, k, "")
}

func answers(obj *unstructured.Unstructured, k stage.Key, uid types.UID) error {
	return listwatch.Answers(obj, k.GroupVersionKind(), k.NamespacedName(), uid)
}

func impersonate(w transport.Writer, user string) (transport.Writer, error) {
	if user == "" {
		return w, nil
	}
	i, ok := w.(transport.Impersonator)
	if !ok {
		return nil, &localError{fmt.Errorf("%w user %q", errNoImpersonation, user)}
	}
	return i.As(user), nil
}
