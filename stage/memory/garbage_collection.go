package memory

import (
	"cmp"
	"slices"
	"time"

	"github.com/stagecraft-go/stagecraft/internal/object"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Collect does one step of the pending garbage collection, and reports whether a step was pending.
// A step writes at most one object. It deletes a dependent, or an object of a namespace that is
// being deleted; it removes owner references; or it removes the finalizer of an owner that waited
// for its dependents. Only a cluster with [Options.LateCollection] has pending steps.
func (c *Cluster) Collect() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.collect()
}

// Uncollected returns the time since which the next step of [Cluster.Collect] is pending. It
// returns false without a pending step.
func (c *Cluster) Uncollected() (since time.Time, waits bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if len(c.garbage) == 0 {
		return time.Time{}, false
	}
	return c.garbage[0].since, true
}

// A collection is a step of garbage collection: the garbage collector looks at an object, and
// decides by the state of the store at this time.
type collection struct {
	*record
	orphanOf  types.UID // only remove the reference to this owner
	emptying  bool      // delete it, because its namespace is terminating
	reporting bool      // write the conditions of a namespace that is terminating
	since     time.Time // the time of the cause; only with LateCollection
}

// examine makes the garbage collector look at an object. Several calls before it does so count
// once.
func (s *store) examine(r *record) {
	if !r.examined {
		r.examined = true
		s.queue(collection{record: r})
	}
}

func (s *store) queue(c collection) {
	if s.options.LateCollection {
		c.since = s.options.Now()
	}
	s.garbage = append(s.garbage, c)
}

func (s *store) examineDependents(owner types.UID) {
	for _, r := range s.dependentsOf(owner) {
		s.examine(r)
	}
}

// settle handles the consequences of a write.
func (s *store) settle() {
	s.releaseNamespaces()
	for !s.options.LateCollection && s.collect() {
	}
	s.bury()
}

// bury lets go of the objects that a write has removed. Their tables keep the records for a while.
func (s *store) bury() {
	for _, r := range s.dropped {
		r.slot.set(nil)
	}
	s.dropped = nil
}

func (s *store) collect() bool {
	if len(s.garbage) == 0 {
		s.garbage = nil
		return false
	}
	next := s.garbage[0]
	s.garbage = s.garbage[1:]
	switch {
	case next.gone:
	case next.orphanOf != "":
		s.removeOwner(next.record, next.orphanOf)
	case next.emptying:
		s.delete(next.record, deleteOptions(metav1.DeletePropagationBackground))
	case next.reporting:
		s.report(next.record)
	default:
		next.examined = false
		s.collectRecord(next.record)
	}
	s.releaseNamespaces()
	return true
}

// collectRecord handles an object like the garbage collector of Kubernetes (attemptToDeleteItem and
// attemptToOrphan of pkg/controller/garbagecollector).
func (s *store) collectRecord(r *record) {
	metadata := metadataOf(r.object().Object)
	if _, is := s.terminated[r]; is {
		s.empty(r)
	}
	switch {
	case waitsFor(metadata, metav1.FinalizerOrphanDependents):
		s.orphanDependents(r)
	case waitsFor(metadata, metav1.FinalizerDeleteDependents):
		s.deleteDependents(r)
	case metadata["deletionTimestamp"] == nil:
		s.deleteUnowned(r)
	}
}

// waitsFor reports whether an object is being deleted and has a finalizer of the garbage collector.
func waitsFor(metadata map[string]any, finalizer string) bool {
	return metadata["deletionTimestamp"] != nil && slices.Contains(finalizersOf(metadata), finalizer)
}

// orphanDependents removes the owner reference from the dependents, one after another, and then
// removes the finalizer of the owner.
func (s *store) orphanDependents(owner *record) {
	uid := owner.object().GetUID()
	dependents := s.dependentsOf(uid)
	if len(dependents) == 0 {
		s.removeFinalizer(owner, metav1.FinalizerOrphanDependents)
		return
	}
	for _, r := range dependents {
		s.queue(collection{record: r, orphanOf: uid})
	}
	s.examine(owner)
}

// deleteDependents looks at the dependents that block the foreground deletion of an owner. Without
// such dependents it removes the finalizer of the owner. It looks at each dependent once: later it only
// asks whether there are still some.
func (s *store) deleteDependents(owner *record) {
	uid := owner.object().GetUID()
	if len(s.blocking[uid]) > 0 {
		return
	}
	blocking := slices.DeleteFunc(s.dependentsOf(uid), func(r *record) bool { return !r.blocks(owner) })
	if len(blocking) == 0 {
		s.removeFinalizer(owner, metav1.FinalizerDeleteDependents)
		return
	}
	if s.blocking == nil {
		s.blocking = map[types.UID]map[*record]struct{}{}
	}
	s.blocking[uid] = map[*record]struct{}{}
	for _, r := range blocking {
		s.blocking[uid][r] = struct{}{}
		if metadataOf(r.object().Object)["deletionTimestamp"] == nil {
			s.examine(r)
		}
	}
}

