package control

import (
	"cmp"
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/selectors"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// Claim returns the objects of a kind that belong to an owner. It adopts objects that the owner
// selects and that have no controller. It releases objects that the owner controls and no longer
// selects. For an owner that is being deleted it does neither.
func (c Call) Claim(kind schema.GroupVersionKind, owner *unstructured.Unstructured, s selectors.Selector) ([]*unstructured.Unstructured, error) {
	return c.claim(kind, owner, s, func(*unstructured.Unstructured) bool { return true })
}

// ClaimSome is as Claim, but only objects for which a function is true are adopted or released.
func (c Call) ClaimSome(kind schema.GroupVersionKind, owner *unstructured.Unstructured, may func(*unstructured.Unstructured) bool) ([]*unstructured.Unstructured, error) {
	return c.claim(kind, owner, selectors.Of(owner), may)
}

func (c Call) claim(kind schema.GroupVersionKind, owner *unstructured.Unstructured, s selectors.Selector, may func(*unstructured.Unstructured) bool) ([]*unstructured.Unstructured, error) {
	var claimed []*unstructured.Unstructured
	var errs []error
	for _, obj := range c.Cache.Owned(kind, owner.GetUID()) {
		switch {
		case s.Matches(obj):
			claimed = append(claimed, obj)
		case !fields.IsTerminating(owner) && may(obj):
			errs = append(errs, c.release(obj, owner))
		}
	}
	if fields.IsTerminating(owner) {
		return claimed, nil
	}
	for _, obj := range c.Cache.Owned(kind, "") {
		if obj.GetNamespace() != owner.GetNamespace() || fields.IsTerminating(obj) || !s.Matches(obj) || !may(obj) {
			continue
		}
		adopted, err := c.adopt(obj, owner)
		if err == nil {
			claimed = append(claimed, adopted)
		}
		errs = append(errs, err)
	}
	return claimed, errors.Join(errs...)
}

func (c Call) adopt(obj, owner *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	refs := append(slices.Clone(fields.Slice(obj.Object, "metadata", "ownerReferences")), ControllerRef(owner))
	return c.MergePatch(obj, map[string]any{"metadata": map[string]any{"ownerReferences": refs}})
}

func (c Call) release(obj, owner *unstructured.Unstructured) error {
	refs := slices.Clone(fields.Slice(obj.Object, "metadata", "ownerReferences"))
	refs = slices.DeleteFunc(refs, func(v any) bool {
		ref, _ := object.ToMap(v)
		return fields.String(ref, "uid") == string(owner.GetUID())
	})
	_, err := c.MergePatch(obj, map[string]any{"metadata": map[string]any{"ownerReferences": refs}})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// WatchOwned returns the watches of a controller whose owners own objects of a kind. A change
// matters to the owner of the object. If the object has no controller, the change matters to the
// owners that select it and have to adopt it.
func WatchOwned(kind, owner schema.GroupVersionKind) []reconcile.Watch {
	index := OwnersBySelector(owner)
	orphans := func(c *reconcile.Cache, ch reconcile.Change) []types.NamespacedName {
		if ch.New == nil || HasController(ch.New) {
			return nil
		}
		return NamesOf(c.Selecting(index, ch.New))
	}
	return []reconcile.Watch{{Kind: kind}, {Kind: kind, Map: orphans}}
}

// OwnersBySelector returns an index of the owners of a kind by their selectors. It is the same for all
// loops. Only the kinds of workloads have one.
func OwnersBySelector(owner schema.GroupVersionKind) *reconcile.SelectorIndex {
	return ownersBySelector[owner]
}

var ownersBySelector = indexesOf(kinds.Deployment, kinds.ReplicaSet, kinds.ReplicationController, kinds.StatefulSet, kinds.DaemonSet, kinds.Job)

func indexesOf(owners ...schema.GroupVersionKind) map[schema.GroupVersionKind]*reconcile.SelectorIndex {
	indexes := map[schema.GroupVersionKind]*reconcile.SelectorIndex{}
	for _, owner := range owners {
		indexes[owner] = &reconcile.SelectorIndex{Kind: owner, Selector: func(obj *unstructured.Unstructured) labels.Selector { return selectors.Of(obj).Labels() }}
	}
	return indexes
}

// Selecting returns the names of the objects of an index that select an object before or after a
// change.
func Selecting(c *reconcile.Cache, i *reconcile.SelectorIndex, ch reconcile.Change) []types.NamespacedName {
	var found []*unstructured.Unstructured
	for _, obj := range []*unstructured.Unstructured{ch.Old, ch.New} {
		if obj != nil {
			found = append(found, c.Selecting(i, obj)...)
		}
	}
	slices.SortFunc(found, func(a, b *unstructured.Unstructured) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return NamesOf(slices.Compact(found))
}

// NamesOf returns the names of objects.
func NamesOf(objs []*unstructured.Unstructured) (names []types.NamespacedName) {
	for _, obj := range objs {
		names = append(names, NameOf(obj))
	}
	return names
}

// HasController reports whether an owner controls an object.
func HasController(obj *unstructured.Unstructured) bool {
	return controllerOf(obj) != nil
}
