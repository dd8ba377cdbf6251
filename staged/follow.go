package staged

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/listwatch"
)

// listTimeout is how long one page of a list may take.
const listTimeout = 30 * time.Second

// news is one state of an object, or its end; without an object, that all objects of the kind have been listed, or an error.
type news struct {
	kind   schema.GroupVersionKind
	obj    *unstructured.Unstructured
	gone   bool
	inList bool // the state was read, not watched
	listed bool
	err    error
}

// A follower follows the objects of one kind.
type follower struct {
	reader  Reader
	kind    schema.GroupVersionKind
	retry   time.Duration
	send    chan<- news
	objects listwatch.Objects
}

// run follows until ctx is done.
func (f *follower) run(ctx context.Context) {
	source := listwatch.Source{Lister: f.reader, Watcher: f.reader, Kind: f.kind}
	options := listwatch.Options{Retry: f.retry, Longest: f.retry, Timeout: listTimeout}
	listwatch.Run(ctx, source, options, func(e listwatch.Event) {
		for _, e := range f.objects.Take(e) {
			f.tell(ctx, news{
				kind: f.kind, obj: e.Object, gone: e.What == listwatch.Gone, inList: e.InList, listed: e.What == listwatch.Listed, err: e.Err,
			})
		}
	})
}

func (f *follower) tell(ctx context.Context, n news) {
	select {
	case f.send <- n:
	case <-ctx.Done():
	}
}

func nameOf(obj *unstructured.Unstructured) types.NamespacedName { return listwatch.NameOf(obj) }
