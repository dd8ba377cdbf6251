package listwatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/stage/transport"
)

const (
	pageSize      = 500             // objects of one page of a list
	maxPages      = 10_000          // a list with more pages is an error
	believedAfter = 5               // lists in a row that are older than what was seen
	stableAfter   = 2 * time.Second // a watch of this length without events was quiet, not broken
	kindBackoff   = 5 * time.Second // longest backoff if the cluster does not have the kind
)

// A Source is the objects that are listed and watched.
type Source struct {
	Lister    transport.Lister
	Watcher   transport.Watcher // nil: the source is polled
	Kind      schema.GroupVersionKind
	Namespace string             // "": all namespaces
	Selection metav1.ListOptions // its selectors
}

// Options of [Run].
type Options struct {
	// Retry is the first backoff. Each further one is twice as long, up to Longest.
	Retry, Longest time.Duration
	// Timeout is the longest time of one page of a list. 0: no limit.
	Timeout time.Duration
	// Poll is the time between two lists if the kind cannot be watched. 0: a forbidden watch is a
	// failure like others, and tried again.
	Poll time.Duration
	// Relist makes Run list again: it ends a watch or a backoff. Nil: never.
	Relist <-chan struct{}
	// Seed of the jitter.
	Seed uint64
}

// An EventType says what an [Event] reports.
type EventType uint8

// The types of [Event]. Between ListStarted and Listed or ListFailed come the objects of the list,
// and nothing else. If another ListStarted comes instead, the list has started again.
const (
	Updated     EventType = iota // an object exists, and may have changed
	Deleted                      // an object no longer exists
	ListStarted                  // a list begins
	Listed                       // the list is complete
	ListFailed                   // the list failed
	WatchFailed                  // the watch could not be opened, or failed
	Rewound                      // the versions of the cluster went back; what is known of its objects is void
)

// An Event is one observation.
type Event struct {
	Type   EventType
	Object *unstructured.Unstructured // of Updated and Deleted: the last known state
	InList bool                       // of Updated: the object was listed, not watched
	Err    error                      // of ListFailed and WatchFailed
}

// Errors of a transport that breaks its contract.
var (
	errNoResult = errors.New("the transport returned neither a result nor an error")
	errNoEnd    = errors.New("the list has page after page, without end")
	errStale    = errors.New("the list is older than what was seen before")
)

// errRelist ends a watch because of Options.Relist.
var errRelist = errors.New("the user wants a new list")

// Run lists and watches a source until ctx is done. It calls handle for each event, but not after
// ctx is done.
func Run(ctx context.Context, s Source, o Options, handle func(Event)) {
	r := &reflector{source: s, options: o, backoff: newBackoff(s, o)}
	r.handle = func(e Event) {
		if ctx.Err() == nil { // select can choose an event although ctx is done
			handle(e)
		}
	}
	for ctx.Err() == nil {
		if sleep(ctx, r.listAndWatch(ctx), o.Relist) {
			r.version = ""
		}
	}
}

type reflector struct {
	source    Source
	options   Options
	handle    func(Event)
	backoff   backoff
	shortEnds int    // the number of watches in a row that had an event and ended soon
	version   string // resource version from which to watch; "": list first
	newest    string // the highest version seen
	stale     int    // how many lists in a row were older than that
	allAtOnce bool   // list without pages, because pages expired before they were read
}

// listAndWatch lists if necessary, and watches until the watch ends. It returns the time to wait.
func (r *reflector) listAndWatch(ctx context.Context) time.Duration {
	if r.version == "" || r.source.Watcher == nil {
		if err := r.list(ctx); err != nil {
			return r.afterFailedList(ctx, err)
		}
	}
	if r.source.Watcher != nil {
		return r.watch(ctx)
	}
	r.backoff.reset()
	return r.backoff.jitter(r.options.Poll)
}

// afterFailedList reports that a list failed, unless only its pages expired because it took too
// long.
func (r *reflector) afterFailedList(ctx context.Context, err error) time.Duration {
	if ctx.Err() != nil {
		return 0
	}
	r.version = ""
	pagesExpired := expired(err) && !r.allAtOnce
	r.allAtOnce = r.allAtOnce || pagesExpired || errors.Is(err, errNoEnd)
	if !pagesExpired {
		r.handle(Event{Type: ListFailed, Err: err})
	}
	if apierrors.IsNotFound(err) {
		return min(r.backoff.after(err), kindBackoff)
	}
	return r.backoff.after(err)
}

