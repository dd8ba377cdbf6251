package reconcile

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/internal/listwatch"
)

// The pauses between tries to list and to watch.
const (
	firstPause   = 200 * time.Millisecond
	longestPause = 30 * time.Second
)

// A watcher follows the objects of one kind and tells the player of them.
type watcher struct {
	kind    schema.GroupVersionKind
	news    chan<- news
	objects listwatch.Objects
	listed  bool
}

func (w *watcher) run(ctx context.Context, t Transport, namespace string) {
	source := listwatch.Source{Lister: t, Watcher: t, Kind: w.kind, Namespace: namespace}
	listwatch.Run(ctx, source, listwatch.Options{Retry: firstPause, Longest: longestPause}, func(e listwatch.Event) {
		if e.Object != nil {
			w.name(e.Object)
		}
		for _, e := range w.objects.Add(e) {
			w.take(ctx, e)
		}
	})
}

// name gives an object of a list the kind that lists leave out.
func (w *watcher) name(obj *unstructured.Unstructured) {
	if obj.GetKind() == "" {
		obj.SetGroupVersionKind(w.kind)
	}
}

func (w *watcher) take(ctx context.Context, e listwatch.Event) {
	switch e.Type {
	case listwatch.Updated:
		w.tell(ctx, news{event: watch.Event{Type: watch.Modified, Object: e.Object}})
	case listwatch.Deleted:
		w.tell(ctx, news{event: watch.Event{Type: watch.Deleted, Object: e.Object}})
	case listwatch.Listed:
		if !w.listed {
			w.listed = true
			w.tell(ctx, news{listed: true})
		}
	case listwatch.ListFailed, listwatch.WatchFailed:
		w.tell(ctx, news{failed: e.Err, kind: w.kind})
	}
}

func (w *watcher) tell(ctx context.Context, n news) {
	select {
	case w.news <- n:
	case <-ctx.Done():
	}
}
