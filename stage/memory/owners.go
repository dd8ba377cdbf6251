package memory

import (
	"maps"
	"slices"

	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/internal/patch"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// reindex updates the index of the objects by their owners, and makes the garbage collector look at
// the affected objects (processGraphChanges of pkg/controller/garbagecollector).
func (s *store) reindex(r *record, old *unstructured.Unstructured) {
	before, now := ownerRefs(old), ownerRefs(r.object())
	if patch.Equal(before, now) {
		return
	}
	for _, uid := range ownerUIDs(before) {
		delete(s.dependents[uid], r)
		if len(s.dependents[uid]) == 0 {
			delete(s.dependents, uid)
			delete(s.absent, uid)
		}
	}
	for _, uid := range ownerUIDs(now) {
		if s.dependents[uid] == nil {
			s.dependents[uid] = map[*record]struct{}{}
		}
		s.dependents[uid][r] = struct{}{}
	}
	s.reblock(r, before, now)
	s.examineUnblocked(r, before, now)
	if slices.ContainsFunc(now, func(ref any) bool { return s.stateOfOwner(r, ref) == dangling }) {
		s.examine(r)
	}
}

// examineUnblocked makes the garbage collector look at the owners whose deletion an object no
// longer blocks.
func (s *store) examineUnblocked(r *record, before, now []any) {
	for _, ref := range before {
		blocks := func(other any) bool { return ownerUID(other) == ownerUID(ref) && isBlocking(other) }
		if !isBlocking(ref) || slices.ContainsFunc(now, blocks) {
			continue
		}
		owner, _, _ := s.owner(r, ref)
		if owner != nil && waitsFor(metadataOf(owner.object().Object), metav1.FinalizerDeleteDependents) {
			s.examine(owner)
		}
	}
}

// examineDeleted makes the garbage collector look at an object and at its dependents, when the
// object begins to wait for them.
func (s *store) examineDeleted(r *record, old *unstructured.Unstructured, next map[string]any) {
	metadata := metadataOf(next)
	if metadata["deletionTimestamp"] == nil {
		return
	}
	begins := func(finalizer string) bool {
		return waitsFor(metadata, finalizer) && !waitsFor(metadataOf(old.Object), finalizer)
	}
	switch {
	case begins(metav1.FinalizerOrphanDependents):
		s.examine(r)
	case begins(metav1.FinalizerDeleteDependents):
		s.examineDependents(r.object().GetUID())
		s.examine(r)
	}
}

// An ownerState is the state of an owner for the garbage collector.
type ownerState int

const (
	unresolved ownerState = iota // not known: the kind is unknown, or is namespaced while the dependent is not
	dangling                     // the owner does not exist; without Options.RequireOwners, it did exist before
	waiting                      // the owner waits for its dependents, in the foreground
	solid                        // the owner exists and does not wait
)

func (s *store) stateOfOwner(r *record, ref any) ownerState {
	owner, k, at := s.owner(r, ref)
	_, absent := s.absent[ownerUID(ref)]
	switch {
	case owner != nil && waitsFor(metadataOf(owner.object().Object), metav1.FinalizerDeleteDependents):
		return waiting
	case owner != nil:
		return solid
	case k != nil && !k.ClusterScoped && at.Namespace == "":
		return unresolved
	case absent:
		return dangling
	case k == nil:
		return unresolved
	case !s.options.RequireOwners && !s.wasThere(k.table, at, ownerUID(ref)):
		return solid
	}
	return dangling
}

// fewIncarnations is the number of removed objects of one name that wasThere looks at.
const fewIncarnations = 1 << 10

// wasThere reports whether one of the latest removed objects of the name had the uid.
func (s *store) wasThere(t *table, at types.NamespacedName, uid types.UID) bool {
	last := t.incarnations.of(at)
	for n := last - min(last, fewIncarnations); n < last; n++ {
		if s.uidOf(t, at, n) == string(uid) {
			return true
		}
	}
	return false
}

// owner finds the object that a reference names, its kind, and its namespace and name. A missing
// object and an unknown kind are nil.
func (s *store) owner(dependent *record, ref any) (*record, *kind, types.NamespacedName) {
	m, _ := object.ToMap(ref)
	apiVersion, _ := object.String(m, "apiVersion")
	kind, _ := object.String(m, "kind")
	name, _ := object.String(m, "name")
	k := s.kinds[schema.FromAPIVersionAndKind(apiVersion, kind)]
	if k == nil {
		return nil, nil, types.NamespacedName{}
	}
	at := k.key(types.NamespacedName{Namespace: dependent.key.Namespace, Name: name})
	r := k.table.records[at]
	if r == nil || r.object().GetUID() != ownerUID(ref) {
		return nil, k, at
	}
	return r, k, at
}

func (s *store) dependentsOf(uid types.UID) []*record {
	return slices.SortedFunc(maps.Keys(s.dependents[uid]), byPlace)
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

func isBlocking(ref any) bool {
	m, _ := object.ToMap(ref)
	blocks, _ := object.Bool(m, "blockOwnerDeletion")
	return blocks
}

// withoutBlocking returns the references with blockOwnerDeletion set to false.
func withoutBlocking(refs []any) []any {
	out := slices.Clone(refs)
	for i, ref := range refs {
		if m, ok := object.ToMap(ref); ok && isBlocking(ref) {
			out[i] = withField(m, "blockOwnerDeletion", false)
		}
	}
	return out
}