// list reads all objects, page by page.
func (r *reflector) list(ctx context.Context) error {
	r.handle(Event{Type: ListStarted})
	o := r.source.Selection
	if !r.allAtOnce {
		o.Limit = pageSize
	}
	for range maxPages {
		page, err := r.page(ctx, o)
		if err != nil {
			return err
		}
		for i := range page.Items {
			r.handle(Event{Type: Updated, Object: &page.Items[i], InList: true})
		}
		switch next := page.GetContinue(); next {
		case "":
			return r.listed(page.GetResourceVersion())
		case o.Continue:
			return errNoEnd
		default:
			o.Continue = next
		}
	}
	return errNoEnd
}

// listed ends a list. A list that is older than what was seen is refused: a server that lags behind
// does not know of objects that were created since, and still has objects that were deleted. If the
// server repeats it, the cluster was restored from a backup.
func (r *reflector) listed(version string) error {
	if isBefore(version, r.newest) {
		if r.stale++; r.stale < believedAfter {
			return fmt.Errorf("%w: version %s after %s", errStale, version, r.newest)
		}
		r.handle(Event{Type: Rewound})
	}
	r.version, r.newest, r.stale, r.allAtOnce = version, version, 0, false
	r.handle(Event{Type: Listed})
	return nil
}

func (r *reflector) page(ctx context.Context, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	limited := ctx
	if r.options.Timeout > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, r.options.Timeout)
		defer cancel()
	}
	page, err := Guard(func() (*unstructured.UnstructuredList, error) {
		return r.source.Lister.List(limited, r.source.Kind, r.source.Namespace, o)
	})
	if err == nil && page == nil {
		err = errNoResult
	}
	return page, cmp.Or(err, ctx.Err())
}

// watch reports the changes since the version, until the watch ends.
func (r *reflector) watch(ctx context.Context) time.Duration {
	began, from := time.Now(), r.version
	err := r.watchOnce(ctx)
	lasted := time.Since(began)
	switch {
	case ctx.Err() != nil:
		return 0
	case errors.Is(err, errRelist):
		r.version = ""
		return 0
	case err != nil && r.options.Poll > 0 && unwatchable(err):
		r.source.Watcher = nil
		return r.backoff.jitter(r.options.Poll)
	case r.version != from || lasted >= stableAfter:
		r.backoff.reset()
	}
	if err != nil {
		return r.afterFailedWatch(err)
	}
	return r.afterEndedWatch(lasted, r.version != from)
}

// afterFailedWatch lists next, unless only the connection failed: the list tells what happened to
// the objects, and whether they can still be read.
func (r *reflector) afterFailedWatch(err error) time.Duration {
	r.handle(Event{Type: WatchFailed, Err: err})
	if r.backoff.failures > 0 || !apierrors.IsTooManyRequests(err) && answered(err) {
		r.version = ""
	}
	return r.backoff.after(err)
}

// afterEndedWatch handles a watch that ended without an error. If the server closes each watch at
// once, only lists report anything.
func (r *reflector) afterEndedWatch(lasted time.Duration, hadEvent bool) time.Duration {
	switch {
	case lasted >= stableAfter, hadEvent && lasted >= r.options.Retry:
		r.shortEnds = 0
		return 0
	case hadEvent:
		r.shortEnds++
		return max(0, r.backoff.jitter(r.options.Retry>>max(2, 5-r.shortEnds))-lasted)
	case r.backoff.failures > 0:
		r.version = ""
	}
	return r.backoff.next()
}

// watchOnce opens a watch and reports its events until it ends. An Error event is an error.
func (r *reflector) watchOnce(ctx context.Context) error {
	o := r.source.Selection
	o.ResourceVersion, o.AllowWatchBookmarks = r.version, true
	changes, err := Guard(func() (watch.Interface, error) {
		return r.source.Watcher.Watch(ctx, r.source.Kind, r.source.Namespace, o)
	})
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
		case <-r.options.Relist:
			return errRelist
		case e, open := <-changes.ResultChan():
			if !open {
				return nil
			}
			if e.Type == watch.Error {
				return apierrors.FromObject(e.Object)
			}
			r.report(e)
		}
	}
}

func (r *reflector) report(e watch.Event) {
	obj, ok := e.Object.(*unstructured.Unstructured)
	if !ok || obj == nil {
		return
	}
	r.version = cmp.Or(obj.GetResourceVersion(), r.version)
	if !isBefore(r.version, r.newest) {
		r.newest = r.version
	}
	switch e.Type {
	case watch.Added, watch.Modified:
		r.handle(Event{Type: Updated, Object: obj})
	case watch.Deleted:
		r.handle(Event{Type: Deleted, Object: obj})
	}
}

func expired(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }

func unwatchable(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsMethodNotSupported(err)
}

// answered reports whether an error is the answer of a server. If the connection is closed within
// an event, client-go returns an error that looks like one.
func answered(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && !apierrors.HasStatusCause(err, "ClientWatchDecoding")
}
