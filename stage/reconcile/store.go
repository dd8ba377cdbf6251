package reconcile

import (
	"cmp"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// A store has the objects of one kind. Its maps are nil while they are empty, because most stores
// of a loop stay empty.
type store struct {
	entries      map[types.NamespacedName]*entry
	all          objectSet
	byNamespace  objectIndex
	byController objectIndex // by uid of the controller
	indexes      map[*Index]*objectIndex
	deleted      map[types.UID]bool // objects that a controller deleted, until the watch reports it
}

// An entry is one object in a store. The entry stays when the state of the object changes.
type entry struct {
	name types.NamespacedName
	obj  *unstructured.Unstructured
}

func newStore() *store {
	return &store{
		byNamespace:  objectIndex{value: (*unstructured.Unstructured).GetNamespace},
		byController: objectIndex{value: controllerUID},
	}
}

// update stores a state of an object. It returns false if this state, or a later one, is known.
func (s *store) update(obj *unstructured.Unstructured) (Change, bool) {
	name := nameOf(obj)
	e := s.entries[name]
	switch {
	case s.deleted[obj.GetUID()]:
		return Change{}, false
	case e == nil:
		e = &entry{name: name, obj: obj}
		if s.entries == nil {
			s.entries = map[types.NamespacedName]*entry{}
		}
		s.entries[name] = e
		s.each(func(i *objectIndex) { i.setOf(i.value(obj)).add(e) })
		s.all.add(e)
		return Change{New: obj}, true
	case !newer(e.obj, obj):
		return Change{}, false
	}
	old := e.obj
	e.obj = obj
	s.all.list = nil
	s.each(func(i *objectIndex) { i.move(e, old) })
	return Change{Old: old, New: obj}, true
}

// remove removes an object. It returns false if the store has no object with its uid.
func (s *store) remove(obj *unstructured.Unstructured) (Change, bool) {
	name := nameOf(obj)
	e := s.entries[name]
	if e == nil || e.obj.GetUID() != obj.GetUID() {
		return Change{}, false
	}
	delete(s.entries, name)
	s.each(func(i *objectIndex) { i.remove(e, i.value(e.obj)) })
	s.all.remove(e)
	return Change{Old: e.obj}, true
}

// each calls a function for all indexes.
func (s *store) each(do func(*objectIndex)) {
	do(&s.byNamespace)
	do(&s.byController)
	for _, i := range s.indexes {
		do(i)
	}
}

func controllerUID(obj *unstructured.Unstructured) string {
	_, uid := controllerOf(obj)
	return string(uid)
}

// newer reports whether b comes after a. Versions are numbers that grow, as Kubernetes promises
// since 1.35. If a version is not a number, b is newer.
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

// An objectIndex has a set of objects for each value that is read from them.
type objectIndex struct {
	value func(*unstructured.Unstructured) string
	sets  map[string]*objectSet
}

// setOf returns the set of a value, and creates a missing set.
func (i *objectIndex) setOf(value string) *objectSet {
	set := i.sets[value]
	if set == nil {
		set = &objectSet{}
		if i.sets == nil {
			i.sets = map[string]*objectSet{}
		}
		i.sets[value] = set
	}
	return set
}

// list returns the objects with a value.
func (i *objectIndex) list(value string) []*unstructured.Unstructured {
	if set := i.sets[value]; set != nil {
		return set.objects()
	}
	return nil
}

// move records the new state of an object, whose value can differ from the old state's.
func (i *objectIndex) move(e *entry, old *unstructured.Unstructured) {
	before, now := i.value(old), i.value(e.obj)
	if before == now {
		i.setOf(now).list = nil
		return
	}
	i.remove(e, before)
	i.setOf(now).add(e)
}

func (i *objectIndex) remove(e *entry, value string) {
	set := i.setOf(value)
	set.remove(e)
	if len(set.entries) == 0 {
		delete(i.sets, value)
	}
}

// An objectSet is a set of objects. It is sorted when it is listed.
type objectSet struct {
	entries map[*entry]struct{}
	order   []*entry                     // nil if entries were added or removed since
	list    []*unstructured.Unstructured // nil if an object has changed since
}

func (s *objectSet) add(e *entry) {
	if s.entries == nil {
		s.entries = map[*entry]struct{}{}
	}
	s.entries[e] = struct{}{}
	s.order, s.list = nil, nil
}

func (s *objectSet) remove(e *entry) {
	delete(s.entries, e)
	s.order, s.list = nil, nil
}

// objects returns the objects, sorted. The list is never changed.
func (s *objectSet) objects() []*unstructured.Unstructured {
	if s.list == nil {
		s.sort()
		s.list = make([]*unstructured.Unstructured, len(s.order))
		for i, e := range s.order {
			s.list[i] = e.obj
		}
	}
	return s.list
}

func (s *objectSet) sort() {
	if s.order != nil {
		return
	}
	s.order = make([]*entry, 0, len(s.entries))
	for e := range s.entries {
		s.order = append(s.order, e)
	}
	slices.SortFunc(s.order, func(x, y *entry) int { return byName(x.name, y.name) })
}

func byName(a, s types.NamespacedName) int {
	return cmp.Or(cmp.Compare(a.Namespace, s.Namespace), cmp.Compare(a.Name, s.Name))
}
