package ctrlruntime

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// An eventLog has all objects of a kind, and the last changes, as an informer reported them. An
// informer reports the present objects to each new handler, but a watch must continue from the
// point of a list. Otherwise it would miss an object that was deleted between the two. So lists and
// watches both read the eventLog, just as an API server reads its watch cache for both.
//
// It is a handler of its informer as long as that runs, and never blocks it.
type eventLog struct {
	id       int // part of the resourceVersions, so that those of different logs differ
	informer cache.Informer
	handle   toolscache.ResourceEventHandlerRegistration

	mu      sync.Mutex
	objects map[types.NamespacedName]*unstructured.Unstructured
	changes []change      // the last ones
	total   int           // of all changes that there were
	more    chan struct{} // closed by the next change
}

// A change is the state of an object before and after; nil without such a state.
type change struct{ before, after *unstructured.Unstructured }

// remembered is how many changes a watch may lag behind.
const remembered = 1000

func newEventLog(id int, informer cache.Informer) (f *eventLog, err error) {
	f = &eventLog{id: id, informer: informer, objects: map[types.NamespacedName]*unstructured.Unstructured{}, more: make(chan struct{})}
	f.handle, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { f.set(obj) },
		UpdateFunc: func(_, obj any) { f.set(obj) },
		DeleteFunc: func(obj any) { f.remove(obj) },
	})
	return f, err
}

func nameOf(obj *unstructured.Unstructured) types.NamespacedName {
	return types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

func (f *eventLog) set(v any) {
	obj, ok := v.(*unstructured.Unstructured)
	if !ok {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.objects[nameOf(obj)]
	if before != nil && before.GetUID() == obj.GetUID() && before.GetResourceVersion() == obj.GetResourceVersion() {
		return // a resync
	}
	f.objects[nameOf(obj)] = obj
	f.add(change{before, obj})
}

func (f *eventLog) remove(v any) {
	if last, ok := v.(toolscache.DeletedFinalStateUnknown); ok {
		v = last.Obj
	}
	obj, ok := v.(*unstructured.Unstructured)
	if !ok {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	before := cmp.Or(f.objects[nameOf(obj)], obj) // the last state that was reported decides which watches get the deletion
	delete(f.objects, nameOf(obj))
	f.add(change{before: before})
}

// add records a change. It does not change slices that were returned.
func (f *eventLog) add(c change) {
	f.total++
	f.changes = append(f.changes, c)
	if len(f.changes) > 2*remembered {
		f.changes = slices.Clone(f.changes[remembered:])
	}
	close(f.more)
	f.more = make(chan struct{})
}

// all returns the objects by their names, and the number of changes so far.
func (f *eventLog) all() ([]*unstructured.Unstructured, int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := make([]*unstructured.Unstructured, 0, len(f.objects))
	for _, obj := range f.objects {
		all = append(all, obj)
	}
	slices.SortFunc(all, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return all, f.total
}

// since returns the changes after the first n, and a channel that the next change closes. It is an
// error if some of them are no longer kept.
func (f *eventLog) since(number int) ([]change, <-chan struct{}, *apierrors.StatusError) {
	f.mu.Lock()
	defer f.mu.Unlock()
	missed := f.total - number
	if missed > len(f.changes) {
		return nil, nil, expired(f.version(number))
	}
	return f.changes[len(f.changes)-missed:], f.more, nil
}

// version returns a number of changes as a resourceVersion. It does not look like one of a server,
// which could not use it.
func (f *eventLog) version(number int) string { return fmt.Sprintf("cache-%d-%d", f.id, number) }

// number returns the number of changes in a resourceVersion. It is an error if the version is from
// somewhere else, such as an object, or from an event log that has ended.
func (f *eventLog) number(version string) (int, error) {
	var number int
	if n, err := fmt.Sscanf(version, fmt.Sprintf("cache-%d-%%d", f.id), &number); n != 1 || err != nil || f.version(number) != version || number > f.count() {
		return 0, expired(version)
	}
	return number, nil
}

func (f *eventLog) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.total
}
