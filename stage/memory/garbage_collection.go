package memory

import (
	"cmp"
	"slices"

	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/internal/patch"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// byPlace orders records of several tables.
func byPlace(a, b *record) int {
	return cmp.Or(
		cmp.Compare(a.kind.Group, b.kind.Group),
		cmp.Compare(a.kind.Resource, b.kind.Resource),
		byKey(a, b),
	)
}

// reindex updates the index of the objects by their owners.
func (s *store) reindex(r *record, old *unstructured.Unstructured) {
	before, now := ownerRefs(old), ownerRefs(r.object())
	if patch.Equal(before, now) {
		return
	}
	for _, uid := range ownerUIDs(before) {
		delete(s.dependents[uid], r)
		if len(s.dependents[uid]) == 0 {
			delete(s.dependents, uid)
		}
	}
	for _, uid := range ownerUIDs(now) {
		if s.dependents[uid] == nil {
			s.dependents[uid] = map[*record]struct{}{}
		}
		s.dependents[uid][r] = struct{}{}
	}
}

func ownerRefs(obj *unstructured.Unstructured) []any {
	if obj == nil {
		return nil
	}
	refs, _ := object.ToSlice(metadataOf(obj.Object)["ownerReferences"])
	return refs
}

func ownerUIDs(refs []any) (uids []types.UID) {
	for _, ref := range refs {
		uids = append(uids, ownerUID(ref))
	}
	return uids
}

func ownerUID(ref any) types.UID {
	m, _ := object.ToMap(ref)
	uid, _ := object.String(m, "uid")
	return types.UID(uid)
}

func (s *store) dependentsOf(uid types.UID) []*record {
	found := make([]*record, 0, len(s.dependents[uid]))
	for r := range s.dependents[uid] {
		found = append(found, r)
	}
	slices.SortFunc(found, byPlace)
	return found
}

// settle handles the consequences of the objects that the write removed. A dependent loses the
// owner reference, or is deleted with its last owner. Owners that waited for their dependents, and
// namespaces that waited for their objects, are removed.
func (s *store) settle() {
	for len(s.removed) > 0 {
		r := s.removed[0]
		s.removed = s.removed[1:]
		s.collect(r)
		s.releaseOwners(r)
		s.releaseNamespace(r.key.Namespace)
	}
	s.removed = nil
}

func (s *store) collect(owner *record) {
	uid := owner.object().GetUID()
	for _, r := range s.dependentsOf(uid) {
		switch left := withoutOwner(r.object(), uid); {
		case r.gone:
		case len(left) == 0:
			s.delete(r, metav1.DeleteOptions{})
		default:
			s.putOwners(r, left)
		}
	}
}

func withoutOwner(obj *unstructured.Unstructured, uid types.UID) []any {
	return slices.DeleteFunc(slices.Clone(ownerRefs(obj)), func(ref any) bool { return ownerUID(ref) == uid })
}

func (s *store) putOwners(r *record, refs []any) {
	next := fork(r.object().Object)
	metadataOf(next)["ownerReferences"] = refs
	if len(refs) == 0 {
		delete(metadataOf(next), "ownerReferences")
	}
	s.put(r, next)
}

// orphan removes the owner reference from the dependents of an object that is about to be removed.
func (s *store) orphan(owner *record) {
	uid := owner.object().GetUID()
	for _, r := range s.dependentsOf(uid) {
		s.putOwners(r, withoutOwner(r.object(), uid))
	}
}

// awaitDependents adds the finalizer with which an object waits until the dependents that block its
// deletion are gone.
func (s *store) awaitDependents(owner *record, metadata map[string]any) {
	finalizers := finalizersOf(metadata)
	if !s.blocked(owner) || slices.Contains(finalizers, metav1.FinalizerDeleteDependents) {
		return
	}
	list, _ := object.Slice(metadata, "finalizers")
	metadata["finalizers"] = append(slices.Clip(list), metav1.FinalizerDeleteDependents)
}

// blocked reports whether a dependent blocks the deletion of its owner.
func (s *store) blocked(owner *record) bool {
	uid := owner.object().GetUID()
	for r := range s.dependents[uid] {
		for _, ref := range ownerRefs(r.object()) {
			m, _ := object.ToMap(ref)
			if blocks, _ := object.Bool(m, "blockOwnerDeletion"); blocks && ownerUID(ref) == uid {
				return true
			}
		}
	}
	return false
}

// deleteDependents deletes the dependents that have no other owner, and removes the owner reference
// from the others.
func (s *store) deleteDependents(owner *record) {
	uid := owner.object().GetUID()
	foreground := metav1.DeletePropagationForeground
	for _, r := range s.dependentsOf(uid) {
		switch left := withoutOwner(r.object(), uid); {
		case r.gone || len(left) == 0 && r.object().GetDeletionTimestamp() != nil:
		case len(left) == 0:
			s.delete(r, metav1.DeleteOptions{PropagationPolicy: &foreground})
		default:
			s.putOwners(r, left)
		}
	}
	if !s.blocked(owner) {
		s.release(owner)
	}
}

// releaseOwners removes the owners of a removed object that waited for it.
func (s *store) releaseOwners(gone *record) {
	for _, ref := range ownerRefs(gone.object()) {
		if owner := s.owner(gone, ref); owner != nil && !s.blocked(owner) {
			s.release(owner)
		}
	}
}

// owner finds the object that a reference names.
func (s *store) owner(dependent *record, ref any) *record {
	m, _ := object.ToMap(ref)
	apiVersion, _ := object.String(m, "apiVersion")
	kind, _ := object.String(m, "kind")
	name, _ := object.String(m, "name")
	k := s.kinds[schema.FromAPIVersionAndKind(apiVersion, kind)]
	if k == nil {
		return nil
	}
	r := k.table.records[k.key(types.NamespacedName{Namespace: dependent.key.Namespace, Name: name})]
	if r == nil || r.object().GetUID() != ownerUID(ref) {
		return nil
	}
	return r
}

// release removes the finalizer of foreground deletion.
func (s *store) release(owner *record) {
	metadata := metadataOf(owner.object().Object)
	list, _ := object.Slice(metadata, "finalizers")
	left := slices.DeleteFunc(slices.Clone(list), func(f any) bool { return f == metav1.FinalizerDeleteDependents })
	if len(left) == len(list) || metadata["deletionTimestamp"] == nil {
		return
	}
	next := fork(owner.object().Object)
	metadataOf(next)["finalizers"] = left
	if len(left) == 0 {
		delete(metadataOf(next), "finalizers")
	}
	if finished(metadataOf(next)) {
		s.drop(owner)
		return
	}
	s.put(owner, next)
}

// releaseNamespace removes a terminating namespace with its last object.
func (s *store) releaseNamespace(name string) {
	if name == "" || s.contents[name] > 0 {
		return
	}
	delete(s.contents, name)
	ns := s.tables[namespaces].records[types.NamespacedName{Name: name}]
	if _, waits := s.terminated[ns]; waits && finished(metadataOf(ns.object().Object)) {
		s.drop(ns)
	}
}
