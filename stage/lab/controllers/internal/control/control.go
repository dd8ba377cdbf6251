// Package control has the common work of all controllers that reconcile a key: they create, patch
// and delete objects, write a status, and adopt or release the objects that belong to an owner.
package control

import (
	"context"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// Field managers of the writes of controllers.
const (
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	Kubelet           = "kubelet"
)

// A Call is a request with its context: where a controller reads and writes while it reconciles one
// key, and the time.
type Call struct {
	reconcile.Request
	Context context.Context
	Manager string // the field manager of its writes
}

// NewCall returns the call of a request, of a controller of kube-controller-manager.
func NewCall(ctx context.Context, r reconcile.Request) Call {
	return Call{Request: r, Context: ctx, Manager: ControllerManager}
}

// OnExisting returns a Controller.Reconcile that calls a function if the object exists. For an
// object that is gone there is nothing to do: its dependents are garbage-collected.
func OnExisting(kind schema.GroupVersionKind, do func(Call, *unstructured.Unstructured) (reconcile.Result, error)) func(context.Context, reconcile.Request) (reconcile.Result, error) {
	return func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
		obj := r.Cache.Get(kind, r.Name)
		if obj == nil {
			return reconcile.Result{}, nil
		}
		return do(NewCall(ctx, r), obj)
	}
}

// Timestamp returns the time in the format of objects.
func (c Call) Timestamp() string { return fields.FormatTime(c.Now) }

// Create creates an object and returns it as stored.
func (c Call) Create(obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return c.Client.Create(c.Context, obj, metav1.CreateOptions{FieldManager: c.Manager})
}

// Delete deletes an object if the stored object with its name has its uid. A missing object is not
// an error.
func (c Call) Delete(obj *unstructured.Unstructured) error { return IgnoreNotFound(c.delete(obj)) }

func (c Call) delete(obj *unstructured.Unstructured) error {
	uid, policy := obj.GetUID(), metav1.DeletePropagationBackground
	o := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}, PropagationPolicy: &policy}
	return c.Client.Delete(c.Context, obj.GroupVersionKind(), NameOf(obj), o)
}

// CreatePod creates a Pod of an owner, and records an Event of the owner.
func (c Call) CreatePod(owner, pod *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	created, err := c.Create(pod)
	if err != nil {
		if !apierrors.HasStatusCause(err, "NamespaceTerminating") {
			c.Record(owner, "Warning", "FailedCreate", "Error creating: "+err.Error())
		}
		return nil, err
	}
	c.Record(owner, "Normal", "SuccessfulCreate", "Created pod: "+created.GetName())
	return created, nil
}

// DeletePod deletes a Pod of an owner, and records an Event of the owner. A missing Pod is not an
// error.
func (c Call) DeletePod(owner, pod *unstructured.Unstructured) error {
	err := c.delete(pod)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		c.Record(owner, "Warning", "FailedDelete", "Error deleting: "+err.Error())
	default:
		c.Record(owner, "Normal", "SuccessfulDelete", "Deleted pod: "+pod.GetName())
	}
	return err
}

// IgnoreNotFound returns nil for the error that an object is gone.
func IgnoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// DeleteNow deletes an object without a grace period, as Delete does otherwise.
func (c Call) DeleteNow(obj *unstructured.Unstructured) error {
	uid := obj.GetUID()
	o := metav1.DeleteOptions{GracePeriodSeconds: new(int64), Preconditions: &metav1.Preconditions{UID: &uid}}
	return IgnoreNotFound(c.Client.Delete(c.Context, obj.GroupVersionKind(), NameOf(obj), o))
}

// DeleteInForeground deletes an object after the objects that it owns. Otherwise it is like Delete.
func (c Call) DeleteInForeground(obj *unstructured.Unstructured) error {
	uid, policy := obj.GetUID(), metav1.DeletePropagationForeground
	o := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}, PropagationPolicy: &policy}
	return IgnoreNotFound(c.Client.Delete(c.Context, obj.GroupVersionKind(), NameOf(obj), o))
}

// DeleteAll deletes objects until one fails.
func (c Call) DeleteAll(objs []*unstructured.Unstructured) error {
	for _, obj := range objs {
		if err := c.Delete(obj); err != nil {
			return err
		}
	}
	return nil
}

// AtMost is how many objects ReplicaSets and Jobs create or delete in one reconcile.
const AtMost = 500

// SlowStart calls a function for 0 to n-1 in batches of 1, 2, 4 and further powers of 2, until one
// batch fails. So a cluster that refuses the objects gets one request, not n. It returns the first
// error.
func (c Call) SlowStart(n int, do func(i int) error) error {
	for first, batch := 0, 1; first < n; first, batch = first+batch, batch*2 {
		if err := c.Each(min(batch, n-first), func(i int) error { return do(first + i) }); err != nil {
			return err
		}
	}
	return nil
}

