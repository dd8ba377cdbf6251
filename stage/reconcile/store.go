package reconcile

import (
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
	byLabel      *labelIndex // nil before the first Select by a label
	selectors    map[*SelectorIndex]*selectorIndex
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
		s.each(func(i index) { i.add(e) })
		return Change{New: obj}, true
	case !newer(e.obj, obj):
		return Change{}, false
	}
	old := e.obj
	e.obj = obj
	s.each(func(i index) { i.move(e, old) })
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
	s.each(func(i index) { i.remove(e) })
	return Change{Old: e.obj}, true
}

// An index follows the objects of a store.
type index interface {
	add(*entry)
	// move takes in a new state of an object; old is the state before.
	move(e *entry, old *unstructured.Unstructured)
	remove(*entry)
}

// each calls a function for all indexes.
func (s *store) each(do func(index)) {
	do(&s.all)
	do(&s.byNamespace)
	do(&s.byController)
	for _, i := range s.indexes {
		do(i)
	}
	if s.byLabel != nil {
		do(s.byLabel)
	}
	for _, i := range s.selectors {
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