// reblock takes in that an object has other owners: it may block the deletion of one no longer, or of
// another one, whose dependents are then looked at again.
func (s *store) reblock(r *record, before, now []any) {
	for _, ref := range before {
		uid := ownerUID(ref)
		if delete(s.blocking[uid], r); len(s.blocking[uid]) == 0 {
			delete(s.blocking, uid)
		}
	}
	for _, ref := range now {
		delete(s.blocking, ownerUID(ref))
	}
}

// blocks reports whether an object blocks the deletion of its owner.
func (r *record) blocks(owner *record) bool {
	uid := owner.object().GetUID()
	return slices.ContainsFunc(ownerRefs(r.object()), func(ref any) bool { return ownerUID(ref) == uid && isBlocking(ref) })
}

// deleteUnowned deletes an object if all its owners are missing. It keeps an object without owner
// references, or with an owner that the garbage collector cannot resolve. If only some owners are
// missing, it removes the references to them.
func (s *store) deleteUnowned(r *record) {
	refs := ownerRefs(r.object())
	var kept []any
	awaited := false // by an owner
	for _, ref := range refs {
		switch s.stateOfOwner(r, ref) {
		case unresolved:
			return
		case solid:
			kept = append(kept, ref)
		case waiting:
			awaited = true
		}
	}
	switch {
	case len(kept) == len(refs):
	case len(kept) > 0:
		s.putOwners(r, kept)
	case awaited && len(s.dependents[r.object().GetUID()]) > 0:
		s.deleteInForeground(r)
	default:
		s.delete(r, deleteOptions(propagation(metadataOf(r.object().Object), metav1.DeletePropagationBackground)))
	}
}

// deleteInForeground deletes an object and its dependents. If a dependent is also an owner of one
// of its owners, the object no longer blocks its owners.
func (s *store) deleteInForeground(r *record) {
	for dependent := range s.dependents[r.object().GetUID()] {
		if waitsFor(metadataOf(dependent.object().Object), metav1.FinalizerDeleteDependents) {
			s.putOwners(r, withoutBlocking(ownerRefs(r.object())))
			break
		}
	}
	s.delete(r, deleteOptions(metav1.DeletePropagationForeground))
}

func deleteOptions(policy metav1.DeletionPropagation) metav1.DeleteOptions {
	return metav1.DeleteOptions{PropagationPolicy: &policy}
}

func (s *store) removeOwner(r *record, uid types.UID) {
	refs := ownerRefs(r.object())
	left := slices.DeleteFunc(slices.Clone(refs), func(ref any) bool { return ownerUID(ref) == uid })
	if len(left) < len(refs) {
		s.putOwners(r, left)
	}
}

func (s *store) putOwners(r *record, refs []any) {
	next := fork(r.object().Object)
	metadataOf(next)["ownerReferences"] = refs
	dropEmpty(metadataOf(next))
	s.put(r, next)
}

// removeFinalizer removes a finalizer, and the object with the last one.
func (s *store) removeFinalizer(r *record, finalizer string) {
	next := fork(r.object().Object)
	metadata := metadataOf(next)
	list, _ := object.Slice(metadata, "finalizers")
	metadata["finalizers"] = slices.DeleteFunc(slices.Clone(list), func(f any) bool { return f == finalizer })
	dropEmpty(metadata)
	if finished(metadata) {
		s.drop(r)
		return
	}
	s.put(r, next)
}

// releaseNamespaces removes the terminating namespaces whose last object was removed.
func (s *store) releaseNamespaces() {
	for len(s.emptied) > 0 {
		name := s.emptied[0]
		s.emptied = s.emptied[1:]
		ns := s.tables[namespaces].records[types.NamespacedName{Name: name}]
		if _, waits := s.terminated[ns]; waits && s.contents[name] == 0 && finished(metadataOf(ns.object().Object)) {
			s.drop(ns)
		}
	}
	s.emptied = nil
}

// byPlace orders records of several tables by resource, namespace and name.
func byPlace(a, b *record) int {
	return cmp.Or(
		cmp.Compare(a.kind.Group, b.kind.Group),
		cmp.Compare(a.kind.Resource, b.kind.Resource),
		byKey(a, b),
	)
}
