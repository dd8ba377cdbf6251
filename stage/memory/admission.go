package memory

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
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
	// NameFaults are the faults of the name and namespace of a new object. A Hooks.Validate that refuses the
	// object returns them too. If none refuses it, the cluster does.
	NameFaults field.ErrorList

	store     *store
	ctx       context.Context
	old, new  unstructured.Unstructured
	rehearsed bool // the write is carried out again after a remote call
	unlocked  bool // the present hook runs without the lock
	others    []other
	bytes     int // of New; 0: not known
}

// reviewOf returns the Review of the current write, the same Review each time.
func (r *request) reviewOf(before, next map[string]any) *Review {
	v := &r.view
	*v = Review{Request: r.Request, Resource: r.resource(), DryRun: r.dryRun, Manager: r.manager, NameFaults: r.misnamed, store: r.store, ctx: r.ctx}
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

// Count returns the number of objects of a resource in a namespace, or in all namespaces if
// namespace is "". It returns false for an unknown resource. A function that Hooks.Remote returns
// must not call Count.
func (v *Review) Count(of schema.GroupResource, namespace string) (n int, known bool) {
	if v.unlocked {
		v.store.mu.Lock() // not RLock: sorting a table changes it
		defer v.store.mu.Unlock()
	}
	t := v.store.tables[of]
	if t == nil {
		return 0, false
	}
	return len(t.within(namespace)), true
}

// removed calls Removed of the hooks about an object.
func (s *store) removed(r *record, last *unstructured.Unstructured) {
	for _, h := range s.hooks {
		if h.Removed == nil {
			continue
		}
		v := &s.removal
		*v = Review{Request: Request{Verb: "delete", Kind: r.kind.GroupVersionKind, Name: r.key, Time: s.now()}, Resource: r.kind.groupResource(), Old: last, store: s}
		h.Removed(v)
		v.putOthers()
	}
}

// PutStatus replaces the status of another object, together with the reviewed write: both are
// stored, or neither. It does nothing in a dry run, or without the object. The caller must not
// change the status afterwards.
func (v *Review) PutStatus(kind schema.GroupVersionKind, name types.NamespacedName, status map[string]any) {
	v.also(other{kind: kind, name: name, status: status})
}

// Create creates another object, together with the reviewed write, like an API server that stores two
// objects for one request. It does nothing in a dry run, for an unknown kind, or if the object exists.
// Hooks do not see the object, so that it must be complete except for the metadata that the server
// sets. The caller must not change the object afterwards.
func (v *Review) Create(obj *unstructured.Unstructured) {
	v.also(other{kind: obj.GroupVersionKind(), name: types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}, created: obj.Object})
}

// Remove removes another object, together with the reviewed write, at once and whatever finalizers it
// has. It does nothing in a dry run, or without the object.
func (v *Review) Remove(kind schema.GroupVersionKind, name types.NamespacedName) {
	v.also(other{kind: kind, name: name, removed: true})
}

// An other is a change of another object, together with the reviewed write.
type other struct {
	kind    schema.GroupVersionKind
	name    types.NamespacedName
	status  map[string]any
	created map[string]any
	removed bool
}

func (v *Review) also(o other) {
	if !v.DryRun && !v.rehearsed {
		v.others = append(v.others, o)
	}
}

// putOthers stores the changes of other objects.
func (v *Review) putOthers() {
	s, others := v.store, v.others
	v.others = nil
	for _, o := range others {
		k := s.kinds[o.kind]
		if k == nil {
			continue
		}
		r := k.table.records[k.key(o.name)]
		switch {
		case r == nil && o.created != nil:
			s.bear(k, k.key(o.name), fork(o.created))
		case r == nil || o.created != nil:
		case o.removed:
			s.drop(r)
		default:
			next := fork(r.object().Object)
			next["status"] = o.status
			s.put(r, next)
		}
	}
}

// bear stores a new object, with the metadata that the server sets. The root and the metadata must not
// be shared.
func (s *store) bear(k *kind, key types.NamespacedName, root map[string]any) {
	metadata := metadataOf(root)
	metadata["uid"], metadata["creationTimestamp"] = s.uid(k.table, key), s.currentTimestamp()
	if k.has(counted) {
		metadata["generation"] = int64(1)
	}
	s.insert(k, key, root, 0)
}
