package reconcile

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/internal/random"
	"github.com/stagecraft-go/stagecraft/stage/reconcile/timing"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// Timing says how long requests and reconciles take for the controllers of a [Loop], as in one
// program on a cluster: some reconciles run while others wait for their requests. A zero number
// means no time or no limit. The write of a controller is in the cache when its request has taken
// effect.
//
// Reconciles of one controller overlap if it has several workers, and the cache can change during
// each request. Request.Now stays the time of the beginning. A loop with running reconciles has
// goroutines: call [Loop.Stop] when you no longer need the loop.
type Timing struct {
	// Seed decides the latencies.
	Seed uint64
	// Latency is the time that the API server takes for a request.
	Latency timing.Latency
	// WatchDelay is the time until the loop sees a change by another client.
	WatchDelay time.Duration
	// Controllers has the timing of each controller by its name; Others applies to all other
	// controllers.
	Controllers map[string]ControllerTiming
	Others      ControllerTiming
	// StaleWrites makes controllers see even their own writes only when the watch reports them. The
	// controllers of this project rely on seeing their writes at once. A controller that remembers
	// the writes that it expects to see works with StaleWrites.
	StaleWrites bool
}

// ControllerTiming is the timing of one controller. The zero value has one worker and no limit.
type ControllerTiming struct {
	// Limits are the rate limits of its client. Its Events share them.
	timing.Limits
	// EventLimits are the rate limits of a separate client for Events. Default: Events share
	// Limits.
	EventLimits timing.Limits
	// Workers is the number of keys that it reconciles at the same time; math.MaxInt32 means one
	// worker for each key. Default 1.
	Workers int
	// Gather is the time for which changes wait, so that one reconcile handles several changes. It
	// applies to changes of other kinds, and to changes of the kind For if the object is not new
	// and its generation stays the same.
	Gather time.Duration
	// Sync is the time that a reconcile takes in addition to its requests.
	Sync time.Duration
	// AtOnce is for a controller that models a part of the API server: its requests take no time,
	// and it has no limits. It sees changes as late as other controllers.
	AtOnce bool
	// Process names the program of the controller. All controllers of a program share one view of
	// the events. Package simulation reads Process; a loop is one program. Default: a separate
	// program.
	Process string
}

// String prints the numbers in one line.
func (c ControllerTiming) String() string {
	if c.AtOnce {
		return "part of the API server: its requests take no time"
	}
	s := fmt.Sprintf("%s, workers %d", c.Limits, max(c.Workers, 1))
	if c.Workers == math.MaxInt32 {
		s = c.Limits.String() + ", a worker for each key"
	}
	if c.EventLimits.QPS > 0 {
		s += ", Events " + c.EventLimits.String()
	}
	if c.Gather > 0 {
		s += ", gathers changes for " + c.Gather.String()
	}
	if c.Sync > 0 {
		s += ", a reconcile takes " + c.Sync.String()
	}
	return s
}

// Of returns the timing of a controller.
func (t *Timing) Of(controller string) ControllerTiming {
	if c, ok := t.Controllers[controller]; ok {
		return c
	}
	return t.Others
}

// A crew is the workers of one controller, with their shared client and queue.
type crew struct {
	ControllerTiming
	client   client
	recorder recorder
	busy     int     // the number of workers with a key
	queued   []*task // keys that wait for a worker
}

func newCrew(l *Loop, t transport.Transport, c *Controller) *crew {
	controller := c.Name
	w := &crew{client: client{transport: t, loop: l, controller: controller}}
	w.recorder = newRecorder(&w.client, cmp.Or(c.Component, controller, "controller"), l.options.Events)
	o := l.options.Timing
	if o == nil {
		return w
	}
	w.ControllerTiming = o.Of(controller)
	w.Workers = max(w.Workers, 1)
	seed := random.New(o.Seed).Text(controller).Sum()
	if !w.AtOnce {
		w.client.limited = timing.NewClient(w.Limits, o.Latency, seed)
	}
	if w.EventLimits.QPS > 0 {
		other := w.client
		other.limited = timing.NewClient(w.EventLimits, o.Latency, seed+1)
		w.recorder.client = &other
	}
	return w
}

