package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/internal/printable"
	"github.com/stagecraft-go/stagecraft/internal/timequeue"
	"github.com/stagecraft-go/stagecraft/stage/reconcile/timing"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// ErrLivelock is the reason why a key is parked: it was reconciled [Options.MaxReconciles] times
// while no time passed.
var ErrLivelock = errors.New("reconciled again and again without time passing")

// Options of a [Loop]. The zero value is the default.
type Options struct {
	// RetryAfter is the pause after a first error. Each further pause is twice as long, up to
	// MaxRetryAfter. Default 5ms and 1000s, as in Kubernetes.
	RetryAfter    time.Duration
	MaxRetryAfter time.Duration
	// MinInterval is the shortest time between two reconciles of a key. One reconcile handles all
	// changes in between. A controller that reads all Pods of an object at each change of a Pod
	// takes time in the square of the number of Pods. With thousands of Pods, 100ms makes this
	// linear. Default 0.
	MinInterval time.Duration
	// MaxReconciles is the number of reconciles of one key at one instant. After it the loop parks
	// the key until time has passed. Default 10,000.
	MaxReconciles int
	// Trace is called after each reconcile.
	Trace func(TraceEvent)
	// Timing says how long requests and reconciles take. Nil means no time: a controller does all
	// its work at one instant.
	Timing *Timing
	// Events turns on the recording of Events, see [Request.Record].
	Events bool
}

// A TraceEvent is one call of a controller, or the parking of its key.
type TraceEvent struct {
	Time       time.Time
	Controller string
	Name       types.NamespacedName
	Result     Result
	Err        error
}

