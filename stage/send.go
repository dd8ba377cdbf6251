package stage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/patch"
)

// manager is the field manager of what effects write.
const manager = "stagecraft"

// DoOptions of [Transition.Do].
type DoOptions struct {
	// Now is what templates and Events take for the time.
	Now time.Time
	// Trace is called for each effect, and for the failure that ends the transition.
	Trace func(TraceEvent)
}

// Do carries out the transition on obj, the object it was decided for, and returns the object as the last effect left it: nil
// after a [Delete]. Patches that change nothing are not sent. Each patch requires that the object still is the version that the one before it
// returned. Do does not retry: the error is an [*EvalError], or a [*SendError] that says how far it came. It is what simulators and tests
// use; [Player] adds retries.
func (t Transition) Do(ctx context.Context, w Writer, obj *unstructured.Unstructured, o DoOptions) (*unstructured.Unstructured, error) {
	trace := func(e TraceEvent) {
		if o.Trace != nil {
			e.Time, e.Key, e.Stage = o.Now, t.Key, t.Stage
			o.Trace(e)
		}
	}
	slots, err := t.slots(obj, o.Now)
	if err != nil {
		trace(TraceEvent{Kind: Failed, Index: -1, Err: err})
		return obj, err
	}
	p := playing{transition: t, obj: obj, slots: slots}
	for !p.done() {
		e, index := p.slots[p.index], p.index
		if err := p.send(ctx, w, o.Now); err != nil {
			trace(TraceEvent{Kind: Failed, Index: index, Effect: e, Err: err})
			return p.obj, err
		}
		if e != nil {
			trace(TraceEvent{Kind: Effected, Due: t.Due, Index: index, Effect: e, NoOp: p.noop})
		}
	}
	return p.obj, nil
}

// SendError says which effect of a transition could not be sent.
type SendError struct {
	Key    Key
	Stage  string
	Index  int // place of the effect in the transition
	Effect Effect
	Err    error
}

// Error prints `kind namespace/name: stage "name": effect: what went wrong`.
func (e *SendError) Error() string {
	return fmt.Sprintf("%s: stage %q: %.200s: %s", e.Key, e.Stage, e.Effect, e.Err)
}

// Unwrap returns Err.
func (e *SendError) Unwrap() error { return e.Err }

// playing is a transition on its way.
type playing struct {
	transition Transition
	obj        *unstructured.Unstructured // as the effects so far left it; nil once it is deleted
	slots      []Effect
	index      int    // of the next slot
	begun      bool   // whether an effect was carried out, or may have been
	doubtful   bool   // whether the one at index may have been
	changed    bool   // whether a patch changed the object
	last       string // the version that the last patch left
	released   bool   // whether that patch took the last finalizer from an object that was to go, so that it is gone
	noop       bool   // whether the last effect was a patch that changes nothing, and so was not sent
}

func (p *playing) done() bool { return p.index >= len(p.slots) }

// send carries out the effect at index and steps on. On an error it stays where it is.
func (p *playing) send(ctx context.Context, w Writer, now time.Time) error {
	e := p.slots[p.index]
	if e != nil {
		if err := p.effect(ctx, w, e, now); err != nil {
			return &SendError{Key: p.transition.Key, Stage: p.transition.Stage, Index: p.index, Effect: e, Err: err}
		}
		p.begun, p.doubtful = true, false
	}
	p.index++
	return nil
}

func (p *playing) effect(ctx context.Context, w Writer, e Effect, now time.Time) error {
	p.noop = false
	switch e := e.(type) {
	case Event:
		return p.event(ctx, w, e, now)
	case Delete:
		return p.delete(ctx, w)
	case Apply:
		return p.apply(ctx, w, e)
	case Patch:
		return p.patch(ctx, w, e)
	default:
		return &localError{fmt.Errorf("unknown effect %T", e)}
	}
}

// patch sends a patch unless it changes nothing.
func (p *playing) patch(ctx context.Context, w Writer, e Patch) error {
	change := Patched{Patch: e, Key: p.transition.Key, Before: p.obj}
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
	if err == nil && obj == nil {
		err = errNoResult
	}
	if err == nil {
		p.became(obj)
	}
	return err
}

// became takes in what a patch left of the object.
func (p *playing) became(obj *unstructured.Unstructured) {
	version := resourceVersion(obj)
	same := version == resourceVersion(p.obj)
	p.changed = p.changed || !same
	p.released = same && obj.GetDeletionTimestamp() != nil && len(obj.GetFinalizers()) == 0 && len(p.obj.GetFinalizers()) > 0
	p.obj, p.last = obj, version
}

// noOp reports whether the patch changes nothing. For a Writer that takes it, it keeps what the patch makes of the object.
func (p *Patched) noOp(w Writer) (bool, error) {
	if _, ok := w.(ValueWriter); !ok || p.Before == nil {
		return p.NoOp(p.Before)
	}
	var err error
	p.After, err = p.on(p.Before)
	return err == nil && patch.Equal(p.Before.Object, p.After), err
}

// send sends the patch as values to a Writer that takes them, else as text.
func (p *Patched) send(ctx context.Context, w Writer) (*unstructured.Unstructured, error) {
	o := metav1.PatchOptions{FieldManager: manager}
	if v, ok := w.(ValueWriter); ok {
		return v.PatchValue(ctx, *p, o)
	}
	data := p.guarded(p.Before).JSON()
	return w.Patch(ctx, p.Key.GroupVersionKind(), p.Key.NamespacedName(), p.Type, data, o, subresources(p.Subresource)...)
}

