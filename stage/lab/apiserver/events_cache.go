package apiserver

import (
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

const (
	keptEvents = 256     // encoded events that are kept at most
	keptBytes  = 8 << 20 // their bytes
)

// An eventCache keeps the last events of watches as they are sent, so that one with many watchers is
// encoded once: with 1,000 watchers an event costs a third of the CPU. An object in the cluster is
// never changed, so the map of its fields tells it from all others as long as it is kept.
type eventCache struct {
	mu    sync.Mutex
	kept  map[eventKey]*encodedEvent
	order []eventKey // of kept, the oldest first
	bytes int        // of kept
}

type eventKey struct {
	fields uintptr
	kind   schema.GroupVersionKind // of the request
	event  watch.EventType
	form   form
}

type encodedEvent struct {
	fields map[string]any // no other map has its address
	once   sync.Once
	data   []byte
	err    error
	bytes  int // of data, as far as the cache counts them
}

// get returns an event as it is sent; encode makes it so.
func (x *eventCache) get(key eventKey, u *unstructured.Unstructured, encode func() ([]byte, error)) ([]byte, error) {
	key.fields = reflect.ValueOf(u.Object).Pointer()
	kept := x.entry(key, u.Object)
	kept.once.Do(func() {
		kept.data, kept.err = encode()
		x.weigh(key, kept)
	})
	return kept.data, kept.err
}

// weigh counts the bytes of an event that was encoded, and drops the oldest events if they are too
// many.
func (x *eventCache) weigh(key eventKey, e *encodedEvent) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.kept[key] != e {
		return
	}
	e.bytes = len(e.data)
	x.bytes += e.bytes
	for x.bytes > keptBytes {
		x.dropOldest()
	}
}

func (x *eventCache) entry(key eventKey, fields map[string]any) *encodedEvent {
	x.mu.Lock()
	defer x.mu.Unlock()
	if kept := x.kept[key]; kept != nil {
		return kept
	}
	if x.kept == nil {
		x.kept = map[eventKey]*encodedEvent{}
	}
	if len(x.order) == keptEvents {
		x.dropOldest()
	}
	kept := &encodedEvent{fields: fields}
	x.kept[key], x.order = kept, append(x.order, key)
	return kept
}

func (x *eventCache) dropOldest() {
	oldest := x.order[0]
	x.order = x.order[1:]
	x.bytes -= x.kept[oldest].bytes
	delete(x.kept, oldest)
}
