package memory

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// A Review is the creation, change or deletion of an object that [Hooks] decide about before it is
// stored. A Review is valid until the hook returns. The Review passed to Hooks.Remote is valid
// until the returned function has returned.
type Review struct {
	Request
	Resource schema.GroupResource // plural name of the kind
	DryRun   bool                 // nothing will be stored
	Manager  string               // field manager
	// Old is the stored object; nil for a creation. It must not be changed.
	Old *unstructured.Unstructured
	// New is the object that will be stored; nil for a deletion. A hook may change its root and its
	// metadata. Everything below can be shared with other objects, so a hook must replace it and
	// not change it.
	New *unstructured.Unstructured

	store     *store
	ctx       context.Context
	old, new  unstructured.Unstructured
	rehearsed bool // the write is carried out again after a remote call
	unlocked  bool // the present hook runs without the lock
	statuses  []statusOfOther
	bytes     int // of New; 0: not known
}

// reviewOf returns the Review of the current write, the same Review each time.
func (r *request) reviewOf(before, next map[string]any) *Review {
	v := &r.view
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

// Context returns the context of the call of [Cluster] that writes. For writes of the garbage
// collector and of Load it returns context.Background.
func (v *Review) Context() context.Context {
	if v.ctx == nil {
		return context.Background()
	}
	return v.ctx
}

// Weigh tells the cluster how many bytes New has, about. The cluster keeps fewer events of earlier
// versions if they take more than 64 MiB, see [Options.History]; it counts only what is weighed. A
// server weighs all objects that its clients write. New must not become larger afterwards.
func (v *Review) Weigh(bytes int) { v.bytes = bytes }

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

// List returns the objects of a kind in a namespace, or in all namespaces if namespace is "", by
// namespace and name. The result is empty for an unknown kind. The objects are the stored objects
// and must not be changed. A function that Hooks.Remote returns must not call List; it reads the
// cluster itself.
func (v *Review) List(kind schema.GroupVersionKind, namespace string) (found []*unstructured.Unstructured) {
	if v.unlocked {
		v.store.mu.Lock() // not RLock: sorting a table changes it
		defer v.store.mu.Unlock()
	}
	k := v.store.kinds[kind]
	if k == nil || len(k.table.records) == 0 {
		return nil
	}
	for _, r := range k.table.within(namespace) {
		found = append(found, r.object())
	}
	return found
}

// Get returns the stored object, which must not be changed; nil for a missing object. A function
// that Hooks.Remote returns must not call Get; it reads the cluster itself.
func (v *Review) Get(kind schema.GroupVersionKind, name types.NamespacedName) *unstructured.Unstructured {
	if v.unlocked {
		v.store.mu.Lock() // not RLock: unpacking a record changes it
		defer v.store.mu.Unlock()
	}
	k := v.store.kinds[kind]
	if k == nil {
		return nil
	}
	if r := k.table.records[k.key(name)]; r != nil {
		return r.object()
	}
	return nil
}

// PutStatus replaces the status of another object, together with the reviewed write: both are
// stored, or neither. It does nothing in a dry run, or without the object. The caller must not
// change the status afterwards.
func (v *Review) PutStatus(kind schema.GroupVersionKind, name types.NamespacedName, status map[string]any) {
	if !v.DryRun && !v.rehearsed {
		v.statuses = append(v.statuses, statusOfOther{kind, name, status})
	}
}

// A statusOfOther is a call of PutStatus.
type statusOfOther struct {
	kind   schema.GroupVersionKind
	name   types.NamespacedName
	status map[string]any
}

// putStatuses stores what the hooks have given to PutStatus.
func (v *Review) putStatuses() {
	for _, p := range v.statuses {
		k := v.store.kinds[p.kind]
		if k == nil {
			continue
		}
		if r := k.table.records[k.key(p.name)]; r != nil {
			next := fork(r.object().Object)
			next["status"] = p.status
			v.store.put(r, next)
		}
	}
	v.statuses = nil
}
