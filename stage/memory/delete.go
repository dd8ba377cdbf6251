package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stagecraft-go/stagecraft/internal/object"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Delete deletes an object. An object with finalizers gets a deletionTimestamp and stays until its
// finalizers are removed. A Pod with a grace period stays until it is deleted again with a grace
// period of 0. A Pod that has no node or has ended has no grace period.
//
// The garbage collector handles the dependents, in the same call or, with Options.LateCollection,
// in calls of Collect. o.PropagationPolicy Background deletes dependents after the object, and
// Foreground deletes them before the object. Orphan deletes no dependent and only removes the owner
// references. The default is the same as in the API: Orphan for Jobs and ReplicationControllers,
// Background for all other kinds. The deletion of a Namespace first deletes its Pods, and then its
// other objects. The Namespaces default, kube-system and kube-public cannot be deleted: the error
// is Forbidden.
func (c *Cluster) Delete(ctx context.Context, gvk schema.GroupVersionKind, name types.NamespacedName, o metav1.DeleteOptions) error {
	r := request{ctx: ctx, Request: Request{Verb: "delete", Kind: gvk, Name: name}, dryRun: len(o.DryRun) > 0}
	_, err := c.write(r, func(r *request) (*unstructured.Unstructured, error) {
		old, err := r.stored()
		if err != nil {
			return nil, err
		}
		if err := r.checkPreconditions(old.object(), o.Preconditions); err != nil {
			return nil, err
		}
		if old.isImmortal() {
			return nil, apierrors.NewForbidden(namespaces, r.Name.Name, errors.New("this namespace may not be deleted"))
		}
		if err := r.review(r.before.Object, nil); err != nil || r.dryRun {
			return nil, err
		}
		r.delete(old, o)
		return nil, nil
	})
	return err
}

// immortal are the namespaces that cannot be deleted, as in the admission plugin NamespaceLifecycle
// of kube-apiserver.
var immortal = map[string]bool{metav1.NamespaceDefault: true, metav1.NamespaceSystem: true, metav1.NamespacePublic: true}

func (r *record) isImmortal() bool {
	return r.kind.groupResource() == namespaces && immortal[r.key.Name]
}

// preconditionFailed is a conflict that names the kind, as in an API server. Other conflicts name
// the resource.
func (r *request) preconditionFailed(format string, args ...any) error {
	return apierrors.NewConflict(schema.GroupResource{Group: r.kind.Group, Resource: r.kind.Kind.Kind}, r.Name.Name, fmt.Errorf(format, args...))
}

func (r *request) checkPreconditions(obj *unstructured.Unstructured, p *metav1.Preconditions) error {
	switch {
	case p == nil:
	case p.UID != nil && *p.UID != obj.GetUID():
		return r.preconditionFailed("the UID in the precondition (%s) does not match the UID in record (%s). The object might have been deleted and then recreated", *p.UID, obj.GetUID())
	case p.ResourceVersion != nil && *p.ResourceVersion != obj.GetResourceVersion():
		return r.preconditionFailed("the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). The object might have been modified", *p.ResourceVersion, obj.GetResourceVersion())
	}
	return nil
}

// delete starts the deletion of an object, shortens its grace period, or removes the object.
func (s *store) delete(r *record, o metav1.DeleteOptions) {
	if r.isImmortal() {
		return // the garbage collector cannot delete it either
	}
	next := fork(r.object().Object)
	metadata := metadataOf(next)
	changed := r.mark(s, metadata, o)
	if r.kind.groupResource() == namespaces {
		s.terminate(r, next)
		delete(metadata, "deletionGracePeriodSeconds") // an API server does not set it there
	}
	if changed || !r.kind.has(graceful) {
		changed = setPropagation(metadata, r.kind.propagation(metadata, o)) || changed
	}
	switch {
	case finished(metadata) && !s.occupied(r):
		if changed && r.kind.has(graceful) {
			s.put(r, next) // watchers see the end of the grace period before the end of the object, as on an API server
		}
		s.drop(r)
	case changed:
		s.put(r, next)
	}
}

// propagation returns the policy for the dependents of an object that is deleted with the options.
func (k *kind) propagation(metadata map[string]any, o metav1.DeleteOptions) metav1.DeletionPropagation {
	switch {
	case o.PropagationPolicy != nil:
		return *o.PropagationPolicy
	case o.OrphanDependents != nil && *o.OrphanDependents: //nolint:staticcheck // the API still has it
		return metav1.DeletePropagationOrphan
	case o.OrphanDependents != nil: //nolint:staticcheck // as above
		return metav1.DeletePropagationBackground
	case k.has(orphans):
		return propagation(metadata, metav1.DeletePropagationOrphan)
	}
	return propagation(metadata, metav1.DeletePropagationBackground)
}

