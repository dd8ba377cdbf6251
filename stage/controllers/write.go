package controllers

import (
	"context"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/internal/patch"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// manager is the field manager of what controllers write.
const manager = "kube-controller-manager"

// A call is what a controller works with while it reconciles one key: where it reads and writes, and the time.
type call struct {
	reconcile.Request
	ctx context.Context
}

// now is the time as it stands in objects.
func (c call) now() string { return stamp(c.Now) }

func (c call) create(obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return c.Client.Create(c.ctx, obj, metav1.CreateOptions{FieldManager: manager})
}

// delete deletes an object, unless it is another one by now. One that is gone is no error.
func (c call) delete(obj *unstructured.Unstructured) error {
	uid, policy := obj.GetUID(), metav1.DeletePropagationBackground
	o := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}, PropagationPolicy: &policy}
	err := c.Client.Delete(c.ctx, obj.GroupVersionKind(), nameOf(obj), o)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func (c call) deleteAll(gone []*unstructured.Unstructured) error {
	for _, obj := range gone {
		if err := c.delete(obj); err != nil {
			return err
		}
	}
	return nil
}

// merge sends a merge patch for the version of the object that was read.
func (c call) merge(obj *unstructured.Unstructured, change map[string]any) (*unstructured.Unstructured, error) {
	change = maps.Clone(change)
	metadata := maps.Clone(tree(change, "metadata"))
	if metadata == nil {
		metadata = map[string]any{}
	}
	metadata["resourceVersion"] = obj.GetResourceVersion()
	change["metadata"] = metadata
	data, err := object.AppendJSON(nil, change)
	if err != nil {
		return nil, err
	}
	return c.Client.Patch(c.ctx, obj.GroupVersionKind(), nameOf(obj), types.MergePatchType, data, metav1.PatchOptions{FieldManager: manager})
}

// writeStatus replaces the status of an object if it differs, and does the other operations of a JSON patch.
func (c call) writeStatus(obj *unstructured.Unstructured, status counts, others ...any) error {
	if len(others) == 0 && patch.Equal(obj.Object["status"], map[string]any(status)) {
		return nil
	}
	data, err := object.AppendJSON(nil, append(others,
		map[string]any{"op": "add", "path": "/status", "value": map[string]any(status)},
		map[string]any{"op": "replace", "path": "/metadata/resourceVersion", "value": obj.GetResourceVersion()},
	))
	if err != nil {
		return err
	}
	_, err = c.Client.Patch(c.ctx, obj.GroupVersionKind(), nameOf(obj), types.JSONPatchType, data, metav1.PatchOptions{FieldManager: manager}, "status")
	return err
}

// besidesOwnStatus tells the changes that a controller has to look at: all but those of the status that it wrote itself.
func besidesOwnStatus(name string) func(reconcile.Change) bool {
	return func(ch reconcile.Change) bool { return ch.By != name || asksForMore(ch) }
}

// asksForMore reports whether more than the status of an object has changed.
func asksForMore(ch reconcile.Change) bool {
	if ch.Old == nil || ch.New == nil || ch.Old.GetUID() != ch.New.GetUID() {
		return true
	}
	for field, v := range ch.New.Object {
		if field != "status" && field != "metadata" && !patch.Equal(v, ch.Old.Object[field]) {
			return true
		}
	}
	before, now := tree(ch.Old.Object, "metadata"), tree(ch.New.Object, "metadata")
	for _, field := range []string{"generation", "labels", "annotations", "deletionTimestamp", "ownerReferences", "finalizers"} {
		if !patch.Equal(before[field], now[field]) {
			return true
		}
	}
	return false
}

// on turns a function on an object that is there into that of a Controller. Objects that are gone need nothing: what they owned is collected.
func on(kind schema.GroupVersionKind, do func(call, *unstructured.Unstructured) (reconcile.Result, error)) func(context.Context, reconcile.Request) (reconcile.Result, error) {
	return func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
		obj := r.Cache.Get(kind, r.Name)
		if obj == nil {
			return reconcile.Result{}, nil
		}
		return do(call{Request: r, ctx: ctx}, obj)
	}
}

// controllerRef is the owner reference of what an object controls.
func controllerRef(owner *unstructured.Unstructured) map[string]any {
	return map[string]any{
		"apiVersion": owner.GetAPIVersion(), "kind": owner.GetKind(), "name": owner.GetName(), "uid": string(owner.GetUID()),
		"controller": true, "blockOwnerDeletion": true,
	}
}

// counts is a status in which numbers that are zero are left out, as API types do with omitempty.
type counts map[string]any

func (c counts) add(name string, n int64) {
	if n != 0 {
		c[name] = n
	}
}

// keep takes a field over from the old status, if it is there.
func (c counts) keep(old map[string]any, name string) {
	if v, ok := old[name]; ok {
		c[name] = v
	}
}

func uidOf(ref map[string]any) types.UID { return types.UID(text(ref, "uid")) }
