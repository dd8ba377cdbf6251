package controllers

import (
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// claimPods returns the Pods of an owner that makes them from a template.
func (c call) claimPods(owner *unstructured.Unstructured, s selector) ([]pod, error) {
	if err := checkSelector(owner, s); err != nil {
		return nil, err
	}
	objs, err := c.claim(pods, owner, s)
	return podsOf(objs), err
}

// claim returns the objects of a kind that belong to an owner. Those that it selects and nobody controls are adopted; those that it controls and
// no longer selects are released.
func (c call) claim(kind schema.GroupVersionKind, owner *unstructured.Unstructured, s selector) ([]*unstructured.Unstructured, error) {
	var mine []*unstructured.Unstructured
	var errs []error
	for _, obj := range c.Cache.Owned(kind, owner.GetUID()) {
		if !s.matches(obj) && !isTerminating(owner) {
			errs = append(errs, c.release(obj, owner))
			continue
		}
		mine = append(mine, obj)
	}
	if isTerminating(owner) {
		return mine, nil
	}
	for _, obj := range c.Cache.Owned(kind, "") {
		if obj.GetNamespace() != owner.GetNamespace() || isTerminating(obj) || !s.matches(obj) {
			continue
		}
		adopted, err := c.adopt(obj, owner)
		if err == nil {
			mine = append(mine, adopted)
		}
		errs = append(errs, err)
	}
	return mine, errors.Join(errs...)
}

func (c call) adopt(obj, owner *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	refs := append(slices.Clone(list(obj.Object, "metadata", "ownerReferences")), controllerRef(owner))
	return c.merge(obj, map[string]any{"metadata": map[string]any{"ownerReferences": refs}})
}

func (c call) release(obj, owner *unstructured.Unstructured) error {
	refs := slices.DeleteFunc(slices.Clone(list(obj.Object, "metadata", "ownerReferences")), func(v any) bool {
		ref, _ := object.ToMap(v)
		return text(ref, "uid") == string(owner.GetUID())
	})
	_, err := c.merge(obj, map[string]any{"metadata": map[string]any{"ownerReferences": refs}})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// claims watches the objects of a kind for those who own or select them.
func claims(kind, owner schema.GroupVersionKind) []reconcile.Watch {
	return []reconcile.Watch{{Kind: kind}, {Kind: kind, Map: func(c *reconcile.Cache, ch reconcile.Change) []types.NamespacedName {
		if ch.New == nil || hasController(ch.New) {
			return nil
		}
		return selectors(c, owner, ch.New)
	}}}
}

// selectors returns those in the namespace of an object that select it.
func selectors(c *reconcile.Cache, kind schema.GroupVersionKind, obj *unstructured.Unstructured) (names []types.NamespacedName) {
	for _, s := range c.List(kind, obj.GetNamespace()) {
		if selectorAt(s).matches(obj) {
			names = append(names, nameOf(s))
		}
	}
	return names
}

func hasController(obj *unstructured.Unstructured) bool {
	return slices.ContainsFunc(trees(obj.Object, "metadata", "ownerReferences"), func(ref map[string]any) bool { return flag(ref, "controller") })
}
