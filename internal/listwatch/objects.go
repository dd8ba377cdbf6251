package listwatch

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Objects are those of a source that are there. The zero value has none.
type Objects struct {
	known map[types.NamespacedName]*unstructured.Unstructured
	list  []*unstructured.Unstructured // as far as it was read
	news  []Event                      // of the last call, if it was no list
}

// Take takes an event in and returns what it means: the objects of a list are held back until it is complete, and come after those that are gone
// since the last one. An object of the same name with another UID is another object. The result is valid until the next call.
func (o *Objects) Take(e Event) []Event {
	o.news = o.news[:0]
	switch {
	case e.What == Listing:
		o.list = nil
		return nil
	case e.What == Unlisted:
		o.list = nil
	case e.What == Found && e.InList:
		o.list = append(o.list, e.Object)
		return nil
	case e.What == Listed:
		return append(o.compare(), e)
	case e.What == Found:
		o.put(e.Object)
	case e.What == Gone:
		delete(o.known, NameOf(e.Object))
	}
	o.news = append(o.news, e)
	return o.news
}

// Clear forgets all objects, and returns that they are gone.
func (o *Objects) Clear() []Event {
	o.list = nil
	return o.compare()
}

// All yields the objects, in no order.
func (o *Objects) All() iter.Seq[*unstructured.Unstructured] { return maps.Values(o.known) }

// compare puts a list in the place of what was known, and returns the difference.
func (o *Objects) compare() (news []Event) {
	found := make(map[types.NamespacedName]*unstructured.Unstructured, len(o.list))
	for _, obj := range o.list {
		found[NameOf(obj)] = obj
	}
	for name, old := range o.known {
		if now := found[name]; now == nil || now.GetUID() != old.GetUID() {
			news = append(news, Event{What: Gone, Object: old})
		}
	}
	slices.SortFunc(news, func(a, b Event) int { return byName(NameOf(a.Object), NameOf(b.Object)) })
	for _, obj := range o.list {
		news = append(news, Event{What: Found, Object: obj, InList: true})
	}
	o.known, o.list = found, nil
	return news
}

func (o *Objects) put(obj *unstructured.Unstructured) {
	if o.known == nil {
		o.known = map[types.NamespacedName]*unstructured.Unstructured{}
	}
	name := NameOf(obj)
	if old := o.known[name]; old != nil && old.GetUID() != obj.GetUID() {
		o.news = append(o.news, Event{What: Gone, Object: old})
	}
	o.known[name] = obj
}

// NameOf returns the namespace and name of an object.
func NameOf(obj *unstructured.Unstructured) types.NamespacedName {
	return types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

func byName(a, b types.NamespacedName) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
