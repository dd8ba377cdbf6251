package apiserver

import (
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

const (
	keptEvents = 256     // encoded events that are kept
	keptLength = 1 << 16 // longest one
)

// An eventCache keeps the last events of watches as they are sent, so that one with many watchers is
// encoded once: with 1,000 watchers an event costs a third of the CPU. An object in the cluster is
// never changed, so the map of its fields tells it from all others as long as it is kept.
type eventCache struct {
	mu   sync.Mutex
	kept map[eventKey]*encodedEvent
	ring [keptEvents]eventKey
	next int
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
}

// get returns an event as it is sent; encode makes it so.
func (x *eventCache) get(key eventKey, u *unstructured.Unstructured, encode func() ([]byte, error)) ([]byte, error) {
	key.fields = reflect.ValueOf(u.Object).Pointer()
	kept := x.entry(key, u.Object)
	kept.once.Do(func() { kept.data, kept.err = encode() })
	if len(kept.data) > keptLength {
		x.mu.Lock()
		delete(x.kept, key)
		x.mu.Unlock()
	}
	return kept.data, kept.err
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
	delete(x.kept, x.ring[x.next])
	kept := &encodedEvent{fields: fields}
	x.kept[key], x.ring[x.next] = kept, key
	x.next = (x.next + 1) % keptEvents
	return kept
}
