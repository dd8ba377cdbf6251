package memory

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"sort"
	"strconv"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// backlog is the largest number of events that are kept for a slow watcher.
const backlog = 1 << 20

// event is one change of a table.
type event struct {
	version  uint64
	typ      watch.EventType
	record   *record
	obj, old *unstructured.Unstructured
	bytes    int // of obj; 0: not known
}

// maxHistory is the limit of the known bytes of all events of a cluster.
const maxHistory = 64 << 20

// log has the last events of a table: at least keep events, and more for slow watchers. Writers
// append and never wait for watchers.
type log struct {
	keep     int
	limit    int // length at which to trim next
	events   []event
	first    uint64 // number of events[0]
	version  uint64 // of the last dropped event
	watchers []*watcher
	waking   bool          // a goroutine wakes the watchers
	more     bool          // ... and there has been an event meanwhile
	end      atomic.Uint64 // head, for Feeds that read it without the lock
	bytes    int           // of the events
}

// append adds an event, and returns the events that are dropped.
func (l *log) append(e event) (forgotten []event) {
	l.events = append(l.events, e)
	l.bytes += e.bytes
	if len(l.events) >= l.limit {
		forgotten = l.trim()
		l.limit = len(l.events) + l.keep
	}
	l.end.Store(l.head())
	return forgotten
}

// wokenAtOnce is how many watchers begin to run at the same time. If an event woke thousands of them,
// every other request would wait until each has had the processor.
const wokenAtOnce = 64

// wake tells the watchers of a log that there is an event.
func (s *store) wake(l *log) {
	switch {
	case len(l.watchers) <= wokenAtOnce:
		wakeAll(l.watchers)
	case l.waking:
		l.more = true
	default:
		l.waking = true
		go s.wakeInGroups(l)
	}
}