// propagation returns the policy that the finalizers of an object name for its dependents, or else
// a default.
func propagation(metadata map[string]any, otherwise metav1.DeletionPropagation) metav1.DeletionPropagation {
	for _, f := range finalizersOf(metadata) {
		for policy, finalizer := range propagationFinalizers {
			if f == finalizer {
				return policy
			}
		}
	}
	return otherwise
}

// propagationFinalizers are the finalizers that keep an object until the garbage collector has
// applied a policy.
var propagationFinalizers = map[metav1.DeletionPropagation]string{
	metav1.DeletePropagationOrphan:     metav1.FinalizerOrphanDependents,
	metav1.DeletePropagationForeground: metav1.FinalizerDeleteDependents,
}

// setPropagation gives an object the finalizer of a policy, and removes the finalizers of other
// policies. It reports whether the finalizers changed.
func setPropagation(metadata map[string]any, policy metav1.DeletionPropagation) bool {
	list, _ := object.Slice(metadata, "finalizers")
	wanted := propagationFinalizers[policy]
	next := slices.DeleteFunc(slices.Clone(list), func(f any) bool {
		return f != wanted && (f == metav1.FinalizerOrphanDependents || f == metav1.FinalizerDeleteDependents)
	})
	if wanted != "" && !slices.Contains(next, any(wanted)) {
		next = append(next, wanted)
	} else if len(next) == len(list) {
		return false
	}
	metadata["finalizers"] = next
	dropEmpty(metadata)
	return true
}

// mark sets the deletionTimestamp, or moves it to an earlier time. It reports whether the object
// changed.
func (r *record) mark(s *store, metadata map[string]any, o metav1.DeleteOptions) bool {
	if metadata["deletionTimestamp"] != nil {
		return hasten(metadata, o)
	}
	grace := r.gracePeriod(o)
	at := s.currentTimestamp()
	if grace > 0 {
		at = s.timestamp(seconds(grace))
	}
	metadata["deletionTimestamp"] = at
	metadata["deletionGracePeriodSeconds"] = grace
	bump(metadata)
	return true
}

// gracePeriod returns the seconds between the request for the deletion and the deletionTimestamp.
func (r *record) gracePeriod(o metav1.DeleteOptions) int64 {
	if !r.kind.has(graceful) || o.GracePeriodSeconds != nil && *o.GracePeriodSeconds == 0 {
		return 0
	}
	node, _ := object.String(r.object().Object, "spec", "nodeName")
	phase, _ := object.String(r.object().Object, "status", "phase")
	if node == "" || phase == "Succeeded" || phase == "Failed" {
		return 0
	}
	grace, given := object.Int64(r.object().Object, "spec", "terminationGracePeriodSeconds")
	if !given {
		grace = 30
	}
	if o.GracePeriodSeconds != nil {
		grace = *o.GracePeriodSeconds
	}
	if grace < 0 {
		return 1
	}
	return grace
}

// hasten shortens the grace period of an object that is being deleted, and never lengthens it.
func hasten(metadata map[string]any, o metav1.DeleteOptions) bool {
	grace, _ := object.ToInt64(metadata["deletionGracePeriodSeconds"])
	if grace == 0 || o.GracePeriodSeconds == nil {
		return false
	}
	wanted := *o.GracePeriodSeconds
	if wanted < 0 {
		wanted = 1
	}
	if wanted >= grace {
		return false
	}
	text, _ := metadata["deletionTimestamp"].(string)
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		metadata["deletionTimestamp"] = at.Add(seconds(wanted - grace)).Format(time.RFC3339)
	}
	metadata["deletionGracePeriodSeconds"] = wanted
	return true
}

// occupied reports whether a namespace still contains objects.
func (s *store) occupied(r *record) bool {
	return r.kind.groupResource() == namespaces && s.contents[r.key.Name] > 0
}

// inNamespace returns the objects of a namespace, always in the same order.
func (s *store) inNamespace(namespace string) (found []*record) {
	if s.contents[namespace] == 0 {
		return nil
	}
	for _, t := range s.tables {
		found = append(found, t.within(namespace)...)
	}
	slices.SortFunc(found, byPlace)
	return found
}
