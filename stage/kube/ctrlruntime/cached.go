package ctrlruntime

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// cached lists and watches objects from a cache of controller-runtime. It keeps one event log for
// each kind that was asked for.
type cached struct {
	cache  cache.Cache
	server client.Reader // asked why a cache does not fill

	mu   sync.Mutex
	logs map[schema.GroupVersionKind]*eventLog
	made int // logs
}

func newCached(c cache.Cache, server client.Reader) *cached {
	return &cached{cache: c, server: server, logs: map[schema.GroupVersionKind]*eventLog{}}
}

func (c *cached) List(ctx context.Context, gvk schema.GroupVersionKind, namespace string, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	s, err := newSelection(o)
	if err != nil {
		return nil, err
	}
	s.namespace = namespace
	f, err := c.feed(ctx, gvk)
	if err != nil {
		return nil, err
	}
	items, number := f.all()
	list := listOf(gvk)
	for _, obj := range items {
		if s.has(obj) {
			list.Items = append(list.Items, *obj)
		}
	}
	list.SetResourceVersion(f.version(number))
	return list, nil
}

func (c *cached) Watch(ctx context.Context, gvk schema.GroupVersionKind, namespace string, o metav1.ListOptions) (watch.Interface, error) {
	s, err := newSelection(o)
	if err != nil {
		return nil, err
	}
	s.namespace = namespace
	f, err := c.feed(ctx, gvk)
	if err != nil {
		return nil, err
	}
	if o.ResourceVersion == "" || o.ResourceVersion == "0" {
		items, number := f.all()
		return subscribe(ctx, f, s, items, number), nil
	}
	number, err := f.number(o.ResourceVersion)
	if err != nil {
		return nil, err
	}
	return subscribe(ctx, f, s, nil, number), nil
}

// feed returns the event log of a kind, once it has all objects.
func (c *cached) feed(ctx context.Context, gvk schema.GroupVersionKind) (*eventLog, error) {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(gvk)
	informer, err := c.cache.GetInformer(ctx, obj, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, known(gvk, err)
	}
	f, err := c.on(informer, gvk)
	if err != nil {
		return nil, err
	}
	return f, c.fill(ctx, f, gvk)
}

// on returns the event log of a kind, which might not have all objects yet. It replaces an event
// log whose informer has ended because the kind was removed from the cache.
func (c *cached) on(informer cache.Informer, gvk schema.GroupVersionKind) (*eventLog, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.logs[gvk]; f != nil && !f.informer.IsStopped() {
		return f, nil
	}
	c.made++
	f, err := newEventLog(c.made, informer)
	if err == nil {
		c.logs[gvk] = f
	}
	return f, err
}

// checkEvery is the time between two checks: of a request, whether an event log has all objects, and
// of a watch, whether its informer has ended. After askAfter, a request asks the server for the
// reason.
const (
	checkEvery = 10 * time.Millisecond
	askAfter   = time.Second
)

var errStopped = errors.New("the cache has stopped")

// fill waits until an event log has all objects. An informer keeps asking a server that refuses;
// fill returns the error.
func (c *cached) fill(ctx context.Context, f *eventLog, gvk schema.GroupVersionKind) error {
	if f.handle.HasSynced() {
		return nil
	}
	look, ask := time.NewTicker(checkEvery), time.NewTicker(askAfter)
	defer look.Stop()
	defer ask.Stop()
	for !f.handle.HasSynced() {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ask.C:
			if err := c.server.List(ctx, listOf(gvk), client.Limit(1)); err != nil {
				return known(gvk, err)
			}
		case <-look.C:
			if f.informer.IsStopped() {
				return errStopped
			}
		}
	}
	return nil
}

// A subscription is a watch of an event log.
type subscription struct {
	feed      *eventLog
	selection selection
	events    chan watch.Event
	ctx       context.Context
	cancel    context.CancelFunc
}

// subscribe returns a watch that reports objects as Added, and then the changes from a number on.
func subscribe(ctx context.Context, f *eventLog, s selection, objects []*unstructured.Unstructured, number int) *subscription {
	w := &subscription{feed: f, selection: s, events: make(chan watch.Event)}
	w.ctx, w.cancel = context.WithCancel(ctx)
	go w.run(objects, number)
	return w
}

// ResultChan implements [watch.Interface]. It is closed when the informer ends, and after an Error
// event: the reader was too slow.
func (w *subscription) ResultChan() <-chan watch.Event { return w.events }

// Stop implements [watch.Interface].
func (w *subscription) Stop() { w.cancel() }

func (w *subscription) run(objects []*unstructured.Unstructured, number int) {
	defer close(w.events)
	for _, obj := range objects {
		w.tell(change{after: obj})
	}
	look := time.NewTicker(askAfter)
	defer look.Stop()
	for w.ctx.Err() == nil && !w.feed.informer.IsStopped() {
		changes, more, err := w.feed.since(number)
		if err != nil {
			w.send(watch.Event{Type: watch.Error, Object: &err.ErrStatus})
			return
		}
		for _, c := range changes {
			w.tell(c)
		}
		if number += len(changes); len(changes) > 0 {
			continue
		}
		select {
		case <-more:
		case <-look.C:
		case <-w.ctx.Done():
		}
	}
}

// tell sends the event of a change, if it concerns the selection: a change can add an object to the
// selection, change it, or remove it.
func (w *subscription) tell(c change) {
	before, after := c.before != nil && w.selection.has(c.before), c.after != nil && w.selection.has(c.after)
	switch {
	case after && before:
		w.send(watch.Event{Type: watch.Modified, Object: c.after})
	case after:
		w.send(watch.Event{Type: watch.Added, Object: c.after})
	case before && c.after != nil:
		w.send(watch.Event{Type: watch.Deleted, Object: c.after})
	case before:
		w.send(watch.Event{Type: watch.Deleted, Object: c.before})
	}
}

func (w *subscription) send(e watch.Event) {
	select {
	case w.events <- e:
	case <-w.ctx.Done():
	}
}

// expired is the error that a watch cannot continue from a version.
func expired(version string) *apierrors.StatusError {
	return apierrors.NewResourceExpired(fmt.Sprintf("the cache does not remember what happened since %q: list again", version))
}
