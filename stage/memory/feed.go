package memory

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// A Feed is a watch without a goroutine and without a channel. Its reader calls Next, and can read
// the events of a write as soon as the write has returned. Simulations in virtual time use it. The
// cluster keeps all events until the Feed has read them, without a limit. A Feed must not be used
// from several goroutines at once.
type Feed struct {
	watcher *watcher
	ready   []watch.Event
	buffer  []watch.Event // of ready
}

// Feed returns the events that [Cluster.Watch] would send.
func (c *Cluster) Feed(gvk schema.GroupVersionKind, namespace string, o metav1.ListOptions) (*Feed, error) {
	c.expireBeforeRead(gvk)
	w := &watcher{handle: c, cancel: func() {}, unbounded: true}
	if err := w.start(context.Background(), gvk, namespace, o); err != nil {
		return nil, err
	}
	return &Feed{watcher: w, ready: w.initial}, nil
}

// Next returns the next event. It returns false without a new event.
func (f *Feed) Next() (watch.Event, bool) {
	if len(f.ready) == 0 {
		f.read()
	}
	if len(f.ready) == 0 {
		return watch.Event{}, false
	}
	e := f.ready[0]
	f.ready[0] = watch.Event{}
	f.ready = f.ready[1:]
	if obj, ok := e.Object.(*unstructured.Unstructured); ok {
		e.Object = f.watcher.handle.result(obj)
	}
	return e, true
}

// read copies the events since the last read from the log.
func (f *Feed) read() {
	if f.watcher.next == f.watcher.kind.table.log.end.Load() {
		return
	}
	f.buffer, _ = f.watcher.read(f.buffer[:0]) // an unbounded watcher loses no events
	f.ready = f.buffer
}

// Stop ends the Feed: the cluster no longer keeps events for it.
func (f *Feed) Stop() { f.watcher.leave() }
