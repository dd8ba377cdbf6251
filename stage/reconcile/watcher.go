package reconcile

import (
	"context"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

const (
	pageSize     = 500              // objects that a List is asked for at once
	longestPause = 30 * time.Second // between tries to watch
	rewatch      = 200 * time.Millisecond
)

// A watcher follows the objects of one kind: it lists them, watches from there, and lists again when the watch has fallen too far
// behind. Objects that went away unseen are found by comparing lists.
type watcher struct {
	transport Transport
	kind      schema.GroupVersionKind
	namespace string
	news      chan<- news

	version string // resourceVersion to go on from; "" asks for a list
	known   map[types.NamespacedName]*unstructured.Unstructured
	listed  bool
	pause   time.Duration
}

func (w *watcher) run(ctx context.Context) {
	for ctx.Err() == nil {
		err := w.follow(ctx)
		if err != nil && ctx.Err() == nil {
			w.failed(ctx, err)
		}
	}
}

// failed reports an error and waits before the next try.
func (w *watcher) failed(ctx context.Context, err error) {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		w.version = ""
	}
	w.tell(ctx, news{failed: err, kind: w.kind})
	w.pause = min(max(2*w.pause, rewatch), longestPause)
	sleep(ctx, w.pause)
}

// follow lists if needed, and watches until the watch ends.
func (w *watcher) follow(ctx context.Context) error {
	if w.version == "" {
		if err := w.list(ctx); err != nil {
			return err
		}
	}
	changes, err := w.transport.Watch(ctx, w.kind, w.namespace, metav1.ListOptions{ResourceVersion: w.version, AllowWatchBookmarks: true})
	if err != nil {
		return err
	}
	if changes == nil {
		return errNoResult
	}
	defer changes.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case e, open := <-changes.ResultChan():
			if !open {
				sleep(ctx, rewatch)
				return nil
			}
			if err := w.event(ctx, e); err != nil {
				return err
			}
		}
	}
}

// list reads all objects, page by page, and reports those that are gone since the last list.
func (w *watcher) list(ctx context.Context) error {
	found := map[types.NamespacedName]*unstructured.Unstructured{}
	o := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := w.transport.List(ctx, w.kind, w.namespace, o)
		if err != nil {
			return err
		}
		if page == nil {
			return errNoResult
		}
		for i := range page.Items {
			obj := w.named(&page.Items[i])
			found[nameOf(obj)] = obj
		}
		if o.Continue = page.GetContinue(); o.Continue == "" {
			w.version = page.GetResourceVersion()
			break
		}
	}
	w.compare(ctx, found)
	return nil
}

// named gives an object of a list the kind that lists leave out.
func (w *watcher) named(obj *unstructured.Unstructured) *unstructured.Unstructured {
	if obj.GetKind() == "" {
		obj.SetGroupVersionKind(w.kind)
	}
	return obj
}

// compare tells of everything that a list shows.
func (w *watcher) compare(ctx context.Context, found map[types.NamespacedName]*unstructured.Unstructured) {
	for _, name := range slices.SortedFunc(maps.Keys(w.known), byName) {
		if now := found[name]; now == nil || now.GetUID() != w.known[name].GetUID() {
			w.tell(ctx, news{event: watch.Event{Type: watch.Deleted, Object: w.known[name]}})
		}
	}
	for _, name := range slices.SortedFunc(maps.Keys(found), byName) {
		w.tell(ctx, news{event: watch.Event{Type: watch.Modified, Object: found[name]}})
	}
	w.known, w.pause = found, 0
	if !w.listed {
		w.listed = true
		w.tell(ctx, news{listed: true})
	}
}

func (w *watcher) event(ctx context.Context, e watch.Event) error {
	if e.Type == watch.Error {
		return apierrors.FromObject(e.Object)
	}
	obj, ok := e.Object.(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	w.version, w.pause = obj.GetResourceVersion(), 0
	switch e.Type {
	case watch.Bookmark:
		return nil
	case watch.Deleted:
		delete(w.known, nameOf(obj))
	default:
		w.known[nameOf(obj)] = obj
	}
	w.tell(ctx, news{event: e})
	return nil
}

func (w *watcher) tell(ctx context.Context, n news) {
	select {
	case w.news <- n:
	case <-ctx.Done():
	}
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