func wakeAll(watchers []*watcher) {
	for _, w := range watchers {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

// wakeInGroups wakes the watchers, a group after the one before has run. It begins with the last: one
// that leaves moves only watchers behind it, which have been woken. One that joins knows the event.
func (s *store) wakeInGroups(l *log) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for l.more = true; l.more; {
		l.more = false
		for to := len(l.watchers); to > 0; to -= wokenAtOnce {
			to = min(to, len(l.watchers))
			wakeAll(l.watchers[max(0, to-wokenAtOnce):to])
			s.mu.Unlock()
			runtime.Gosched()
			s.mu.Lock()
		}
	}
	l.waking = false
}

func (l *log) head() uint64 { return l.first + uint64(len(l.events)) }

func (l *log) trim() (forgotten []event) {
	if len(l.events) <= l.keep {
		return nil
	}
	floor := l.head() - uint64(l.keep)
	for _, w := range l.watchers {
		if w.unbounded || len(l.events) < backlog {
			floor = min(floor, max(w.next, l.first))
		}
	}
	return l.drop(int(floor - l.first))
}

// drop drops the first n events.
func (l *log) drop(n int) (forgotten []event) {
	if n == 0 {
		return nil
	}
	forgotten = l.events[:n]
	for _, e := range forgotten {
		l.bytes -= e.bytes
	}
	l.version = forgotten[n-1].version
	l.events = slices.Clone(l.events[n:])
	l.first += uint64(n)
	return forgotten
}

// dropBytes drops the older half of the bytes, except events that a Feed has not read.
func (l *log) dropBytes() {
	n, dropped := 0, 0
	for n < len(l.events) && dropped < l.bytes/2 {
		dropped += l.events[n].bytes
		n++
	}
	for _, w := range l.watchers {
		if w.unbounded {
			n = min(n, int(max(w.next, l.first)-l.first))
		}
	}
	l.drop(n)
}

// after returns the number of the first event after a version.
func (l *log) after(version uint64) uint64 {
	i := sort.Search(len(l.events), func(i int) bool { return l.events[i].version > version })
	return l.first + uint64(i)
}

// watcher reads a log. It is a [watch.Interface].
type watcher struct {
	handle    *Cluster
	kind      *kind
	selection selection
	ctx       context.Context
	cancel    context.CancelFunc
	out       chan watch.Event
	wake      chan struct{}
	initial   []watch.Event
	next      uint64 // number of the next event to read; needs mu
	after     uint64 // events up to this version are not reported
	unbounded bool   // all unread events are kept, without a limit
	bookmarks bool   // a bookmark comes each minute
}

// Watch reports the changes of the objects of a kind after o.ResourceVersion. An empty namespace
// means all namespaces. Without a version, or with "0", the watch begins with the present objects
// as ADDED. An object that begins to match the selectors is ADDED; an object that no longer matches
// is DELETED.
//
// If o.AllowWatchBookmarks is set, a BOOKMARK with the annotation k8s.io/initial-events-end follows the
// present objects. A watch from a version that the cluster does not have yet waits for later versions;
// with o.SendInitialEvents it ends with an ERROR event, Timeout (504). The watch ends with an ERROR event, Expired (410), if the events since the
// version are no longer kept, or if the reader is more than a million events behind. Stop, the end
// of ctx and o.TimeoutSeconds also end the watch. With o.AllowWatchBookmarks a BOOKMARK comes each
// minute of the machine's clock. Writers never wait for a watch.
func (c *Cluster) Watch(ctx context.Context, gvk schema.GroupVersionKind, namespace string, o metav1.ListOptions) (watch.Interface, error) {
	w := &watcher{handle: c, bookmarks: o.AllowWatchBookmarks, out: make(chan watch.Event), wake: make(chan struct{}, 1)}
	if err := w.start(ctx, gvk, namespace, o); err != nil {
		return nil, err
	}
	if o.TimeoutSeconds != nil {
		w.ctx, w.cancel = context.WithTimeout(ctx, time.Duration(*o.TimeoutSeconds)*time.Second)
	} else {
		w.ctx, w.cancel = context.WithCancel(ctx)
	}
	go w.run()
	return w, nil
}

// start joins the log of a kind. It selects the existing objects, if the watch begins with them,
// without the lock.
func (w *watcher) start(ctx context.Context, gvk schema.GroupVersionKind, namespace string, o metav1.ListOptions) (err error) {
	version, err := parseVersion(o.ResourceVersion)
	if err != nil {
		return answer(err)
	}
	c := w.handle
	c.mu.RLock()
	w.kind, err = c.kindOf(gvk)
	c.mu.RUnlock()
	if err != nil {
		return err
	}
	if w.selection, err = newSelection(w.kind, namespace, o); err != nil {
		return err
	}
	c.mu.Lock()
	present, mark := w.join(version, o)
	c.mu.Unlock()
	if present, err = w.chosen(ctx, present); err != nil {
		w.leaveLog()
		return err
	}
	for _, obj := range present {
		w.initial = append(w.initial, watch.Event{Type: watch.Added, Object: obj})
	}
	if mark != nil {
		w.initial = append(w.initial, watch.Event{Type: watch.Bookmark, Object: mark})
	}
	return nil
}

// chosen returns the objects that match, in the version of the watch.
func (w *watcher) chosen(ctx context.Context, objs []*unstructured.Unstructured) (_ []*unstructured.Unstructured, err error) {
	if w.kind.converts() {
		if objs, err = w.handle.versions(ctx, w.kind, objs); err != nil {
			return nil, err
		}
	}
	if objs, err = w.selection.of(ctx, objs); err != nil {
		return nil, err
	}
	return w.handle.versions(ctx, w.kind, objs)
}

// join finds the first event to report. It returns the existing objects if the watch begins with
// them, and the bookmark after them if the client wants it.
func (w *watcher) join(version uint64, o metav1.ListOptions) (existing []*unstructured.Unstructured, mark *unstructured.Unstructured) {
	l := &w.kind.table.log
	present := version == 0
	if o.SendInitialEvents != nil {
		present = *o.SendInitialEvents
	}
	switch {
	case version > w.handle.version && present:
		w.initial = []watch.Event{{Type: watch.Error, Object: new(tooLarge(version, w.handle.version).Status())}}
	case version > w.handle.version:
		w.next, w.after = l.head(), version
	case present:
		w.next = l.head()
		existing = w.selection.all(w.kind.table)
		if o.AllowWatchBookmarks && (o.SendInitialEvents != nil || anyVersion(o.ResourceVersion)) {
			mark = w.bookmark()
			mark.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
		}
	case version == 0:
		w.next = l.head()
	case version < l.version:
		w.initial = []watch.Event{expired(fmt.Sprintf("too old resource version: %d (%d)", version, l.version))}
	default:
		w.next = l.after(version)
	}
	l.watchers = append(l.watchers, w)
	return existing, mark
}

// bookmark returns an object that has only the present version.
func (w *watcher) bookmark() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(w.kind.GroupVersionKind)
	u.SetResourceVersion(strconv.FormatUint(w.handle.version, 10))
	return u
}

// progress returns a bookmark if all events have been read.
func (w *watcher) progress() []watch.Event {
	w.handle.mu.RLock()
	defer w.handle.mu.RUnlock()
	if w.next < w.kind.table.log.head() {
		return nil
	}
	return []watch.Event{{Type: watch.Bookmark, Object: w.bookmark()}}
}

// bookmarkPeriod is the same as kube-apiserver's.
const bookmarkPeriod = time.Minute

func tooLarge(version, current uint64) *apierrors.StatusError {
	err := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", version, current), 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version"}}
	return err
}

func expired(message string) watch.Event { return failed(apierrors.NewResourceExpired(message)) }

