package workloads

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/pods"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// A retention says with which owners the claims of a StatefulSet are deleted: the StatefulSet, or a
// surplus Pod. The garbage collector deletes them.
type retention struct{ whenDeleted, whenScaled bool }

func retentionOf(set *unstructured.Unstructured) retention {
	policy := fields.Map(set.Object, "spec", "persistentVolumeClaimRetentionPolicy")
	return retention{fields.String(policy, "whenDeleted") == "Delete", fields.String(policy, "whenScaled") == "Delete"}
}

// owner returns the object that owns the claims of a Pod, or nil.
func (r *statefulRun) owner(m *member) *unstructured.Unstructured {
	switch scaledDown := m.ordinal < r.start || m.ordinal >= r.end; {
	case r.retention.whenScaled && scaledDown:
		return m.Unstructured
	case r.retention.whenDeleted:
		return r.set
	}
	return nil
}

// updateClaims sets the owners of the claims of a Pod by the retention policy. It reports whether
// it changed any claim.
func (r *statefulRun) updateClaims(m *member) (changed bool, err error) {
	if m.settled {
		return false, nil
	}
	settled := true
	for _, name := range r.claimNames(m.ordinal) {
		claim := r.Cache.Get(kinds.PersistentVolumeClaim, name)
		if claim == nil {
			continue
		}
		owner := r.owner(m)
		if r.hasForeignController(claim, m.Pod) {
			r.Record(r.set, "Warning", "ConflictingController", fmt.Sprintf("PersistentVolumeClaim %s has a conflicting OwnerReference that acts as a manging controller, the retention policy is ignored for this claim", name.Name))
			owner, settled = nil, false // each look records it
		}
		if r.isOwnedBy(claim, owner, m.Pod) {
			continue
		}
		if err := r.setOwner(claim, owner, m.Pod); err != nil {
			return changed, fmt.Errorf("could not update claim %s for delete policy ownerRefs: %w", name.Name, err)
		}
		changed = true
	}
	r.pods.settle(m, settled && !changed)
	return changed, nil
}

// unsettle makes StatefulSets look at the owners of a claim again when they next look at its Pod. The
// change alone does not make them look.
func unsettle(c *reconcile.Cache, ch reconcile.Change, t tracker[*setPods]) {
	claim := cmp.Or(ch.New, ch.Old)
	_, pod, found := strings.Cut(claim.GetName(), "-")
	for ; found; _, pod, found = strings.Cut(pod, "-") { // the name of the template can have hyphens
		at := strings.LastIndexByte(pod, '-')
		if at < 0 {
			return
		}
		set := c.Get(kinds.StatefulSet, types.NamespacedName{Namespace: claim.GetNamespace(), Name: pod[:at]})
		if set == nil {
			continue
		}
		if known, ok := t.of(set.GetUID()); ok && known.claims {
			ordinal := ordinalOf(pod)
			for _, m := range slices.Clone(known.from(ordinal).to(ordinal + 1)) {
				known.settle(m, false)
			}
		}
	}
}

func (r *statefulRun) claimNames(ordinal int64) (names []types.NamespacedName) {
	for _, template := range fields.Maps(r.set.Object, "spec", "volumeClaimTemplates") {
		names = append(names, types.NamespacedName{Namespace: r.Name.Namespace, Name: fields.String(template, "metadata", "name") + "-" + r.podName(ordinal)})
	}
	return names
}

// isOwnedBy reports whether a claim is owned by one object, or by neither the StatefulSet nor the
// Pod if that is nil. A claim that an earlier object of the same name owns is left alone.
func (r *statefulRun) isOwnedBy(claim, owner *unstructured.Unstructured, p pods.Pod) bool {
	if isStale(claim, r.set) || isStale(claim, p.Unstructured) {
		return true
	}
	for _, obj := range []*unstructured.Unstructured{r.set, p.Unstructured} {
		ref := refTo(claim, obj)
		if (ref != nil) != (obj == owner) || ref != nil && !fields.Bool(ref, "controller") {
			return false
		}
	}
	return true
}

func (r *statefulRun) setOwner(claim, owner *unstructured.Unstructured, p pods.Pod) error {
	refs := slices.DeleteFunc(slices.Clone(fields.Slice(claim.Object, "metadata", "ownerReferences")), func(v any) bool {
		ref, _ := object.ToMap(v)
		return names(ref, r.set) || names(ref, p.Unstructured)
	})
	if owner != nil {
		refs = append(refs, control.ControllerRef(owner))
	}
	var value any = refs
	if len(refs) == 0 {
		value = nil
	}
	_, err := r.MergePatch(claim, map[string]any{"metadata": map[string]any{"ownerReferences": value}})
	return err
}

// hasForeignController reports whether a claim to which a policy applies has another controller.
func (r *statefulRun) hasForeignController(claim *unstructured.Unstructured, p pods.Pod) bool {
	if r.retention == (retention{}) {
		return false
	}
	return slices.ContainsFunc(ownerRefs(claim), func(ref map[string]any) bool {
		for _, obj := range []*unstructured.Unstructured{r.set, p.Unstructured} {
			if names(ref, obj) {
				return fields.String(ref, "uid") != string(obj.GetUID())
			}
		}
		return fields.Bool(ref, "controller")
	})
}

// hasStaleClaim reports whether a claim of a Pod that does not exist yet will be deleted with the
// Pod that was there before.
func (r *statefulRun) hasStaleClaim(ordinal int64) bool {
	if !r.retention.whenScaled {
		return false
	}
	return slices.ContainsFunc(r.claimNames(ordinal), func(name types.NamespacedName) bool {
		claim := r.Cache.Get(kinds.PersistentVolumeClaim, name)
		return claim != nil && isStale(claim, control.NewObject(kinds.Pod, r.Name.Namespace, r.podName(ordinal)))
	})
}

func ownerRefs(obj *unstructured.Unstructured) []map[string]any {
	return fields.Maps(obj.Object, "metadata", "ownerReferences")
}

// names reports whether an owner reference is for an object of this kind and name.
func names(ref map[string]any, obj *unstructured.Unstructured) bool {
	return fields.String(ref, "apiVersion") == obj.GetAPIVersion() && fields.String(ref, "kind") == obj.GetKind() && fields.String(ref, "name") == obj.GetName()
}

// isStale reports whether a claim is owned by an object of the same kind and name as another one.
func isStale(claim, obj *unstructured.Unstructured) bool {
	i := slices.IndexFunc(ownerRefs(claim), func(ref map[string]any) bool { return names(ref, obj) })
	return i >= 0 && fields.String(ownerRefs(claim)[i], "uid") != string(obj.GetUID())
}

// refTo returns the owner reference to an object, or nil.
func refTo(claim, obj *unstructured.Unstructured) map[string]any {
	for _, ref := range ownerRefs(claim) {
		if fields.String(ref, "uid") == string(obj.GetUID()) {
			return ref
		}
	}
	return nil
}

// setsOfGoneClaims maps a claim that is gone to the StatefulSet whose Pod owned it: it may wait for
// that.
func setsOfGoneClaims(_ *reconcile.Cache, ch reconcile.Change) (keys []types.NamespacedName) {
	if ch.New != nil {
		return nil
	}
	for _, ref := range ownerRefs(ch.Old) {
		pod := fields.String(ref, "name")
		if i := strings.LastIndexByte(pod, '-'); i > 0 && fields.String(ref, "kind") == "Pod" {
			keys = append(keys, types.NamespacedName{Namespace: ch.Old.GetNamespace(), Name: pod[:i]})
		}
	}
	return keys
}
