package stage

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// pageSize is how many objects a List is asked for at once.
const pageSize = 500

// A watcher follows the objects of one kind: it lists them, then watches from there, and lists again when the watch has fallen
// too far behind. Objects that went away unseen are found by comparing lists.
type watcher struct {
	player  *Player
	kind    schema.GroupVersionKind
	listed  chan struct{} // closed after the first list; may be nil
	version string        // resourceVersion to go on from; "" asks for a list
	known   map[Key]*unstructured.Unstructured
	pause   backoff
}

func newWatcher(p *Player, kind schema.GroupVersionKind, listed chan struct{}) *watcher {
	h := newHash(p.options.Seed).text("watch").text(kind.String())
	return &watcher{
		player: p, kind: kind, listed: listed, known: map[Key]*unstructured.Unstructured{},
		pause: backoff{first: p.options.RetryAfter, longest: p.options.MaxRetryAfter, hash: h},
	}
}

// run follows the kind until ctx is done. It begins once after is closed, if that is not nil.
func (w *watcher) run(ctx context.Context, after <-chan struct{}) {
	if after != nil {
		select {
		case <-after:
		case <-ctx.Done():
		}
	}
	for ctx.Err() == nil {
		if err := w.follow(ctx); err != nil && ctx.Err() == nil {
			w.failed(ctx, err)
		}
	}
}

// failed reports an error and waits before the next try.
func (w *watcher) failed(ctx context.Context, err error) {
	if expired(err) {
		w.version = ""
	}
	if trace := w.player.options.Trace; trace != nil {
		trace(TraceEvent{Time: time.Now(), Kind: Failed, Key: Key{Group: w.kind.Group, Version: w.kind.Version, Kind: w.kind.Kind}, Err: err})
	}
	sleep(ctx, w.pause.next())
}

func expired(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }

// follow lists if needed, and watches until the watch ends.
func (w *watcher) follow(ctx context.Context) error {
	if w.version == "" {
		if err := w.list(ctx); err != nil {
			return err
		}
	}
	changes, err := w.player.transport.Watch(ctx, w.kind, w.player.options.Namespace, metav1.ListOptions{ResourceVersion: w.version, AllowWatchBookmarks: true})
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
				return sleep(ctx, w.player.options.RetryAfter)
			}
			if err := w.event(e); err != nil {
				return err
			}
		}
	}
}

// list reads all objects, page by page, and reports those that are gone since the last list.
func (w *watcher) list(ctx context.Context) error {
	found := map[Key]*unstructured.Unstructured{}
	o := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := w.page(ctx, o)
		if err != nil {
			return err
		}
		for i := range page.Items {
			found[KeyOf(&page.Items[i])] = &page.Items[i]
			w.saw(sighting{key: KeyOf(&page.Items[i]), obj: &page.Items[i]})
		}
		if o.Continue = page.GetContinue(); o.Continue == "" {
			w.version = page.GetResourceVersion()
			break
		}
	}
	for key, obj := range w.known {
		if found[key] == nil {
			w.saw(sighting{key: key, obj: obj, gone: true})
		}
	}
	w.pause.reset()
	if w.listed != nil {
		close(w.listed)
		w.listed = nil
	}
	return nil
}

func (w *watcher) page(ctx context.Context, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	ctx, cancel := context.WithTimeout(ctx, w.player.options.Timeout)
	defer cancel()
	page, err := w.player.transport.List(ctx, w.kind, w.player.options.Namespace, o)
	if err == nil && page == nil {
		err = errNoResult
	}
	return page, err
}

func (w *watcher) event(e watch.Event) error {
	if e.Type == watch.Error {
		return apierrors.FromObject(e.Object)
	}
	obj, ok := e.Object.(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	w.version = obj.GetResourceVersion()
	if e.Type != watch.Bookmark {
		w.saw(sighting{key: KeyOf(obj), obj: obj, gone: e.Type == watch.Deleted})
	}
	w.pause.reset()
	return nil
}

// saw passes a state of an object on. The environment learns of it first, so that no worker renders what it does not know.
func (w *watcher) saw(s sighting) {
	if old := w.known[s.key]; old != nil && old.GetUID() != s.obj.GetUID() {
		w.player.set.Unlearn(old) // replaced while nobody watched
	}
	if s.gone {
		delete(w.known, s.key)
		w.player.set.Unlearn(s.obj)
	} else {
		w.known[s.key] = s.obj
		w.player.set.Learn(s.obj)
	}
	w.player.deliver(s)
}

// sleep waits, and returns nil also when ctx ends the wait.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return nil
}
