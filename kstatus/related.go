package kstatus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/ownership"
)

// pageSize is how many objects a Reader is asked for at once.
const pageSize = 500

// Inspect is [Rules.Compute] and [Rules.Combine] with the children that the reader has: the Pods and ReplicaSets of a Deployment, the
// Pods of a StatefulSet, DaemonSet, ReplicaSet or Job, the EndpointSlices of a Service, the StorageClass of a claim that has no node yet.
// Children are those whose controller the object is, by uid, and of its current revision only; Pods come first, then by name.
//
// The verdict holds also with an error, which says which look-up failed: it never depends on what could not be seen.
func (r *Rules) Inspect(ctx context.Context, reader Reader, obj *unstructured.Unstructured, now time.Time) (Result, []Child, error) {
	own := r.Compute(obj, now)
	if obj == nil || obj.Object == nil {
		return own, nil, nil
	}
	f := kindred{rules: r, reader: reader, now: now, wants: ownership.FactsOf(obj).Wants, owners: []types.UID{obj.GetUID()}}
	var errs []error
	for _, place := range ownership.Places(obj) {
		if err := f.level(ctx, place); err != nil {
			errs = append(errs, fmt.Errorf("look up %s: %w", place.Kind.GroupKind(), err))
		}
	}
	result := r.Combine(obj.GroupVersionKind().GroupKind(), own, f.children)
	if result.Status == InProgress {
		result.RecheckAfter = soonest(own.RecheckAfter, f.children)
	}
	return result, f.children, errors.Join(errs...)
}

// soonest is when to look again at an object or a child of it, whichever comes first.
func soonest(d time.Duration, children []Child) time.Duration {
	for _, c := range children {
		if after := c.Result.RecheckAfter; after > 0 && (d == 0 || after < d) {
			d = after
		}
	}
	return d
}

// A kindred is what is found of the kin of one object, level by level.
type kindred struct {
	rules    *Rules
	reader   Reader
	now      time.Time
	wants    string      // revision of the next level
	owners   []types.UID // of the next level
	children []Child
}

// level adds the children at a place, before those of the levels above. They own the next one.
func (f *kindred) level(ctx context.Context, place ownership.Place) error {
	if len(f.owners) == 0 {
		return nil
	}
	objects, err := f.find(ctx, place)
	if place.Name == "" {
		objects = f.current(objects)
	}
	f.wants, f.owners = "", nil
	var level []Child
	for _, obj := range objects {
		f.owners = append(f.owners, obj.GetUID())
		level = append(level, f.rules.Child(obj, f.now))
	}
	slices.SortFunc(level, func(a, b Child) int { return cmp.Compare(a.name, b.name) })
	f.children = append(level, f.children...)
	return err
}

// current are those of the objects that belong to the owners, in the revision that they want.
func (f *kindred) current(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	objects = slices.DeleteFunc(objects, func(obj *unstructured.Unstructured) bool {
		owner := ownership.FactsOf(obj).Owner
		return owner == "" || !slices.Contains(f.owners, owner)
	})
	current := ownership.Current(f.wants, func(yield func(string) bool) {
		for _, obj := range objects {
			if !yield(ownership.FactsOf(obj).Revision) {
				return
			}
		}
	})
	return slices.DeleteFunc(objects, func(obj *unstructured.Unstructured) bool { return !current(ownership.FactsOf(obj).Revision) })
}

// find returns all objects of a place.
func (f *kindred) find(ctx context.Context, place ownership.Place) ([]*unstructured.Unstructured, error) {
	if place.Name != "" {
		obj, err := f.reader.Get(ctx, place.Kind, types.NamespacedName{Namespace: place.Namespace, Name: place.Name})
		if err != nil || obj == nil {
			return nil, err
		}
		return []*unstructured.Unstructured{obj}, nil
	}
	var found []*unstructured.Unstructured
	o := place.Options()
	for o.Limit = pageSize; ; {
		page, err := f.reader.List(ctx, place.Kind, place.Namespace, o)
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
