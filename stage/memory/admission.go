package memory

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// A Review is the creation, change or deletion of an object that [Hooks]
// decide about before it is stored. It is valid until the function returns; that of Hooks.Remote,
// until the function that it returns has returned.
type Review struct {
	Request
	Resource schema.GroupResource // plural name of the kind
	DryRun   bool                 // nothing will be stored
	Manager  string               // field manager
	// Old is the object as it is stored, nil if it is new. It must not be changed.
	Old *unstructured.Unstructured
	// New is the object as it will be stored, nil if it is deleted. Its root and its metadata may be changed; what is
	// below may be shared with others, so it must be replaced and not changed.
	New *unstructured.Unstructured

	store     *store
	ctx       context.Context
	old, new  unstructured.Unstructured
	rehearsed bool // the write is carried out again after a remote call
}

// reviewOf returns the Review of the current write, which is the same object each time.
func (r *request) reviewOf(before, next map[string]any) *Review {
	v := &r.reviewed
	*v = Review{Request: r.Request, Resource: r.resource(), DryRun: r.dryRun, Manager: r.manager, store: r.store, ctx: r.ctx}
	v.old.Object, v.new.Object = before, next
	if before != nil {
		v.Old = &v.old
	}
	if next != nil {
		v.New = &v.new
	}
	return v
}

// Context is that of the method of [Cluster] that was called to write; of the garbage collector's and
// of a loaded file's, context.Background.
func (v *Review) Context() context.Context {
	if v.ctx == nil {
		return context.Background()
	}
	return v.ctx
}

// kept returns a Review of the same write that stays valid after it.
func (v *Review) kept() *Review {
	k := *v
	if v.Old != nil {
		k.Old = &k.old
	}
	if v.New != nil {
		k.New = &k.new
	}
	return &k
}

// List returns the objects of a kind in a namespace, or in all if it is "", by namespace and name.
// They are the stored ones and must not be changed. It is empty for an unknown kind. It must not be
// called by what Hooks.Remote returns, which reads the cluster itself.
func (v *Review) List(kind schema.GroupVersionKind, namespace string) (found []*unstructured.Unstructured) {
	k := v.store.kinds[kind]
	if k == nil || len(k.table.records) == 0 {
		return nil
	}
	for _, r := range k.table.within(namespace) {
		found = append(found, r.object())
	}
	return found
}

// Get returns an object, nil if it is not there. It is the stored one and must not be changed. It
// must not be called by what Hooks.Remote returns, which reads the cluster itself.
func (v *Review) Get(kind schema.GroupVersionKind, name types.NamespacedName) *unstructured.Unstructured {
	k := v.store.kinds[kind]
	if k == nil {
		return nil
	}
	if r := k.table.records[k.key(name)]; r != nil {
		return r.object()
	}
	return nil
}

// PutStatus replaces the status of another object together with the write that is reviewed. It does
// nothing in a dry run, and if the object is not there. The status must not be changed afterwards.
func (v *Review) PutStatus(kind schema.GroupVersionKind, name types.NamespacedName, status map[string]any) {
	k := v.store.kinds[kind]
	if k == nil || v.DryRun || v.rehearsed {
		return
	}
	if r := k.table.records[k.key(name)]; r != nil {
		next := fork(r.object().Object)
		next["status"] = status
		v.store.put(r, next)
	}
}
