package wait

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/internal/listwatch"
)

// A sighting is what a feed reports.
type sighting struct {
	source *source
	what   sight
	round  uint32 // of lists; 0: seen by the watch
	obj    *unstructured.Unstructured
	err    error
}

type sight uint8

const (
	found  sight = iota // it is there
	gone                // it is no longer there
	listed              // this was all there is
	unread              // the list could not be had
)

// A feed follows the objects of a source: by listing and then watching, or by listing again and again. Its sightings of an object come
// in their order. It remembers no objects: whoever does compares the rounds.
type feed struct {
	source  *source
	lister  Lister
	out     chan<- sighting
	options Options
	round   uint32
}

// run follows the source until ctx is done.
func (f *feed) run(ctx context.Context) {
	place := f.source.place
	from := listwatch.Source{Lister: f.lister, Kind: place.Kind, Namespace: place.Namespace, Selection: place.Options()}
	if w, ok := f.lister.(Watcher); ok {
		from.Watcher = w
	}
	o := listwatch.Options{Retry: f.options.Retry, Longest: 16 * f.options.Retry, Poll: f.options.Interval, Seed: f.options.Seed}
	listwatch.Run(ctx, from, o, func(e listwatch.Event) { f.take(ctx, e) })
}

// take passes an event on. A watch that fails is none: the list that follows tells what it means.
func (f *feed) take(ctx context.Context, e listwatch.Event) {
	switch e.What {
	case listwatch.Listing:
		f.round++
	case listwatch.Found:
		s := sighting{what: found, obj: e.Object}
		if e.InList {
			s.round = f.round
		}
		f.send(ctx, s)
	case listwatch.Gone:
		f.send(ctx, sighting{what: gone, obj: e.Object})
	case listwatch.Listed:
		f.send(ctx, sighting{what: listed, round: f.round})
	case listwatch.Unlisted:
		f.send(ctx, sighting{what: unread, err: e.Err})
	}
}

// send passes a sighting on, or drops it once nobody listens any more.
func (f *feed) send(ctx context.Context, s sighting) {
	s.source = f.source
	select {
	case f.out <- s:
	case <-ctx.Done():
	}
}
