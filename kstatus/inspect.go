package kstatus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/ownership"
)

// A Reader looks up objects: a client, a cache, or a cluster in memory. The objects that it returns
// are not changed.
type Reader interface {
	// Get returns one object. The namespace of a cluster-scoped kind is "".
	Get(ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName) (*unstructured.Unstructured, error)
	// List returns the objects of a namespace. It obeys the selectors, Limit and Continue.
	List(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (*unstructured.UnstructuredList, error)
}

// pageSize is the number of objects in one page of a Reader.
const pageSize = 500

// Inspect is [Rules.Compute] and [Rules.Combine] with the children that the reader finds: the
// ReplicaSets and Pods of a Deployment, the Pods of a StatefulSet, DaemonSet, ReplicaSet or Job,
// the EndpointSlices of a Service, and the StorageClass of a PersistentVolumeClaim that has no node
// yet.
//
// Children are the objects whose controller owner reference has the uid of the object, of its
// current revision only. Pods come first, then the order is by name.
//
// The error says which look-up failed. The result holds also with an error: it does not use
// children that could not be looked up.
func (r *Rules) Inspect(ctx context.Context, reader Reader, obj *unstructured.Unstructured, now time.Time) (Result, []Child, error) {
	own := r.Compute(obj, now)
	if obj == nil || obj.Object == nil {
		return own, nil, nil
	}
	var errs []error
	if definitions, ok := reader.(DefinitionReader); ok {
		var err error
		if own, err = r.lookUpDefinition(ctx, definitions, obj, own, now); err != nil {
			errs = append(errs, err)
		}
	}
	f := childFinder{
		rules: r, reader: reader, now: now,
		owners: []types.UID{obj.GetUID()}, revision: ownership.Read(obj).CurrentRevision,
	}
	for _, query := range ownership.Queries(obj) {
		if err := f.addLevel(ctx, query); err != nil {
			errs = append(errs, fmt.Errorf("look up %s: %w", query.Kind.GroupKind(), err))
		}
	}
	result := r.Combine(obj.GroupVersionKind().GroupKind(), own, f.children)
	if result.Status == InProgress {
		result.RecheckAfter = firstRecheck(own.RecheckAfter, f.children)
	}
	return result, f.children, errors.Join(errs...)
}

// firstRecheck returns the shortest of the times after which an object and its children must be
// computed again, 0 if none must.
func firstRecheck(d time.Duration, children []Child) time.Duration {
	for _, c := range children {
		if after := c.Result.RecheckAfter; after > 0 && (d == 0 || after < d) {
			d = after
		}
	}
	return d
}

// A childFinder finds the children of one object, level by level.
type childFinder struct {
	rules    *Rules
	reader   Reader
	now      time.Time
	owners   []types.UID // of the next level
	revision string      // of the next level; "": the newest
	children []Child
}

// addLevel adds the children that a query finds before those of the levels above. They are the
// owners of the next level.
func (f *childFinder) addLevel(ctx context.Context, query ownership.Query) error {
	if len(f.owners) == 0 {
		return nil
	}
	objects, err := f.find(ctx, query)
	if query.Name == "" {
		objects = f.owned(objects)
	}
	f.owners, f.revision = nil, ""
	var level []Child
	for _, obj := range objects {
		f.owners = append(f.owners, obj.GetUID())
		level = append(level, f.rules.Child(obj, f.now))
	}
	slices.SortFunc(level, func(a, b Child) int { return cmp.Compare(a.name, b.name) })
	f.children = append(level, f.children...)
	return err
}

// owned returns the objects that belong to the owners and are of their current revision.
func (f *childFinder) owned(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	objects = slices.DeleteFunc(objects, func(obj *unstructured.Unstructured) bool {
		owner := ownership.Read(obj).Owner
		return owner == "" || !slices.Contains(f.owners, owner)
	})
	isCurrent := ownership.CurrentRevision(f.revision, func(yield func(string) bool) {
		for _, obj := range objects {
			if !yield(ownership.Read(obj).Revision) {
				return
			}
		}
	})
	return slices.DeleteFunc(objects, func(obj *unstructured.Unstructured) bool {
		return !isCurrent(ownership.Read(obj).Revision)
	})
}

// find returns all objects that a query matches.
func (f *childFinder) find(ctx context.Context, query ownership.Query) ([]*unstructured.Unstructured, error) {
	if query.Name != "" {
		name := types.NamespacedName{Namespace: query.Namespace, Name: query.Name}
		obj, err := f.reader.Get(ctx, query.Kind, name)
		if err != nil || obj == nil {
			return nil, err
		}
		return []*unstructured.Unstructured{obj}, nil
	}
	var found []*unstructured.Unstructured
	o := query.ListOptions()
	for o.Limit = pageSize; ; {
		page, err := f.reader.List(ctx, query.Kind, query.Namespace, o)
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			found = append(found, &page.Items[i])
		}
		if o.Continue = page.GetContinue(); o.Continue == "" {
			return found, nil
		}
	}
}
