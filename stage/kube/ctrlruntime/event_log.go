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

// An eventLog is what an informer has told of a kind: all objects, and the last changes. Informers
// tell each handler from its beginning on, but a watch must go on from where a list was: what
// vanished between the two would never be told. So lists and watches are both of the feed, as those
// of an API server are of its watch cache.
//
// It hears of its informer as long as that lives, and never makes it wait.
type eventLog struct {
	id       int // tells the versions of different logs apart
	informer cache.Informer
	handle   toolscache.ResourceEventHandlerRegistration

	mu      sync.Mutex
	objects map[types.NamespacedName]*unstructured.Unstructured
	changes []change      // the last ones
	total   int           // of all changes that there were
	more    chan struct{} // closed by the next change
}

// A change is what became of an object. Nil is none.
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
	before := cmp.Or(f.objects[nameOf(obj)], obj) // what was told last decides who has to hear of the end
	delete(f.objects, nameOf(obj))
	f.add(change{before: before})
}

// add remembers a change. Slices that were given out stay as they are.
func (f *eventLog) add(c change) {
	f.total++
	f.changes = append(f.changes, c)
	if len(f.changes) > 2*remembered {
		f.changes = slices.Clone(f.changes[remembered:])
	}
	close(f.more)
	f.more = make(chan struct{})
}

// all returns the objects by their names, and the number of changes that made them so.
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

// since returns the changes after that many, and what is closed by the next one. The error is that
// some are forgotten.
func (f *eventLog) since(number int) ([]change, <-chan struct{}, *apierrors.StatusError) {
	f.mu.Lock()
	defer f.mu.Unlock()
	missed := f.total - number
	if missed > len(f.changes) {
		return nil, nil, expired(f.version(number))
	}
	return f.changes[len(f.changes)-missed:], f.more, nil
}

// version is a number of changes as a resourceVersion. It is unlike those of a server, which does
// not know it.
func (f *eventLog) version(number int) string { return fmt.Sprintf("cache-%d-%d", f.id, number) }

// number is that of a version. The error is that the version is of something else, such as an
// object, or of an event log that has ended.
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