// String prints the event in one line, without the time.
func (e TraceEvent) String() string {
	s := e.Controller + " " + e.Name.String()
	if e.Result.After > 0 {
		s += " again in " + e.Result.After.String()
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return printable.Text(s)
}

// A Loop calls controllers. It has no clock, and without a Timing no goroutine. It must not be used
// from several goroutines at once.
type Loop struct {
	options Options
	crews   map[*Controller]*crew
	now     time.Time
	active  string // name of the controller whose write is being observed
	cache   *Cache
	views   map[schema.GroupVersionKind]*timing.View[watch.Event] // of the kinds whose events are seen late
	running timing.Tasks                                          // reconciles that take time
	ready   []*task                                               // tasks that have a worker and wait for their reconcile
	kinds   []schema.GroupVersionKind
	routes  map[schema.GroupVersionKind][]route
	tasks   map[key]*task
	queue   timequeue.Queue[*task]
	idle    []*task // tasks whose objects are gone; dropped once time has passed
}

// A route leads from the changes of a kind to the keys of a controller.
type route struct {
	controller *Controller
	keys       func(*Cache, Change) []types.NamespacedName
}

type key struct {
	controller *Controller
	name       types.NamespacedName
}

// A task is a key that was in the queue.
type task struct {
	key
	timequeue.Timer // when it is due

	failures int       // since the last success
	result   Result    // of the last call
	err      error     // of the last call
	lastRun  time.Time // when it was reconciled last
	runs     int       // the number of reconciles at that time

	state taskState
	again time.Time // when it is due after the running reconcile, if it has changed since

	later time.Time // with Timing: a second due time, which stays when the key is reconciled before
}

// A taskState says whether a key waits for a worker or has one.
type taskState int

const (
	idle    taskState = iota
	waiting           // for a worker
	held              // by a worker
)

// NewLoop returns a loop with an empty cache. Its controllers write to t.
func NewLoop(t transport.Transport, o Options, controllers ...Controller) *Loop {
	o.RetryAfter = cmp.Or(o.RetryAfter, 5*time.Millisecond)
	o.MaxRetryAfter = cmp.Or(o.MaxRetryAfter, 1000*time.Second)
	o.MaxReconciles = cmp.Or(o.MaxReconciles, 10_000)
	l := &Loop{
		options: o,
		cache:   &Cache{stores: map[schema.GroupVersionKind]*store{}},
		routes:  map[schema.GroupVersionKind][]route{},
		tasks:   map[key]*task{},
		crews:   map[*Controller]*crew{},
		views:   map[schema.GroupVersionKind]*timing.View[watch.Event]{},
	}
	for i := range controllers {
		l.add(&controllers[i])
		l.crews[&controllers[i]] = newCrew(l, t, &controllers[i])
	}
	if o.Timing != nil {
		for _, kind := range l.kinds {
			l.View(kind).SetDelay(o.Timing.WatchDelay)
		}
	}
	return l
}

func (l *Loop) add(c *Controller) {
	l.route(c.For, route{c, func(_ *Cache, ch Change) []types.NamespacedName {
		if c.When != nil && !c.When(ch) {
			return nil
		}
		return []types.NamespacedName{nameOf(ch.Object())}
	}})
	for _, w := range c.Watches {
		keys := w.Map
		if keys == nil {
			keys = func(_ *Cache, ch Change) []types.NamespacedName { return owners(c.For, ch) }
		}
		l.route(w.Kind, route{c, keys})
	}
	for _, i := range c.Indexes {
		s := l.storeOf(i.Kind)
		if s.indexes == nil {
			s.indexes = map[*Index]*objectIndex{}
		}
		s.indexes[i] = &objectIndex{value: i.Value, order: i.Order}
	}
}

func (l *Loop) route(kind schema.GroupVersionKind, r route) {
	l.storeOf(kind)
	l.routes[kind] = append(l.routes[kind], r)
}

func (l *Loop) storeOf(kind schema.GroupVersionKind) *store {
	s := l.cache.stores[kind]
	if s == nil {
		s = newStore()
		l.cache.stores[kind] = s
		l.kinds = append(l.kinds, kind)
	}
	return s
}

// Kinds returns the kinds whose events the caller must pass to Observe, in the order in which the
// controllers name them.
func (l *Loop) Kinds() []schema.GroupVersionKind { return l.kinds }

// Cache returns the cache of the loop.
func (l *Loop) Cache() *Cache { return l.cache }

// Observe handles a watch event, at once or when the [Loop.View] of the kind has seen it. It puts
// the affected keys into the queue. It ignores objects of other kinds, objects that are not newer
// than the known state, and events without an object.
func (l *Loop) Observe(e watch.Event, now time.Time) {
	obj, ok := e.Object.(*unstructured.Unstructured)
	if !ok {
		return
	}
	if v := l.views[obj.GroupVersionKind()]; v != nil {
		v.Add(e, now)
		return
	}
	l.see(e, obj, now)
}

// see handles an event.
func (l *Loop) see(e watch.Event, obj *unstructured.Unstructured, now time.Time) {
	kind := obj.GroupVersionKind()
	s := l.cache.stores[kind]
	if s == nil {
		return
	}
	var ok bool
	var change Change
	switch e.Type {
	case watch.Added, watch.Modified:
		change, ok = s.update(obj)
	case watch.Deleted:
		change, ok = s.remove(obj)
		delete(s.deleted, obj.GetUID())
	default:
		return
	}
	if ok {
		l.changed(kind, change, now)
	}
}

func (l *Loop) changed(kind schema.GroupVersionKind, c Change, now time.Time) {
	c.By = l.active
	for _, r := range l.routes[kind] {
		for _, name := range r.keys(l.cache, c) {
			l.enqueue(key{r.controller, name}, now.Add(l.gather(r.controller, kind, c)))
		}
	}
}

// enqueue puts a key into the queue, or moves it forward if it is queued for a later time.
func (l *Loop) enqueue(k key, at time.Time) {
	t := l.tasks[k]
	if t == nil {
		t = &task{key: k}
		l.tasks[k] = t
	}
	if l.parked(t, at) || l.isBusy(t, at) {
		return
	}
	if rested := t.lastRun.Add(l.options.MinInterval); at.Before(rested) {
		at = rested
	}
	l.keepLater(t, at)
	l.schedule(t, at)
}

// schedule puts a task into the queue, or moves it forward if it is queued for a later time.
func (l *Loop) schedule(t *task, at time.Time) {
	if !t.Queued() || at.Before(t.At()) {
		l.queue.Set(t, at)
	}
}

func (l *Loop) parked(t *task, now time.Time) bool {
	return t.runs >= l.options.MaxReconciles && !now.After(t.lastRun)
}

// NextDue returns the earliest time at which a key, the next event of a view, or the effect of a
// request is due. It returns false if nothing is due.
func (l *Loop) NextDue() (at time.Time, ok bool) {
	at, ok = l.queue.Next()
	if l.options.Timing == nil && len(l.views) == 0 {
		return at, ok
	}
	sooner := func(t time.Time, is bool) {
		if is && (!ok || t.Before(at)) {
			at, ok = t, true
		}
	}
	sooner(l.running.Next())
	sooner(l.now, len(l.ready) > 0)
	for _, v := range l.views {
		sooner(v.Next())
	}
	return at, ok
}

// Step does the first action that is due at the time now: an event is seen, a request takes effect
// and its reconcile continues, or a key is reconciled. It returns false if nothing is due. An error
// of a controller goes to Trace, and its key goes back into the queue.
func (l *Loop) Step(ctx context.Context, now time.Time) bool {
	at, ok := l.NextDue()
	if !ok || at.After(now) {
		return false
	}
	l.now = now
	l.dropIdle(now)
	switch {
	case l.lookAt(now) || l.running.Resume(now):
	case len(l.ready) > 0:
		t := l.ready[0]
		l.ready = l.ready[1:]
		l.begin(ctx, t)
	default:
		if t, due := l.queue.Pop(now); due && l.hire(t) {
			l.begin(ctx, t)
		}
	}
	return true
}

// begin reconciles a key, or starts its reconcile if it takes time.
func (l *Loop) begin(ctx context.Context, t *task) {
	if !t.lastRun.Equal(l.now) {
		t.lastRun, t.runs = l.now, 0
	}
	t.runs++
	if l.options.Timing == nil {
		l.reconcile(ctx, t)
		return
	}
	ctx = context.WithoutCancel(ctx) // the reconcile can continue in a later Step with another context
	l.running.Start(l.now, func() {
		if l.running.Sleep(l.now.Add(l.crews[t.controller].Sync)) != nil {
			return
		}
		l.reconcile(ctx, t)
		l.release(t)
	})
}

// reconcile calls the controller of a key.
func (l *Loop) reconcile(ctx context.Context, t *task) {
	w := l.crews[t.controller]
	r := Request{Name: t.name, Now: l.now, Cache: l.cache, Client: &w.client, crew: w}
	result, err := t.controller.Reconcile(ctx, r)
	if errors.Is(err, timing.ErrStopped) {
		return
	}
	l.trace(t, result, err)
	l.done(t, result, err)
}

// done decides when a key is reconciled again.
func (l *Loop) done(t *task, result Result, err error) {
	t.result, t.err = result, err
	switch {
	case l.parked(t, l.now):
		l.queue.Remove(t)
		l.trace(t, Result{}, fmt.Errorf("%w: parked", ErrLivelock))
	case isFinal(err):
	case err != nil:
		l.schedule(t, l.now.Add(l.pause(t)))
		t.failures++
	default:
		t.failures = 0
	}
	if result.After > 0 && !isFinal(err) && !l.parked(t, l.now) {
		l.schedule(t, l.now.Add(result.After))
	}
	if !t.later.IsZero() {
		l.schedule(t, t.later)
		t.later = time.Time{}
	}
	if !t.Queued() && l.cache.Get(t.controller.For, t.name) == nil {
		l.idle = append(l.idle, t)
	}
}

// pause returns how long a key waits after its latest error.
func (l *Loop) pause(t *task) time.Duration {
	d, most := cmp.Or(t.controller.RetryAfter, l.options.RetryAfter), cmp.Or(t.controller.MaxRetryAfter, l.options.MaxRetryAfter)
	for failures := t.failures; failures > 0 && d < most; failures-- {
		d *= 2
	}
	return min(d, most)
}

// dropIdle drops the tasks of objects that are gone. It keeps them while no time passes, because a
// livelock can create and delete objects.
func (l *Loop) dropIdle(now time.Time) {
	if len(l.idle) == 0 || !now.After(l.idle[0].lastRun) {
		return
	}
	for _, t := range l.idle {
		if !t.Queued() && t.state == idle && l.cache.Get(t.controller.For, t.name) == nil {
			delete(l.tasks, t.key)
		}
	}
	l.idle = l.idle[:0]
}

func (l *Loop) trace(t *task, result Result, err error) {
	if l.options.Trace != nil {
		l.options.Trace(TraceEvent{Time: l.now, Controller: t.controller.Name, Name: t.name, Result: result, Err: err})
	}
}