func failed(err error) watch.Event {
	status := metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: err.Error()}
	if known := apierrors.APIStatus(nil); errors.As(err, &known) {
		status = known.Status()
	}
	return watch.Event{Type: watch.Error, Object: &status}
}

// Stop ends the watch; the channel closes soon after.
func (w *watcher) Stop() { w.cancel() }

// ResultChan returns the channel of events.
func (w *watcher) ResultChan() <-chan watch.Event { return w.out }

func (w *watcher) run() {
	defer close(w.out)
	defer w.leave()
	if !w.send(w.initial) {
		return
	}
	w.initial = nil
	var minute <-chan time.Time
	if w.bookmarks {
		ticker := time.NewTicker(bookmarkPeriod)
		defer ticker.Stop()
		minute = ticker.C
	}
	for {
		batch, ok := w.read(nil)
		if !ok {
			w.send([]watch.Event{expired("too many events have come since the last one that was read")})
			return
		}
		if !w.send(batch) {
			return
		}
		if len(batch) > 0 {
			continue
		}
		select {
		case <-w.ctx.Done():
			return
		case <-w.wake:
		case <-minute:
			if !w.send(w.progress()) {
				return
			}
		}
	}
}

func (w *watcher) leave() {
	w.cancel()
	w.leaveLog()
}

func (w *watcher) leaveLog() {
	w.handle.mu.Lock()
	defer w.handle.mu.Unlock()
	l := &w.kind.table.log
	l.watchers = slices.DeleteFunc(l.watchers, func(other *watcher) bool { return other == w })
}

// read appends the next events that match to an empty batch. It returns false if events were lost.
func (w *watcher) read(batch []watch.Event) ([]watch.Event, bool) {
	if w.selection.steps > fewSteps || w.kind.table.apiVersion != w.kind.apiVersion {
		return w.readSlowly(batch)
	}
	w.handle.mu.RLock()
	defer w.handle.mu.RUnlock()
	l := &w.kind.table.log
	if w.next < l.first {
		return nil, false
	}
	for w.next < l.head() && len(batch) < 256 {
		if e, ok := w.event(l.events[w.next-l.first]); ok {
			batch = append(batch, e)
		}
		w.next++
	}
	return batch, true
}

// readSlowly is read for large selectors and for kinds with several versions: it matches and
// converts without the lock. An event that cannot be converted becomes an ERROR event.
func (w *watcher) readSlowly(batch []watch.Event) ([]watch.Event, bool) {
	for len(batch) == 0 {
		events, ok := w.copyNext()
		if !ok || len(events) == 0 {
			return batch, ok
		}
		if err := w.convert(events); err != nil {
			return append(batch, failed(err)), true
		}
		for _, e := range events {
			if e, ok := w.event(e); ok {
				batch = append(batch, e)
			}
		}
	}
	return batch, true
}

// event returns what the watch reports of an event.
func (w *watcher) event(e event) (watch.Event, bool) {
	if e.version <= w.after {
		return watch.Event{}, false
	}
	return w.selection.event(e)
}

// convert replaces the objects of events by objects in the version of the watch.
func (w *watcher) convert(events []event) (err error) {
	objs := make([]*unstructured.Unstructured, 0, 2*len(events))
	for _, e := range events {
		if !w.selection.isIn(e.obj) {
			continue
		}
		objs = append(objs, e.obj)
		if e.old != nil && w.selection.selects() {
			objs = append(objs, e.old)
		}
	}
	if objs, err = w.handle.versions(w.context(), w.kind, objs); err != nil {
		return err
	}
	for i := range events {
		e := &events[i]
		if !w.selection.isIn(e.obj) {
			continue
		}
		e.obj, objs = objs[0], objs[1:]
		if e.old != nil && w.selection.selects() {
			e.old, objs = objs[0], objs[1:]
		}
	}
	return nil
}

// context returns the context of the watch. A Feed has none.
func (w *watcher) context() context.Context {
	if w.ctx == nil {
		return context.Background()
	}
	return w.ctx
}

// copyNext returns the next events, at most 256. It returns false if events were lost.
func (w *watcher) copyNext() ([]event, bool) {
	w.handle.mu.RLock()
	defer w.handle.mu.RUnlock()
	l := &w.kind.table.log
	if w.next < l.first {
		return nil, false
	}
	from := w.next
	w.next = min(l.head(), from+256)
	return slices.Clone(l.events[from-l.first : w.next-l.first]), true
}

// send sends events to the channel. It returns false if the watch was stopped, or has ended with an
// error event.
func (w *watcher) send(events []watch.Event) bool {
	for _, e := range events {
		if obj, ok := e.Object.(*unstructured.Unstructured); ok {
			e.Object = w.handle.result(obj)
		}
		select {
		case <-w.ctx.Done():
			return false
		case w.out <- e:
		}
		if e.Type == watch.Error {
			return false
		}
	}
	return w.ctx.Err() == nil
}
