package player

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/internal/listwatch"

	"github.com/stagecraft-go/stagecraft/stage"
)

var nodeKind = schema.GroupVersionKind{Version: "v1", Kind: "Node"}

// watched returns the kinds to watch for a Set. Nodes are the first if the addresses of pods depend
// on them.
func watched(s *stage.Set) []schema.GroupVersionKind {
	if !s.NeedsNodes() {
		return s.Kinds()
	}
	kinds := []schema.GroupVersionKind{nodeKind}
	for _, kind := range s.Kinds() {
		if kind != nodeKind {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// A watcher lists and watches the objects of one kind, and gives each observation to a worker.
type watcher struct {
	player *Player
	kind   schema.GroupVersionKind
	cancel context.CancelFunc
	listed chan struct{} // closed after the first list
	done   chan struct{} // closed at the end
	relist chan struct{} // has a value while a worker wants a new list
	asked  atomic.Int64  // the number of Refilters that must come before the next list
	fresh  atomic.Int64  // the number of Refilters before the begin of the last complete list

	mu      sync.Mutex
	set     *stage.Set // its Env observes the objects
	objects listwatch.Objects
	ready   bool // whether listed is closed
	missing bool // whether the kind was reported as unknown
	state   KindState
	listing int64 // the number of Refilters before the begin of the present list
}

// watch starts a watcher of a kind. It begins once after is closed.
func (p *Player) watch(ctx context.Context, kind schema.GroupVersionKind, s *stage.Set, after <-chan struct{}) *watcher {
	w := &watcher{player: p, kind: kind, listed: make(chan struct{}), done: make(chan struct{}), relist: make(chan struct{}, 1), set: s}
	ctx, w.cancel = context.WithCancel(ctx)
	go func() {
		defer close(w.done)
		select {
		case <-after:
		case <-ctx.Done():
		}
		listwatch.Run(ctx, w.source(), w.options(), w.hear)
	}()
	return w
}

func (w *watcher) source() listwatch.Source {
	o, selection := w.player.options, w.player.options.Select[w.kind]
	return listwatch.Source{
		Lister: w.player.transport, Watcher: w.player.transport, Kind: w.kind, Namespace: o.Namespace,
		Selection: metav1.ListOptions{LabelSelector: selection.Labels, FieldSelector: selection.Fields},
	}
}

func (w *watcher) options() listwatch.Options {
	o := w.player.options
	return listwatch.Options{Retry: o.RetryAfter, Longest: o.MaxRetryAfter, Timeout: o.Timeout, Relist: w.relist, Seed: o.Seed}
}

// hear handles events of the watch. The Env observes all of them first, so that no worker renders
// an object that the Env does not know.
func (w *watcher) hear(e listwatch.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state.note(e)
	if e.Type == listwatch.ListStarted {
		w.listing = w.player.refilters.Load()
	}
	news := w.objects.Add(e)
	if e.Type == listwatch.ListFailed && apierrors.IsNotFound(e.Err) {
		news = append(w.objects.Clear(), e) // the kind does not exist, and so neither do its objects
	}
	for _, n := range news {
		switch n.Type {
		case listwatch.Updated:
			w.set.ObserveEnv(n.Object)
		case listwatch.Deleted:
			w.set.ForgetEnv(n.Object)
		}
	}
	for _, n := range news {
		w.pass(n)
	}
}

// pass passes an event on to the worker.
func (w *watcher) pass(e listwatch.Event) {
	switch e.Type {
	case listwatch.Updated, listwatch.Deleted:
		w.player.deliver(observation{key: stage.KeyOf(e.Object), obj: e.Object, gone: e.Type == listwatch.Deleted})
	case listwatch.Listed:
		w.missing = false
		if !w.ready {
			w.ready = true
			close(w.listed)
		}
		if w.fresh.Swap(w.listing) < w.listing {
			w.player.filterAgain()
		}
	case listwatch.ListFailed, listwatch.WatchFailed:
		w.failed(e.Err)
	}
}

// isFresh reports whether a list has begun and ended since a number of Refilters. If not, it asks for
// one. Any goroutine may call it.
func (w *watcher) isFresh(since int64) bool {
	if w.fresh.Load() >= since {
		return true
	}
	if w.asked.Swap(since) < since {
		select {
		case w.relist <- struct{}{}:
		default:
		}
	}
	return false
}

// failed reports a failure. It reports an unknown kind only once.
func (w *watcher) failed(err error) {
	before := w.missing
	if w.missing = apierrors.IsNotFound(err); w.missing && before {
		return
	}
	if trace := w.player.options.Trace; trace != nil {
		trace(stage.TraceEvent{Time: time.Now(), Kind: stage.TraceFailed, Key: stage.Key{Group: w.kind.Group, Version: w.kind.Version, Kind: w.kind.Kind}, Err: err})
	}
}

// use makes the Env of another Set observe the known objects and all later events.
func (w *watcher) use(s *stage.Set) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.set == s {
		return
	}
	for obj := range w.objects.All() {
		s.ObserveEnv(obj)
	}
	w.set = s
}

// end ends the watch, and makes the workers forget its objects.
func (w *watcher) end() {
	w.cancel()
	<-w.done
	for obj := range w.objects.All() {
		w.set.ForgetEnv(obj)
		w.player.deliver(observation{key: stage.KeyOf(obj), obj: obj, unwatched: true})
	}
}
