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

// Timing is how long things take for the controllers of a [Loop], as for those of one program on a
// cluster: reconciles go on while others wait for their requests. Numbers that are zero are no time
// and no limit. What a controller wrote is in the cache when the request has taken effect.
//
// Reconciles of one controller then overlap where it has several workers, and the cache may change
// at each request. Request.Now stays that of the beginning. A loop whose reconciles are under way
// holds goroutines: call [Loop.Stop] when it is not needed any more.
type Timing struct {
	// Seed decides the latencies.
	Seed uint64
	// Latency is how long the API server takes for a request.
	Latency timing.Latency
	// WatchDelay is after which time the loop sees what others did.
	WatchDelay time.Duration
	// Controllers are what holds for a controller, by its name; Others for those not named there.
	Controllers map[string]ControllerTiming
	Others      ControllerTiming
	// StaleWrites has controllers see their own writes, too, only when the watch reports them. The
	// controllers of this project rely on seeing them at once; those that remember what they
	// expect to see do not need it.
	StaleWrites bool
}

// ControllerTiming is how long things take for one controller. The zero value has one worker and no
// limit.
type ControllerTiming struct {
	// Limits are those of its client, which its Events share.
	timing.Limits
	// EventLimits are those of a client of its own for Events. Default: they share Limits.
	EventLimits timing.Limits
	// Workers is how many keys it reconciles at the same time; math.MaxInt32 is one for each key.
	// Default 1.
	Workers int
	// Gather is how long changes wait, so that they are looked at in one go: those of other
	// objects, and of its own ones if neither the generation changes nor the object is new.
	Gather time.Duration
	// Sync is what a reconcile takes beside its requests.
	Sync time.Duration
	// AtOnce is for what is no controller on a cluster but part of the API server: its requests
	// take no time, and it has no limits. It sees changes as late as the others.
	AtOnce bool
	// Process is the program that the controller belongs to, with whose other controllers it
	// shares what it has seen. Package simulation reads it; a loop is one program. Default: a
	// program of its own.
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

// Of returns what holds for a controller.
func (t *Timing) Of(controller string) ControllerTiming {
	if c, ok := t.Controllers[controller]; ok {
		return c
	}
	return t.Others
}

// A crew is the workers of one controller, and what they share.
type crew struct {
	ControllerTiming
	client   client
	recorder recorder
	busy     int     // workers that hold a key
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

// Each calls a function for 0 to n-1 and returns the first error. Where requests take time the calls
// are concurrent, and all are made; else one follows another until one fails.
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

// AtOnce returns the request with a client whose writes take no time. It is for what on a cluster
// the API server does itself while it serves a request of the controller.
func (r Request) AtOnce() Request {
	if r.crew != nil {
		direct := r.crew.client
		direct.limited = nil
		r.Client = &direct
	}
	return r
}

// View returns what the loop has seen of a kind that its controllers watch, nil for others. From
// then on events reach the cache at a Step.
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

// Runs reports whether the loop has a controller of a name.
func (l *Loop) Runs(controller string) bool {
	for c := range l.crews {
		if c.Name == controller {
			return true
		}
	}
	return false
}

// lookAt has a view see the event that is next.
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

// gather is how long a change waits for others.
func (l *Loop) gather(c *Controller, kind schema.GroupVersionKind, ch Change) time.Duration {
	w := l.crews[c]
	if w == nil || w.Gather == 0 || kind == c.For && (ch.Old == nil || ch.New == nil || ch.Old.GetGeneration() != ch.New.GetGeneration()) {
		return 0
	}
	return w.Gather
}

// keepLater has a key that is to be reconciled later reconciled then, even if something has it
// reconciled at once before: a queue of Kubernetes keeps both.
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

// hire finds a worker for a key, or has it wait for one.
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

// release gives the worker of a key to the next one that waits.
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

// isBusy reports whether a key that is due at a time needs no place in the queue: it waits for a
// worker, or is looked at again when its worker is done with it.
func (l *Loop) isBusy(t *task, at time.Time) bool {
	if t.state == held && (t.again.IsZero() || at.Before(t.again)) {
		t.again = at
	}
	return t.state != idle
}

// Stop ends the reconciles that are under way: their requests fail. The loop must not be used any
// more.
func (l *Loop) Stop() { l.running.Stop() }