// MergePatch sends a merge patch for the version of an object that was read, and returns the object
// as stored.
func (c Call) MergePatch(obj *unstructured.Unstructured, change map[string]any) (*unstructured.Unstructured, error) {
	change = maps.Clone(change)
	metadata := fields.CloneMap(change, "metadata")
	metadata["resourceVersion"] = obj.GetResourceVersion()
	change["metadata"] = metadata
	data, err := object.AppendJSON(nil, change)
	if err != nil {
		return nil, err
	}
	o := metav1.PatchOptions{FieldManager: c.Manager}
	return c.Client.Patch(c.Context, obj.GroupVersionKind(), NameOf(obj), types.MergePatchType, data, o)
}

// MergeValues is MergePatch for a change that consists of metadata and of lists of plain JSON values
// without nulls, which the caller does not change afterwards: a cluster that takes values keeps them, so that
// versions of an object share what is equal in them. A list that is nil deletes the field.
func (c Call) MergeValues(obj *unstructured.Unstructured, change map[string]any) (*unstructured.Unstructured, error) {
	w, takes := c.Client.(transport.ValueWriter)
	if !takes {
		return c.MergePatch(obj, change)
	}
	metadata := fields.CloneMap(change, "metadata")
	metadata["resourceVersion"] = obj.GetResourceVersion()
	change["metadata"] = metadata
	p := transport.PatchResult{
		Kind: obj.GroupVersionKind(), Name: NameOf(obj), Type: types.MergePatchType,
		Data: change, Before: obj, After: merged(obj.Object, change, "metadata", "labels", "annotations"),
	}
	return w.PatchValue(c.Context, p, metav1.PatchOptions{FieldManager: c.Manager})
}

// merged returns fields with others in their place; nil deletes a field. The fields of these names are
// merged themselves.
func merged(m, change map[string]any, deep ...string) map[string]any {
	next := make(map[string]any, len(m)+len(change))
	maps.Copy(next, m)
	for field, v := range change {
		part, _ := object.ToMap(v)
		switch {
		case v == nil:
			delete(next, field)
		case slices.Contains(deep, field) && part != nil:
			next[field] = merged(fields.Map(m, field), part, deep...)
		default:
			next[field] = v
		}
	}
	return next
}

// WriteStatus replaces the status of an object if it differs, and does other operations of a JSON
// patch in the same request.
func (c Call) WriteStatus(obj *unstructured.Unstructured, status Status, others ...any) error {
	if len(others) == 0 && object.DeepEqual(fields.Value(obj.Object, "status"), map[string]any(status)) {
		return nil
	}
	o := metav1.PatchOptions{FieldManager: c.Manager}
	if w, takes := c.Client.(transport.StatusWriter); takes && len(others) == 0 {
		values, err := object.Plain(status)
		if err != nil {
			return err
		}
		_, err = w.ReplaceStatus(c.Context, obj, values.(map[string]any), o)
		return err
	}
	data, err := object.AppendJSON(nil, append(others,
		map[string]any{"op": "add", "path": "/status", "value": map[string]any(status)},
		map[string]any{"op": "replace", "path": "/metadata/resourceVersion", "value": obj.GetResourceVersion()},
	))
	if err != nil {
		return err
	}
	_, err = c.Client.Patch(c.Context, obj.GroupVersionKind(), NameOf(obj), types.JSONPatchType, data, o, "status")
	return err
}

// IgnoreOwnStatus returns a Controller.When that leaves out the changes of a status that the
// controller of this name made itself.
func IgnoreOwnStatus(name string) func(reconcile.Change) bool {
	return func(ch reconcile.Change) bool { return ch.By != name || changesMoreThanStatus(ch) }
}

func changesMoreThanStatus(ch reconcile.Change) bool {
	if ch.Old == nil || ch.New == nil || ch.Old.GetUID() != ch.New.GetUID() {
		return true
	}
	for field, v := range ch.New.Object {
		if field != "status" && field != "metadata" && !object.DeepEqual(v, ch.Old.Object[field]) {
			return true
		}
	}
	before, now := fields.Map(ch.Old.Object, "metadata"), fields.Map(ch.New.Object, "metadata")
	for _, field := range []string{"generation", "labels", "annotations", "deletionTimestamp", "ownerReferences", "finalizers"} {
		if !object.DeepEqual(before[field], now[field]) {
			return true
		}
	}
	return false
}
