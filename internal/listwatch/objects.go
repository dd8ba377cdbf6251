package listwatch

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strconv"

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
//
// A state of an object that is older than the known one changes nothing. Versions that are no numbers
// have no order.
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
	case e.Type == Rewound:
		list := o.list
		o.out = append(o.out, o.Clear()...)
		o.list = list
		return o.out
	case isOlder(e.Object, o.known[nameOf(e.Object)]):
		return nil
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

// nameOf is NameOf, or the zero value for no object.
func nameOf(obj *unstructured.Unstructured) types.NamespacedName {
	if obj == nil {
		return types.NamespacedName{}
	}
	return NameOf(obj)
}

// isOlder reports whether a state of an object comes before the known one.
func isOlder(obj, known *unstructured.Unstructured) bool {
	return obj != nil && known != nil && isBefore(obj.GetResourceVersion(), known.GetResourceVersion())
}

// isBefore compares versions. One that is no number is neither before nor after another.
func isBefore(version, other string) bool {
	v, w := Version(version), Version(other)
	return v > 0 && v < w
}

// Version returns a resourceVersion as a number, or 0 if it is not a positive number. Kubernetes defines the
// order of resourceVersions since 1.35; earlier versions had the same order in practice.
func Version(resourceVersion string) uint64 {
	n, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func byName(a, b types.NamespacedName) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
