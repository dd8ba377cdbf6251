package reconcile

import (
	"cmp"
	"slices"
	"strconv"

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
	shelves map[schema.GroupVersionKind]*shelf
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
	if s := c.shelves[kind]; s != nil {
		if it := s.items[name]; it != nil {
			return it.obj
		}
	}
	return nil
}

// List returns the objects of a kind in a namespace, or in all if that is "".
func (c *Cache) List(kind schema.GroupVersionKind, namespace string) []*unstructured.Unstructured {
	s := c.shelves[kind]
	switch {
	case s == nil:
		return nil
	case namespace == "":
		return s.all.objects()
	}
	return s.spaces.find(namespace)
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
	if s := c.shelves[kind]; s != nil {
		return s.owners.find(string(owner))
	}
	return nil
}

// By returns the objects that an index finds by a value. Nothing if no controller lists the index.
func (c *Cache) By(i *Index, value string) []*unstructured.Unstructured {
	if s := c.shelves[i.Kind]; s != nil && s.indexes[i] != nil {
		return s.indexes[i].find(value)
	}
	return nil
}

// labelSet reads labels without a copy. It is a [labels.Labels].
type labelSet map[string]any

func (l labelSet) Has(key string) bool { _, ok := l[key]; return ok }

func (l labelSet) Get(key string) string { v, _ := l.Lookup(key); return v }

func (l labelSet) Lookup(key string) (string, bool) { v, ok := l[key].(string); return v, ok }

// A shelf holds the objects of one kind.
type shelf struct {
	items   map[types.NamespacedName]*item
	all     bucket
	spaces  drawer // by namespace
	owners  drawer // by uid of the controller
	indexes map[*Index]*drawer
	gone    map[types.UID]bool // that a controller deleted and of which the watch has yet to tell
}

// An item is the place of one object.
type item struct {
	name types.NamespacedName
	obj  *unstructured.Unstructured
}

func newShelf() *shelf {
	return &shelf{
		items:   map[types.NamespacedName]*item{},
		spaces:  drawer{value: (*unstructured.Unstructured).GetNamespace},
		owners:  drawer{value: func(obj *unstructured.Unstructured) string { _, uid := controllerOf(obj); return string(uid) }},
		indexes: map[*Index]*drawer{},
		gone:    map[types.UID]bool{},
	}
}

// put takes in a state of an object. It is false if that, or a later one, is known.
func (s *shelf) put(obj *unstructured.Unstructured) (Change, bool) {
	name := nameOf(obj)
	it := s.items[name]
	switch {
	case s.gone[obj.GetUID()]:
		return Change{}, false
	case it == nil:
		it = &item{name: name, obj: obj}
		s.items[name] = it
		s.each(func(d *drawer) { d.at(d.value(obj)).add(it) })
		s.all.add(it)
		return Change{New: obj}, true
	case !newer(it.obj, obj):
		return Change{}, false
	}
	old := it.obj
	it.obj = obj
	s.all.list = nil
	s.each(func(d *drawer) { d.move(it, old) })
	return Change{Old: old, New: obj}, true
}

// remove takes an object out. It is false if that was not there any more.
func (s *shelf) remove(obj *unstructured.Unstructured) (Change, bool) {
	name := nameOf(obj)
	it := s.items[name]
	if it == nil || it.obj.GetUID() != obj.GetUID() {
		return Change{}, false
	}
	delete(s.items, name)
	s.each(func(d *drawer) { d.drop(it, d.value(it.obj)) })
	s.all.remove(it)
	return Change{Old: it.obj}, true
}

func (s *shelf) each(do func(*drawer)) {
	do(&s.spaces)
	do(&s.owners)
	for _, d := range s.indexes {
		do(d)
	}
}

// newer reports whether b comes after a. Versions are numbers that grow, as Kubernetes promises
// since 1.35; of others the one told last is newer.
func newer(a, b *unstructured.Unstructured) bool {
	va, vb := version(a), version(b)
	return va == 0 || vb == 0 || vb > va
}

func version(obj *unstructured.Unstructured) uint64 {
	text, _ := object.String(obj.Object, "metadata", "resourceVersion")
	n, _ := strconv.ParseUint(text, 10, 64)
	return n
}

func nameOf(obj *unstructured.Unstructured) types.NamespacedName {
	return types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// A drawer has a bucket for each value that is read from the objects.
type drawer struct {
	value   func(*unstructured.Unstructured) string
	buckets map[string]*bucket
}

func (d *drawer) at(value string) *bucket {
	b := d.buckets[value]
	if b == nil {
		b = &bucket{}
		if d.buckets == nil {
			d.buckets = map[string]*bucket{}
		}
		d.buckets[value] = b
	}
	return b
}

func (d *drawer) find(value string) []*unstructured.Unstructured {
	if b := d.buckets[value]; b != nil {
		return b.objects()
	}
	return nil
}

func (d *drawer) move(it *item, old *unstructured.Unstructured) {
	before, now := d.value(old), d.value(it.obj)
	if before == now {
		d.at(now).list = nil
		return
	}
	d.drop(it, before)
	d.at(now).add(it)
}

func (d *drawer) drop(it *item, value string) {
	b := d.at(value)
	b.remove(it)
	if len(b.items) == 0 {
		delete(d.buckets, value)
	}
}

// A bucket is a set of objects that is put in order when it is asked for.
type bucket struct {
	items map[*item]struct{}
	order []*item                      // nil if items have come or gone
	list  []*unstructured.Unstructured // nil if an object has changed
}

func (b *bucket) add(it *item) {
	if b.items == nil {
		b.items = map[*item]struct{}{}
	}
	b.items[it] = struct{}{}
	b.order, b.list = nil, nil
}

func (b *bucket) remove(it *item) {
	delete(b.items, it)
	b.order, b.list = nil, nil
}

func (b *bucket) objects() []*unstructured.Unstructured {
	if b.list == nil {
		b.sort()
		b.list = make([]*unstructured.Unstructured, len(b.order))
		for i, it := range b.order {
			b.list[i] = it.obj
		}
	}
	return b.list
}

func (b *bucket) sort() {
	if b.order != nil {
		return
	}
	b.order = make([]*item, 0, len(b.items))
	for it := range b.items {
		b.order = append(b.order, it)
	}
	slices.SortFunc(b.order, func(x, y *item) int { return byName(x.name, y.name) })
}

func byName(a, b types.NamespacedName) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
