package reconcile

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/internal/listwatch"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// The pauses between attempts to list and to watch.
const (
	initialBackoff = 200 * time.Millisecond
	maxBackoff     = 30 * time.Second
)

// A watcher lists and watches the objects of one kind and reports them to the runner.
type watcher struct {
	kind    schema.GroupVersionKind
	updates chan<- watchUpdate
	objects listwatch.Objects
	listed  bool
}

func (w *watcher) run(ctx context.Context, t transport.Transport, namespace string) {
	source := listwatch.Source{Lister: t, Watcher: t, Kind: w.kind, Namespace: namespace}
	listwatch.Run(ctx, source, listwatch.Options{Retry: initialBackoff, Longest: maxBackoff}, func(e listwatch.Event) {
		if e.Object != nil {
			w.setKind(e.Object)
		}
		for _, e := range w.objects.Add(e) {
			w.handle(ctx, e)
		}
	})
}

// setKind sets the kind of an object of a list, because lists leave it out.
func (w *watcher) setKind(obj *unstructured.Unstructured) {
	if obj.GetKind() == "" {
		obj.SetGroupVersionKind(w.kind)
	}
}

func (w *watcher) handle(ctx context.Context, e listwatch.Event) {
	switch e.Type {
	case listwatch.Updated:
		w.send(ctx, watchUpdate{event: watch.Event{Type: watch.Modified, Object: e.Object}})
	case listwatch.Deleted:
		w.send(ctx, watchUpdate{event: watch.Event{Type: watch.Deleted, Object: e.Object}})
	case listwatch.Listed:
		if !w.listed {
			w.listed = true
			w.send(ctx, watchUpdate{listed: true})
		}
	case listwatch.ListFailed, listwatch.WatchFailed:
		w.send(ctx, watchUpdate{failed: e.Err, kind: w.kind})
	}
}

func (w *watcher) send(ctx context.Context, u watchUpdate) {
	select {
	case w.updates <- u:
	case <-ctx.Done():
	}
}