// guarded adds to the patch that it is for this version of the object, and no other.
func (p Patch) guarded(obj *unstructured.Unstructured) Patch {
	version := resourceVersion(obj)
	if version == "" {
		return p
	}
	if ops, ok := p.Data.([]any); ok {
		p.Data = append(ops[:len(ops):len(ops)], operation("replace", "/metadata/resourceVersion", version))
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
	m, _ := v.(map[string]any)
	c := make(map[string]any, len(m)+1)
	for k, item := range m {
		c[k] = item
	}
	return c
}

func subresources(name string) []string {
	if name == "" {
		return nil
	}
	return []string{name}
}

// delete deletes the object, unless it is another one by now.
func (p *playing) delete(ctx context.Context, w Writer) error {
	k := p.transition.Key
	o := metav1.DeleteOptions{GracePeriodSeconds: new(int64)}
	if uid := p.transition.UID; uid != "" {
		o.Preconditions = &metav1.Preconditions{UID: &uid}
	}
	err := w.Delete(ctx, k.GroupVersionKind(), k.NamespacedName(), o)
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	p.obj = nil
	return nil
}

// apply patches a subresource, or applies the object; the other types create it first and patch it if it is there.
func (p *playing) apply(ctx context.Context, w Writer, e Apply) error {
	w, err := impersonate(w, e.Impersonate)
	if err != nil {
		return err
	}
	obj := e.Object
	name := types.NamespacedName{Namespace: cmp.Or(obj.GetNamespace(), p.transition.Key.Namespace), Name: obj.GetName()}
	if e.Subresource == "" && e.Type != types.ApplyPatchType {
		created := obj.DeepCopy()
		created.SetNamespace(name.Namespace)
		_, err := w.Create(ctx, created, metav1.CreateOptions{FieldManager: manager})
		if err == nil || !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	o := metav1.PatchOptions{FieldManager: manager}
	if e.Type == types.ApplyPatchType {
		o.Force = new(true)
	}
	result, err := w.Patch(ctx, obj.GroupVersionKind(), name, e.Type, encode(obj.Object), o, subresources(e.Subresource)...)
	if err == nil && result != nil && p.obj != nil && KeyOf(result) == p.transition.Key {
		p.obj = result // it was the object itself
	}
	return err
}

var (
	errNoImpersonation = errors.New("the transport cannot impersonate")
	errNoResult        = errors.New("the transport returned neither a result nor an error")
)

func impersonate(w Writer, user string) (Writer, error) {
	if user == "" {
		return w, nil
	}
	i, ok := w.(Impersonator)
	if !ok {
		return nil, &localError{fmt.Errorf("%w user %q", errNoImpersonation, user)}
	}
	return i.As(user), nil
}

// event creates an Event about the object. Its name is made of the object's, of the place of the effect in the object's life and of the time at which
// that began, so that a retry does not create a second one, but another run does.
func (p *playing) event(ctx context.Context, w Writer, e Event, now time.Time) error {
	k := p.transition.Key
	id := hash(p.transition.draws).text("event").text(string(p.transition.UID)).number(uint64(p.transition.Entered.UnixNano())).number(uint64(p.index)).sum()
	obj := e.object(involved(k, p.transition.UID, p.obj), k.Namespace, now)
	metadataOf(obj)["name"] = k.Name + "." + strconv.FormatUint(id, 16)
	o := metav1.CreateOptions{FieldManager: manager}
	var err error
	if v, ok := w.(ValueWriter); ok {
		_, err = v.CreateValue(ctx, obj, o)
	} else {
		_, err = w.Create(ctx, obj.DeepCopy(), o) // it may change what it is given, and parts of that are shared
	}
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// eventSource is never changed: all Events share it.
var eventSource any = map[string]any{"component": manager}

// object is the Event as a v1 object without a name, as client-go's recorder makes it.
func (e Event) object(about map[string]any, namespace string, now time.Time) *unstructured.Unstructured {
	var stamp any = now.UTC().Format(time.RFC3339)
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion":         "v1",
		"kind":               "Event",
		"metadata":           map[string]any{"namespace": cmp.Or(namespace, metav1.NamespaceDefault)},
		"involvedObject":     about,
		"type":               e.Type,
		"reason":             e.Reason,
		"message":            e.Message,
		"source":             eventSource,
		"firstTimestamp":     stamp,
		"lastTimestamp":      stamp,
		"count":              int64(1),
		"reportingComponent": manager,
		"reportingInstance":  "",
	}}
}

// involved is the reference of an Event to its object, which is nil if it is gone. What it can share with the object it does.
func involved(k Key, uid types.UID, obj *unstructured.Unstructured) map[string]any {
	var root, metadata map[string]any
	if obj != nil {
		root, metadata = obj.Object, metadataOf(obj)
	}
	apiVersion, kind := k.GroupVersionKind().ToAPIVersionAndKind()
	ref := map[string]any{"apiVersion": valueOf(root, "apiVersion", apiVersion), "kind": valueOf(root, "kind", kind), "name": valueOf(metadata, "name", k.Name)}
	if k.Namespace != "" {
		ref["namespace"] = valueOf(metadata, "namespace", k.Namespace)
	}
	if uid != "" {
		ref["uid"] = valueOf(metadata, "uid", string(uid))
	}
	if version := metadata["resourceVersion"]; text(metadata, "resourceVersion") != "" {
		ref["resourceVersion"] = version
	}
	return ref
}

// valueOf is a text as a value: that of the field if it is the same.
func valueOf(m map[string]any, field, text string) any {
	if v := m[field]; v == text {
		return v
	}
	return text
}