// Each calls do for 0 to n-1 and returns the first error. If requests take time, all calls are made
// concurrently. Otherwise Each makes one call after another, until a call fails.
func (r Request) Each(n int, do func(i int) error) error {
	if r.crew == nil || r.crew.client.loop.options.Timing == nil {
		for i := range n {
			if err := do(i); err != nil {
				return err
			}
		}
		return nil
	}
	var first error
	r.crew.client.loop.running.All(n, func(i int) {
		if err := do(i); err != nil && first == nil {
			first = err
		}
	})
	return first
}

// AtOnce returns the request with a client whose writes take no time. Use it for writes that the
// API server of a cluster makes itself while it serves a request of the controller.
func (r Request) AtOnce() Request {
	if r.crew != nil {
		direct := r.crew.client
		direct.limited = nil
		r.Client = &direct
	}
	return r
}

// View returns the view of a kind that the controllers watch: which events the loop has seen. It
// returns nil for other kinds. After the first call, events of the kind reach the cache in a Step.
func (l *Loop) View(kind schema.GroupVersionKind) *timing.View[watch.Event] {
	if l.cache.stores[kind] == nil {
		return nil
	}
	v := l.views[kind]
	if v == nil {
		v = timing.NewView[watch.Event](0)
		l.views[kind] = v
	}
	return v
}

// Runs reports whether the loop has a controller with the name.
func (l *Loop) Runs(controller string) bool {
	for c := range l.crews {
		if c.Name == controller {
			return true
		}
	}
	return false
}

// lookAt makes a view see its next event.
func (l *Loop) lookAt(now time.Time) bool {
	if len(l.views) == 0 {
		return false
	}
	var first *timing.View[watch.Event]
	var earliest time.Time
	for _, kind := range l.kinds {
		v := l.views[kind]
		if v == nil {
			continue
		}
		if at, ok := v.Next(); ok && !at.After(now) && (first == nil || at.Before(earliest)) {
			first, earliest = v, at
		}
	}
	if first == nil {
		return false
	}
	e, _ := first.Take(now)
	l.see(e, e.Object.(*unstructured.Unstructured), now)
	return true
}

func (l *Loop) staleWrites() bool { return l.options.Timing != nil && l.options.Timing.StaleWrites }

// gather returns how long a change waits for other changes.
func (l *Loop) gather(c *Controller, kind schema.GroupVersionKind, ch Change) time.Duration {
	w := l.crews[c]
	if w == nil || w.Gather == 0 || kind == c.For && (ch.Old == nil || ch.New == nil || ch.Old.GetGeneration() != ch.New.GetGeneration()) {
		return 0
	}
	return w.Gather
}

// keepLater keeps a later due time of a key, even if the key is reconciled before. A queue of
// Kubernetes also keeps both times.
func (l *Loop) keepLater(t *task, at time.Time) {
	if l.options.Timing == nil || !t.Queued() || at.Equal(t.At()) {
		return
	}
	first, then := at, t.At()
	if then.Before(first) {
		first, then = then, first
	}
	if !first.After(l.now) && (t.later.IsZero() || then.Before(t.later)) {
		t.later = then
	}
}

// hire finds a worker for a key, or makes the key wait for a worker.
func (l *Loop) hire(t *task) bool {
	if l.options.Timing == nil {
		return true
	}
	w := l.crews[t.controller]
	if w.busy >= w.Workers {
		t.state = waiting
		w.queued = append(w.queued, t)
		return false
	}
	w.busy++
	t.state = held
	return true
}

// release gives the worker of a key to the next waiting key.
func (l *Loop) release(t *task) {
	t.state = idle
	if !t.again.IsZero() {
		at := t.again
		t.again = time.Time{}
		if at.Before(l.now) {
			at = l.now
		}
		l.keepLater(t, at)
		l.schedule(t, at)
	}
	w := l.crews[t.controller]
	if len(w.queued) == 0 {
		w.busy--
		return
	}
	next := w.queued[0]
	w.queued = w.queued[1:]
	next.state = held
	l.ready = append(l.ready, next)
}

// isBusy reports whether a key that is due at a time need not enter the queue: it already waits for
// a worker, or it is reconciled again when its worker has finished.
func (l *Loop) isBusy(t *task, at time.Time) bool {
	if t.state == held && (t.again.IsZero() || at.Before(t.again)) {
		t.again = at
	}
	return t.state != idle
}

// Stop ends the running reconciles: their requests fail. The loop must not be used after Stop.
func (l *Loop) Stop() { l.running.Stop() }
