package reconcile

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// A Cache holds the objects that the controllers of a Loop watch. What it returns is shared and
// must not be changed; lists are ordered by namespace and name, and are not changed by what happens
// later.
type Cache struct {
	stores map[schema.GroupVersionKind]*store
}

// An Index finds the objects of a kind by something that is read from them, for example Pods by the
// node that they are on. It is listed in [Controller.Indexes] and known by its address: two
// controllers that share it share the work.
type Index struct {
	Kind schema.GroupVersionKind
	// Value is what the object is found by. It must depend on nothing but the object.
	Value func(*unstructured.Unstructured) string
}

// Get returns an object, or nil if there is none.
func (c *Cache) Get(kind schema.GroupVersionKind, name types.NamespacedName) *unstructured.Unstructured {
	if s := c.stores[kind]; s != nil {
		if e := s.entries[name]; e != nil {
			return e.obj
		}
	}
	return nil
}

// List returns the objects of a kind in a namespace, or in all if that is "".
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

// Select returns the objects of a kind in a namespace, or in all if that is "", whose labels match.
func (c *Cache) Select(kind schema.GroupVersionKind, namespace string, by labels.Selector) (found []*unstructured.Unstructured) {
	for _, obj := range c.List(kind, namespace) {
		set, _ := object.Map(obj.Object, "metadata", "labels")
		if by.Matches(labelSet(set)) {
			found = append(found, obj)
		}
	}
	return found
}

// Owned returns the objects of a kind whose controller has the uid; those without a controller if
// it is "".
func (c *Cache) Owned(kind schema.GroupVersionKind, owner types.UID) []*unstructured.Unstructured {
	if s := c.stores[kind]; s != nil {
		return s.byController.list(string(owner))
	}
	return nil
}

// By returns the objects that an index finds by a value. Nothing if no controller lists the index.
func (c *Cache) By(i *Index, value string) []*unstructured.Unstructured {
	if s := c.stores[i.Kind]; s != nil && s.indexes[i] != nil {
		return s.indexes[i].list(value)
	}
	return nil
}

// labelSet reads labels without a copy. It is a [labels.Labels].
type labelSet map[string]any

func (l labelSet) Has(key string) bool { _, ok := l[key]; return ok }

func (l labelSet) Get(key string) string { v, _ := l.Lookup(key); return v }

func (l labelSet) Lookup(key string) (string, bool) { v, ok := l[key].(string); return v, ok }
