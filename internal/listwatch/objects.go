package listwatch

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Objects are the objects of a source that exist. The zero value has none. They must not be used
// from several goroutines at once.
type Objects struct {
	known map[types.NamespacedName]*unstructured.Unstructured
	list  []*unstructured.Unstructured // the part of the current list that was read
	out   []Event                      // the last result of Add
}

// Add handles an event and returns the events that follow from it. The objects of a list are
// returned when the list is complete, after the deletions since the last list. An object of the
// same name with another uid is another object. The result is valid until the next call.
func (o *Objects) Add(e Event) []Event {
	o.out = o.out[:0]
	switch {
	case e.Type == ListStarted:
		o.list = nil
		return nil
	case e.Type == ListFailed:
		o.list = nil
	case e.Type == Updated && e.InList:
		o.list = append(o.list, e.Object)
		return nil
	case e.Type == Listed:
		return append(o.compare(), e)
	case e.Type == Updated:
		o.put(e.Object)
	case e.Type == Deleted:
		delete(o.known, NameOf(e.Object))
	}
	o.out = append(o.out, e)
	return o.out
}

// Clear forgets all objects, and returns their deletions.
func (o *Objects) Clear() []Event {
	o.list = nil
	return o.compare()
}

// All yields the objects, in no order.
func (o *Objects) All() iter.Seq[*unstructured.Unstructured] { return maps.Values(o.known) }

// compare replaces the known objects by the objects of the list, and returns the difference.
func (o *Objects) compare() (events []Event) {
	found := make(map[types.NamespacedName]*unstructured.Unstructured, len(o.list))
	for _, obj := range o.list {
		found[NameOf(obj)] = obj
	}
	for name, old := range o.known {
		if now := found[name]; now == nil || now.GetUID() != old.GetUID() {
			events = append(events, Event{Type: Deleted, Object: old})
		}
	}
	slices.SortFunc(events, func(a, b Event) int { return byName(NameOf(a.Object), NameOf(b.Object)) })
	for _, obj := range o.list {
		events = append(events, Event{Type: Updated, Object: obj, InList: true})
	}
	o.known, o.list = found, nil
	return events
}

func (o *Objects) put(obj *unstructured.Unstructured) {
	if o.known == nil {
		o.known = map[types.NamespacedName]*unstructured.Unstructured{}
	}
	name := NameOf(obj)
	if old := o.known[name]; old != nil && old.GetUID() != obj.GetUID() {
		o.out = append(o.out, Event{Type: Deleted, Object: old})
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
