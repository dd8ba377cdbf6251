package reconcile

import (
	"iter"
	"slices"
	"sort"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// A Cache has the objects that the controllers of a Loop watch. Its results are shared and must not
// be changed. Lists are ordered by namespace and name, and later events do not change them.
type Cache struct {
	stores map[schema.GroupVersionKind]*store
}

// An Index finds the objects of a kind by a value that is read from them, for example Pods by their
// node. List it in [Controller.Indexes]. Its address identifies an Index: two controllers with the
// same pointer share the work.
type Index struct {
	Kind schema.GroupVersionKind
	// Value returns the value of an object. It must depend only on the object.
	Value func(*unstructured.Unstructured) string
	// Order compares two objects with the same value, for [Cache.By] and [Cache.Ascend]. It must depend
	// only on the objects. Equal objects are ordered by namespace and name, which is the default.
	Order func(a, b *unstructured.Unstructured) int
}

// Get returns an object, or nil if it is not in the cache.
func (c *Cache) Get(kind schema.GroupVersionKind, name types.NamespacedName) *unstructured.Unstructured {
	if s := c.stores[kind]; s != nil {
		if e := s.entries[name]; e != nil {
			return e.obj
		}
	}
	return nil
}

// List returns the objects of a kind in a namespace, or in all namespaces if namespace is "".
func (c *Cache) List(kind schema.GroupVersionKind, namespace string) []*unstructured.Unstructured {
	s := c.stores[kind]
	switch {
	case s == nil:
		return nil
	case namespace == "":
		return s.all.objects()
	}
	return s.byNamespace.list(namespace)
}

// Select returns the objects of a kind whose labels match, in a namespace, or in all namespaces if
// namespace is "". In one namespace, a selector that requires a label with one value costs as much
// as the objects with that label, and not as all objects.
func (c *Cache) Select(kind schema.GroupVersionKind, namespace string, by labels.Selector) (found []*unstructured.Unstructured) {
	for _, obj := range c.candidates(kind, namespace, by) {
		if by.Matches(labelsOf(obj)) {
			found = append(found, obj)
		}
	}
	return found
}

func (c *Cache) candidates(kind schema.GroupVersionKind, namespace string, by labels.Selector) []*unstructured.Unstructured {
	s := c.stores[kind]
	requirements, selectable := by.Requirements()
	if s == nil || !selectable {
		return nil
	}
	if namespace != "" && slices.ContainsFunc(requirements, func(r labels.Requirement) bool { _, one := onlyValue(r); return one }) {
		if s.byLabel == nil {
			s.byLabel = newLabelIndex(s)
		}
		found, _ := s.byLabel.candidates(namespace, requirements)
		return found
	}
	return c.List(kind, namespace)
}

// Selecting returns the objects of an index in a namespace whose selectors match the labels of an
// object. It costs as much as the selectors that require one of these labels, and the selectors that
// require no label with one value.
func (c *Cache) Selecting(i *SelectorIndex, obj *unstructured.Unstructured) []*unstructured.Unstructured {
	s := c.stores[i.Kind]
	if s == nil {
		return nil
	}
	known := s.selectors[i]
	if known == nil {
		known = newSelectorIndex(s, i.Selector)
		if s.selectors == nil {
			s.selectors = map[*SelectorIndex]*selectorIndex{}
		}
		s.selectors[i] = known
	}
	return known.selecting(obj)
}

// Owned returns the objects of a kind whose controller has the uid. For the uid "" it returns the
// objects without a controller.
func (c *Cache) Owned(kind schema.GroupVersionKind, owner types.UID) []*unstructured.Unstructured {
	if s := c.stores[kind]; s != nil {
		return s.byController.list(string(owner))
	}
	return nil
}

// By returns the objects that an index finds by a value. The result is empty if no controller lists
// the index.
func (c *Cache) By(i *Index, value string) []*unstructured.Unstructured {
	if s := c.stores[i.Kind]; s != nil && s.indexes[i] != nil {
		return s.indexes[i].list(value)
	}
	return nil
}

// Ascend returns the objects that an index finds by a value, in its order, from the first for which a
// function is true. The function must be true for all objects after that; nil means all. Nothing may
// be written while the sequence is read. Unlike [Cache.By], it costs as much as what is read.
func (c *Cache) Ascend(i *Index, value string, from func(*unstructured.Unstructured) bool) iter.Seq[*unstructured.Unstructured] {
	return func(yield func(*unstructured.Unstructured) bool) {
		s := c.stores[i.Kind]
		if s == nil || s.indexes[i] == nil || s.indexes[i].sets[value] == nil {
			return
		}
		order := s.indexes[i].sets[value].sorted()
		if from != nil {
			order = order[sort.Search(len(order), func(at int) bool { return from(order[at].obj) }):]
		}
		for _, e := range order {
			if !yield(e.obj) {
				return
			}
		}
	}
}
