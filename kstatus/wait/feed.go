package wait

import (
	"cmp"
	"context"
	"errors"
	"hash/fnv"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

const (
	pageSize = 500    // objects that a List is asked for at once
	maxPages = 10_000 // no cluster has so many
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
// in their order.
type feed struct {
	source  *source
	lister  Lister
	watcher Watcher // nil: poll
	out     chan<- sighting
	options Options
	pause   backoff
	round   uint32
	version string // to watch from; "" asks for a list
	unpaged bool   // pages expired before they were read
}

func newFeed(s *source, transport Lister, o Options, out chan<- sighting) *feed {
	f := &feed{source: s, lister: transport, options: o, out: out}
	f.watcher, _ = transport.(Watcher)
	h := fnv.New64a()
	for _, part := range []string{s.place.Kind.String(), s.place.Namespace, s.place.Name, s.place.Selector} {
		h.Write(append([]byte(part), 0))
	}
	f.pause = backoff{first: o.Retry, dice: rand.New(rand.NewPCG(o.Seed, h.Sum64()))}
	return f
}

// run follows the source until ctx is done.
func (f *feed) run(ctx context.Context) {
	for ctx.Err() == nil {
		sleep(ctx, f.turn(ctx))
	}
}

// turn lists if need be, and watches until the watch ends. It returns how long to rest.
func (f *feed) turn(ctx context.Context) time.Duration {
	if f.version == "" || f.watcher == nil {
		if err := f.list(ctx); err != nil {
			return f.failed(ctx, err)
		}
	}
	if f.watcher != nil {
		return f.watch(ctx)
	}
	f.pause.reset()
	return f.pause.about(f.options.Interval)
}

// failed reports that a list failed, unless it only came too late.
func (f *feed) failed(ctx context.Context, err error) time.Duration {
	f.version = ""
	late := expired(err) && !f.unpaged
	if !late {
		f.send(ctx, sighting{what: unread, err: err})
	}
	f.unpaged = f.unpaged || late || errors.Is(err, errNoEnd)
	return f.rest(err)
}

// rest is the pause after a failure, longer if the server asks for that.
func (f *feed) rest(err error) time.Duration {
	pause := f.pause.next()
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		pause = max(pause, time.Duration(seconds)*time.Second)
	}
	return pause
}

// list reads all objects, page by page.
func (f *feed) list(ctx context.Context) error {
	f.round++
	o := f.source.place.Options()
	if !f.unpaged {
		o.Limit = pageSize
	}
	for range maxPages {
		page, err := f.lister.List(ctx, f.source.place.Kind, f.source.place.Namespace, o)
		if err == nil && page == nil {
			err = errNoResult
		}
		if err := cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
		for i := range page.Items {
			f.send(ctx, sighting{what: found, round: f.round, obj: &page.Items[i]})
		}
		switch next := page.GetContinue(); next {
		case "":
			f.version, f.unpaged = page.GetResourceVersion(), false
			f.send(ctx, sighting{what: listed, round: f.round})
			return nil
		case o.Continue:
			return errNoEnd
		default:
			o.Continue = next
		}
	}
	return errNoEnd
}

// watch reports what happens from the version on, until the watch ends. If it cannot be had, the next turn lists again: that tells what
// became of the objects meanwhile, and whether they can still be read.
func (f *feed) watch(ctx context.Context) time.Duration {
	o := f.source.place.Options()
	o.ResourceVersion, o.AllowWatchBookmarks = f.version, true
	began := time.Now()
	changes, err := f.watcher.Watch(ctx, f.source.place.Kind, f.source.place.Namespace, o)
	switch {
	case err == nil && changes == nil:
		err = errNoResult
	case err == nil:
		err = f.follow(ctx, changes)
	case unwatchable(err):
		f.watcher = nil
		return f.pause.about(f.options.Interval)
	}
	if time.Since(began) > f.options.Interval {
		f.pause.reset() // it was quiet, not broken
	}
	if err != nil {
		f.version = ""
		return f.rest(err)
	}
	if time.Since(began) < time.Second {
		f.version = "" // a watch that is cut at once, each time, would never tell anything: list again
	}
	return f.pause.next()
}

// What a transport may do that makes no sense.
var (
	errNoResult = errors.New("the transport returned neither a result nor an error")
	errNoEnd    = errors.New("the list has page after page, without end")
)

// follow reports the events of a watch until it ends. An Error event is an error.
func (f *feed) follow(ctx context.Context, changes watch.Interface) error {
	defer changes.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case e, open := <-changes.ResultChan():
			if !open {
				return nil
			}
			if e.Type == watch.Error {
				return apierrors.FromObject(e.Object)
			}
			f.event(ctx, e)
		}
	}
}

func (f *feed) event(ctx context.Context, e watch.Event) {
	obj, ok := e.Object.(*unstructured.Unstructured)
	if !ok || obj == nil {
		return
	}
	f.pause.reset()
	f.version = obj.GetResourceVersion()
	switch e.Type {
	case watch.Added, watch.Modified:
		f.send(ctx, sighting{what: found, obj: obj})
	case watch.Deleted:
		f.send(ctx, sighting{what: gone, obj: obj})
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

// sleep waits, at most until ctx is done.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// A backoff gives the pauses after failures, each twice as long as the one before, up to 16 times the first.
type backoff struct {
	first time.Duration
	tries int
	dice  *rand.Rand
}

func (b *backoff) next() time.Duration {
	d := b.first << min(b.tries, 4)
	b.tries++
	return b.about(d)
}

func (b *backoff) reset() { b.tries = 0 }

// about is d give or take a tenth, so that feeds do not march in step.
func (b *backoff) about(d time.Duration) time.Duration {
	return d - d/10 + time.Duration(b.dice.Int64N(int64(d/5)+1))
}
