package reconcile

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/object"
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
// namespace is "".
func (c *Cache) Select(kind schema.GroupVersionKind, namespace string, by labels.Selector) (found []*unstructured.Unstructured) {
	for _, obj := range c.List(kind, namespace) {
		set, _ := object.Map(obj.Object, "metadata", "labels")
		if by.Matches(labelSet(set)) {
			found = append(found, obj)
		}
	}
	return found
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

// labelSet reads labels without a copy. It is a [labels.Labels].
type labelSet map[string]any

func (l labelSet) Has(key string) bool { _, ok := l[key]; return ok }

func (l labelSet) Get(key string) string { v, _ := l.Lookup(key); return v }

func (l labelSet) Lookup(key string) (string, bool) { v, ok := l[key].(string); return v, ok }
