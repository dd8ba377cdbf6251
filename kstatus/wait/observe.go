package wait

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/internal/listwatch"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// An observation is what a list or a watch of a source reports.
type observation struct {
	source *source
	kind   observationKind
	round  uint32 // the number of the list; 0: reported by the watch
	obj    *unstructured.Unstructured
	err    error
}

type observationKind uint8

const (
	found      observationKind = iota // the object exists
	gone                              // the object was deleted
	listed                            // the list is complete
	listFailed                        // the list could not be read
	rewound                           // the cluster was restored: versions begin again
)

// An observer lists and watches the objects of a source, or lists them repeatedly. The
// observations of one object keep their order. It does not remember objects: the tracker compares
// the rounds.
type observer struct {
	source  *source
	cluster transport.Lister
	out     chan<- observation
	options Options
	round   uint32
}

// run observes the source until ctx is done.
func (o *observer) run(ctx context.Context) {
	query := o.source.query
	source := listwatch.Source{
		Lister: o.cluster, Kind: query.Kind, Namespace: query.Namespace, Selection: query.ListOptions(),
	}
	if w, ok := o.cluster.(transport.Watcher); ok {
		source.Watcher = w
	}
	options := listwatch.Options{
		Retry: o.options.Retry, Longest: 16 * o.options.Retry, Poll: o.options.Interval, Seed: o.options.Seed,
		Timeout: listwatch.RequestTimeout,
	}
	listwatch.Run(ctx, source, options, func(e listwatch.Event) { o.handle(ctx, e) })
}

// handle passes an event on. A failed watch is not passed on: the list that follows it tells
// whether the objects can still be read.
func (o *observer) handle(ctx context.Context, e listwatch.Event) {
	switch e.Type {
	case listwatch.ListStarted:
		o.round++
	case listwatch.Updated:
		seen := observation{kind: found, obj: e.Object}
		if e.InList {
			seen.round = o.round
		}
		o.send(ctx, seen)
	case listwatch.Deleted:
		o.send(ctx, observation{kind: gone, obj: e.Object})
	case listwatch.Listed:
		o.send(ctx, observation{kind: listed, round: o.round})
	case listwatch.Rewound:
		o.send(ctx, observation{kind: rewound})
	case listwatch.ListFailed:
		o.send(ctx, observation{kind: listFailed, err: e.Err})
	}
}

// send passes an observation on, or drops it if the wait has ended.
func (o *observer) send(ctx context.Context, seen observation) {
	seen.source = o.source
	select {
	case o.out <- seen:
	case <-ctx.Done():
	}
}
