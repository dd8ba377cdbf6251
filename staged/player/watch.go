package player

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/listwatch"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// A watchEvent is one state of an object, or its deletion. One without an object is an error, or
// says that all objects of the kind have been listed.
type watchEvent struct {
	kind    schema.GroupVersionKind
	obj     *unstructured.Unstructured
	deleted bool
	inList  bool // obj comes from a list, not from a watch
	listed  bool // the list of the kind is complete
	err     error
}

// A watcher lists and watches the objects of one kind.
type watcher struct {
	reader  transport.Reader
	kind    schema.GroupVersionKind
	retry   time.Duration
	send    chan<- watchEvent
	objects listwatch.Objects
}

// run lists and watches until ctx is done.
func (w *watcher) run(ctx context.Context) {
	source := listwatch.Source{Lister: w.reader, Watcher: w.reader, Kind: w.kind}
	options := listwatch.Options{Retry: w.retry, Longest: w.retry, Timeout: listwatch.RequestTimeout}
	listwatch.Run(ctx, source, options, func(e listwatch.Event) {
		for _, e := range w.objects.Add(e) {
			w.deliver(ctx, watchEvent{
				kind: w.kind, obj: e.Object, deleted: e.Type == listwatch.Deleted, inList: e.InList,
				listed: e.Type == listwatch.Listed, err: e.Err,
			})
		}
	})
}

func (w *watcher) deliver(ctx context.Context, e watchEvent) {
	select {
	case w.send <- e:
	case <-ctx.Done():
	}
}

func nameOf(obj *unstructured.Unstructured) types.NamespacedName { return listwatch.NameOf(obj) }
