package reconcile

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// An objectIndex has a set of objects for each value that is read from them.
type objectIndex struct {
	value func(*unstructured.Unstructured) string
	order func(a, b *unstructured.Unstructured) int // see Index.Order
	sets  map[string]*objectSet
}

// setOf returns the set of a value, and creates a missing set.
func (i *objectIndex) setOf(value string) *objectSet {
	set := i.sets[value]
	if set == nil {
		set = &objectSet{by: i.order}
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

func (i *objectIndex) add(e *entry) { i.setOf(i.value(e.obj)).add(e) }

// move records the new state of an object, whose value can differ from the old state's.
func (i *objectIndex) move(e *entry, old *unstructured.Unstructured) {
	before, now := i.value(old), i.value(e.obj)
	if before == now && (i.order == nil || i.order(old, e.obj) == 0) {
		i.setOf(now).list = nil
		return
	}
	next := e.obj
	e.obj = old // where it stands in the order of the set
	i.take(e, before)
	e.obj = next
	i.setOf(now).add(e)
}

func (i *objectIndex) remove(e *entry) { i.take(e, i.value(e.obj)) }

func (i *objectIndex) take(e *entry, value string) {
	set := i.setOf(value)
	set.remove(e)
	if len(set.entries) == 0 {
		delete(i.sets, value)
	}
}

// An objectSet is a set of objects. It is sorted when it is listed first, and stays so.
type objectSet struct {
	by      func(a, b *unstructured.Unstructured) int // nil is by name
	entries map[*entry]struct{}
	order   []*entry                     // nil before the first list
	list    []*unstructured.Unstructured // nil if an object has changed since
}

func (s *objectSet) add(e *entry) {
	if s.entries == nil {
		s.entries = map[*entry]struct{}{}
	}
	s.entries[e] = struct{}{}
	s.list = nil
	if s.order != nil {
		at, _ := s.find(e)
		s.order = slices.Insert(s.order, at, e)
	}
}

func (s *objectSet) move(*entry, *unstructured.Unstructured) { s.list = nil }

func (s *objectSet) remove(e *entry) {
	delete(s.entries, e)
	s.list = nil
	if at, found := s.find(e); found {
		s.order = slices.Delete(s.order, at, at+1)
	}
}

func (s *objectSet) find(e *entry) (at int, found bool) {
	return slices.BinarySearchFunc(s.order, e, s.compare)
}

func (s *objectSet) compare(a, b *entry) int {
	if s.by != nil {
		if c := s.by(a.obj, b.obj); c != 0 {
			return c
		}
	}
	return byEntry(a, b)
}

// objects returns the objects, sorted. The list is never changed.
func (s *objectSet) objects() []*unstructured.Unstructured {
	if s.list == nil {
		order := s.sorted()
		s.list = make([]*unstructured.Unstructured, len(order))
		for i, e := range order {
			s.list[i] = e.obj
		}
	}
	return s.list
}

func (s *objectSet) sorted() []*entry {
	if s.order == nil {
		s.order = make([]*entry, 0, len(s.entries))
		for e := range s.entries {
			s.order = append(s.order, e)
		}
		slices.SortFunc(s.order, s.compare)
	}
	return s.order
}

func byEntry(a, b *entry) int { return byName(a.name, b.name) }

func byName(a, s types.NamespacedName) int {
	return cmp.Or(cmp.Compare(a.Namespace, s.Namespace), cmp.Compare(a.Name, s.Name))
}
