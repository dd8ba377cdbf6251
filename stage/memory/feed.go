package memory

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// A Feed is a watch that is read by asking: it has no goroutine, and what a write did can
// be read as soon as the write has returned. Simulations in virtual time use it. A Feed
// must not be used from several goroutines at once.
type Feed struct {
	watcher *watcher
	ready   []watch.Event
}

// Feed returns the events that [Cluster.Watch] would send.
func (c *Cluster) Feed(gvk schema.GroupVersionKind, namespace string, o metav1.ListOptions) (*Feed, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, err := c.kindOf(gvk)
	if err != nil {
		return nil, err
	}
	w := &watcher{handle: c, kind: k, cancel: func() {}}
	if w.selection, err = newSelection(k, namespace, o); err != nil {
		return nil, err
	}
	if err := w.start(o); err != nil {
		return nil, err
	}
	k.table.log.watchers[w] = struct{}{}
	return &Feed{watcher: w, ready: w.initial}, nil
}

// Next returns the next event. It is false if there is none yet. A feed whose reader fell
// more than a million events behind goes on with an ERROR event, Expired (410).
func (f *Feed) Next() (watch.Event, bool) {
	if len(f.ready) == 0 {
		batch, ok := f.watcher.read()
		if !ok {
			return expired(0), true
		}
		f.ready = batch
	}
	if len(f.ready) == 0 {
		return watch.Event{}, false
	}
	e := f.ready[0]
	f.ready = f.ready[1:]
	if obj, ok := e.Object.(*unstructured.Unstructured); ok {
		e.Object = f.watcher.handle.result(f.watcher.kind, obj)
	}
	return e, true
}

// Stop ends the feed: events are no longer kept for it.
func (f *Feed) Stop() { f.watcher.leave() }
