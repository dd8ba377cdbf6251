package listwatch

import (
	"cmp"
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

const (
	pageSize = 500             // objects that a List is asked for at once
	maxPages = 10_000          // no cluster has so many
	steady   = 2 * time.Second // what a watch lasts that was quiet, not broken
	missing  = 5 * time.Second // at most, between two looks whether a kind exists by now
)

// A Lister lists objects. It gives up when ctx ends. Its results are neither changed nor copied.
type Lister interface {
	List(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (*unstructured.UnstructuredList, error)
}

// A Watcher watches objects. One that is closed, or ends with an Error event, is opened again.
type Watcher interface {
	Watch(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (watch.Interface, error)
}

// A Source is what is followed.
type Source struct {
	Lister    Lister
	Watcher   Watcher // nil: it is polled
	Kind      schema.GroupVersionKind
	Namespace string             // "": all
	Selection metav1.ListOptions // its selectors
}

// Options of [Run].
type Options struct {
	// Retry is the first pause after a failure. Each further one is twice as long, up to Longest.
	Retry, Longest time.Duration
	// Timeout is how long one page of a list may take. 0: as long as it wants.
	Timeout time.Duration
	// Poll is the time between two lists where nothing can be watched. 0: a watch that is forbidden is a failure like others, and tried again.
	Poll time.Duration
	// Seed of the jitter.
	Seed uint64
}

// What happened.
type What uint8

// The kinds of [Event]. Between Listing and Listed or Unlisted come the objects of a list, and nothing else; if instead Listing comes again, the list
// was begun anew.
const (
	Found     What = iota // an object is there, or has changed
	Gone                  // an object is no longer there
	Listing               // a list begins
	Listed                // this was all there is
	Unlisted              // the list could not be had
	Unwatched             // the watch could not be had, or failed
)

// An Event is something that was seen.
type Event struct {
	What   What
	Object *unstructured.Unstructured // Found, Gone: the last state known
	InList bool                       // Found: it was read, not watched
	Err    error                      // Unlisted, Unwatched
}

// What a cluster may do that makes no sense.
var (
	errNoResult = errors.New("the transport returned neither a result nor an error")
	errNoEnd    = errors.New("the list has page after page, without end")
)

// Run follows a source until ctx is done. It calls tell for each event; after ctx is done there are none.
func Run(ctx context.Context, s Source, o Options, tell func(Event)) {
	f := &follower{source: s, options: o, pause: newPause(s, o)}
	f.tell = func(e Event) {
		if ctx.Err() == nil { // of a watch and its end, both there, either may be seen first
			tell(e)
		}
	}
	for ctx.Err() == nil {
		sleep(ctx, f.turn(ctx))
	}
}

type follower struct {
	source  Source
	options Options
	tell    func(Event)
	pause   pause
	cuts    int    // how many watches in a row told something and ended soon
	version string // to watch from; "" asks for a list
	unpaged bool   // pages expired before they were read
}

// turn lists if need be, and watches until the watch ends. It returns how long to rest.
func (f *follower) turn(ctx context.Context) time.Duration {
	if f.version == "" || f.source.Watcher == nil {
		if err := f.list(ctx); err != nil {
			return f.unlisted(ctx, err)
		}
	}
	if f.source.Watcher != nil {
		return f.watch(ctx)
	}
	f.pause.reset()
	return f.pause.about(f.options.Poll)
}

// unlisted tells that a list failed, unless it only took so long that its pages expired.
func (f *follower) unlisted(ctx context.Context, err error) time.Duration {
	if ctx.Err() != nil {
		return 0
	}
	f.version = ""
	late := expired(err) && !f.unpaged
	f.unpaged = f.unpaged || late || errors.Is(err, errNoEnd)
	if !late {
		f.tell(Event{What: Unlisted, Err: err})
	}
	if apierrors.IsNotFound(err) {
		return min(f.pause.after(err), missing)
	}
	return f.pause.after(err)
}

// list reads all objects, page by page.
func (f *follower) list(ctx context.Context) error {
	f.tell(Event{What: Listing})
	o := f.source.Selection
	if !f.unpaged {
		o.Limit = pageSize
	}
	for range maxPages {
		page, err := f.page(ctx, o)
		if err != nil {
			return err
		}
		for i := range page.Items {
			f.tell(Event{What: Found, Object: &page.Items[i], InList: true})
		}
		switch next := page.GetContinue(); next {
		case "":
			f.version, f.unpaged = page.GetResourceVersion(), false
			f.tell(Event{What: Listed})
			return nil
		case o.Continue:
			return errNoEnd
		default:
			o.Continue = next
		}
	}
	return errNoEnd
}

func (f *follower) page(ctx context.Context, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	limited := ctx
	if f.options.Timeout > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, f.options.Timeout)
		defer cancel()
	}
	page, err := f.source.Lister.List(limited, f.source.Kind, f.source.Namespace, o)
	if err == nil && page == nil {
		err = errNoResult
	}
	return page, cmp.Or(err, ctx.Err())
}

// watch tells what happens from the version on, until the watch ends.
func (f *follower) watch(ctx context.Context) time.Duration {
	began, from := time.Now(), f.version
	err := f.open(ctx)
	lasted := time.Since(began)
	switch {
	case ctx.Err() != nil:
		return 0
	case err != nil && f.options.Poll > 0 && unwatchable(err):
		f.source.Watcher = nil
		return f.pause.about(f.options.Poll)
	case f.version != from || lasted >= steady:
		f.pause.reset()
	}
	if err != nil {
		return f.unwatched(err)
	}
	return f.cut(lasted, f.version != from)
}

// unwatched says what to do after a watch that failed: unless only the connection did, a list tells what became of the objects, and whether they
// can still be read.
func (f *follower) unwatched(err error) time.Duration {
	f.tell(Event{What: Unwatched, Err: err})
	if f.pause.failures > 0 || !apierrors.IsTooManyRequests(err) && answered(err) {
		f.version = ""
	}
	return f.pause.after(err)
}

// cut says what to do after a watch that ended without an error. One that is cut at once, each time, would never tell anything.
func (f *follower) cut(lasted time.Duration, told bool) time.Duration {
	switch {
	case lasted >= steady, told && lasted >= f.options.Retry:
		f.cuts = 0
		return 0
	case told:
		f.cuts++
		return max(0, f.pause.about(f.options.Retry>>max(2, 5-f.cuts))-lasted)
	case f.pause.failures > 0:
		f.version = ""
	}
	return f.pause.next()
}

// open opens a watch and tells its events until it ends. An Error event is an error.
func (f *follower) open(ctx context.Context) error {
	o := f.source.Selection
	o.ResourceVersion, o.AllowWatchBookmarks = f.version, true
	changes, err := f.source.Watcher.Watch(ctx, f.source.Kind, f.source.Namespace, o)
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
				return nil
			}
			if e.Type == watch.Error {
				return apierrors.FromObject(e.Object)
			}
			f.event(e)
		}
	}
}

func (f *follower) event(e watch.Event) {
	obj, ok := e.Object.(*unstructured.Unstructured)
	if !ok || obj == nil {
		return
	}
	f.version = cmp.Or(obj.GetResourceVersion(), f.version)
	switch e.Type {
	case watch.Added, watch.Modified:
		f.tell(Event{What: Found, Object: obj})
	case watch.Deleted:
		f.tell(Event{What: Gone, Object: obj})
	}
}

func expired(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }

func unwatchable(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsMethodNotSupported(err)
}

// answered reports whether an error is the answer of a server, and not that of client-go to a connection that was cut within an event.
func answered(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && !apierrors.HasStatusCause(err, "ClientWatchDecoding")
}
