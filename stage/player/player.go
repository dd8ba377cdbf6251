package player

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/internal/random"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// Options of [New]. The zero value is usable.
type Options struct {
	// Seed decides all draws, together with what the comment of package stage names.
	Seed uint64
	// Workers is how many requests are under way at once: each worker sends one after another. The
	// result does not depend on it. Choose it by the rate that is wanted and the time that a
	// request takes. Default 16.
	Workers int
	// Timeout is how long one request may take before it counts as failed and is tried again.
	// Default 30s.
	Timeout time.Duration
	// Namespace limits the player to one namespace. Default all.
	Namespace string
	// Select limits what is listed and watched of a kind. Objects that leave the selection count as
	// gone. A Node that is not selected is unknown to the Env: its pods get addresses as if it had
	// no podCIDRs. Default all.
	Select map[schema.GroupVersionKind]Selection
	// Filter reports whether an object that is watched is played. The others are left alone; the
	// Env observes them. It is asked at each change of the object and again before each effect, so
	// that nothing is written any more to an object that it excludes. It must be fast, must be safe
	// for concurrent use, and must not change obj. When its answers change for another reason than
	// a change of the object, call [Player.Refilter]. Nil: all are played.
	Filter func(obj *unstructured.Unstructured) bool
	// Trace is called for everything that happens, by one goroutine at a time. It must not block: the
	// player waits for it, and Run does not end before it returns.
	Trace func(stage.TraceEvent)
	// LivelockLimit is how many transitions one object may make within LivelockWindow before it is
	// parked as a livelock: left alone until it changes. Default 100.
	LivelockLimit int
	// LivelockWindow is the time within which transitions count as following one another without
	// delay. Default 1s.
	LivelockWindow time.Duration
	// RetryAfter is the first pause before an effect that failed is sent again. Each further pause
	// is twice as long, up to MaxRetryAfter, and is shortened by up to half at random. Default
	// 200ms and 30s. If the connection failed, it is 5s at most.
	RetryAfter    time.Duration
	MaxRetryAfter time.Duration
}

// A Selection is label and field selectors in the form of the API. The zero value selects all.
type Selection struct {
	Labels string // such as app=web,tier!=test
	Fields string // such as spec.nodeName=n1; what is supported depends on the kind
}

func (o Options) withDefaults() Options {
	o.Workers = cmp.Or(o.Workers, 16)
	o.Timeout = cmp.Or(o.Timeout, 30*time.Second)
	o.LivelockLimit = cmp.Or(o.LivelockLimit, 100)
	o.LivelockWindow = cmp.Or(o.LivelockWindow, time.Second)
	o.RetryAfter = cmp.Or(o.RetryAfter, 200*time.Millisecond)
	o.MaxRetryAfter = cmp.Or(o.MaxRetryAfter, 30*time.Second)
	return o
}

// A Player plays a Set on a cluster in real time, or in virtual time within a testing/synctest
// bubble. It watches the objects of every kind that the Set has Stages for, gives each to one of
// its workers by the hash of its key, and sends the effects as they come due. Effects of one object
// are sent one after another.
//
// A Player may be run once. Its methods are safe for concurrent use.
type Player struct {
	transport transport.Transport
	options   Options
	workers   []*worker
	tracing   sync.Mutex
	playing   atomic.Bool // a Set is in use

	watching sync.Mutex                           // held to change watchers, and to read them outside Run
	watchers map[schema.GroupVersionKind]*watcher // changed by Run only

	using sync.Mutex
	sets  chan *stage.Set // has the Set to use next, if there is one
}

// New returns a player that is ready to run.
func New(s *stage.Set, t transport.Transport, o Options) *Player {
	if sharer, ok := t.(transport.Sharer); ok {
		t = sharer.Share()
	}
	p := &Player{transport: t, options: o.withDefaults(), watchers: map[schema.GroupVersionKind]*watcher{}, sets: make(chan *stage.Set, 1)}
	if p.options.Trace != nil {
		trace := p.options.Trace
		p.options.Trace = func(e stage.TraceEvent) {
			p.tracing.Lock()
			defer p.tracing.Unlock()
			trace(e)
		}
	}
	for i := range p.options.Workers {
		p.workers = append(p.workers, newWorker(p, s, uint64(i)))
	}
	p.sets <- s
	return p
}

// Play runs a new [Player] until ctx is done, and returns the cause of that.
func Play(ctx context.Context, s *stage.Set, t transport.Transport, o Options) error {
	return New(s, t, o).Run(ctx)
}

// Run plays until ctx is done, and returns the cause of that. All goroutines have ended by then.
// Failures of single objects or of the connection do not end it: they go to Options.Trace, and are
// retried where a retry can help.
func (p *Player) Run(ctx context.Context) error {
	var working sync.WaitGroup
	defer p.playing.Store(false)
	for _, w := range p.workers {
		working.Go(func() { w.run(ctx) })
	}
	p.takeUpSets(ctx)
	for kind, w := range p.watchers {
		<-w.done
		p.setWatcher(kind, nil)
	}
	working.Wait()
	return context.Cause(ctx)
}

// takeUpSets takes up Sets as they come, until ctx is done.
func (p *Player) takeUpSets(ctx context.Context) {
	var next *stage.Set
	var ready <-chan struct{}
	for {
		select {
		case <-ctx.Done():
			return
		case next = <-p.sets:
			ready = p.prepare(ctx, next)
		case <-ready:
			p.show(next)
			ready = nil
		}
	}
}

// prepare starts the watches that a Set needs, and returns a channel that is closed once the Set
// can be played: when the nodes are known, if it needs them. Other kinds are not listed before.
func (p *Player) prepare(ctx context.Context, s *stage.Set) <-chan struct{} {
	ready := make(chan struct{})
	close(ready)
	for _, kind := range watched(s) {
		if p.watchers[kind] == nil {
			p.setWatcher(kind, p.watch(ctx, kind, s, ready))
		}
		if kind == nodeKind && s.NeedsNodes() {
			ready = p.watchers[kind].listed
		}
	}
	return ready
}

// setWatcher keeps the watcher of a kind; nil takes it away.
func (p *Player) setWatcher(kind schema.GroupVersionKind, w *watcher) {
	p.watching.Lock()
	defer p.watching.Unlock()
	if p.watchers[kind] = w; w == nil {
		delete(p.watchers, kind)
	}
}

// Refilter asks Options.Filter anew about every object that is known. What is pending for objects
// that are no longer played is cancelled, and their transitions in flight send nothing more.
// Objects that are played now are observed as if they were new. It returns at once and may be
// called at any time by any goroutine.
func (p *Player) Refilter() {
	for _, w := range p.workers {
		w.inbox.askRefilter()
	}
}

// Stats are numbers of a [Player] at one moment. Those of different workers are of slightly
// different moments.
type Stats struct {
	Objects  int // that are known and played
	Pending  int // of those, how many have a transition ahead
	Retrying int // of those, how many wait to send an effect again
	Queued   int // objects with news that no worker has looked at
}

// Stats returns the numbers of the moment. It may be called by any goroutine.
func (p *Player) Stats() Stats {
	var all Stats
	for _, w := range p.workers {
		all.Objects += int(w.counts.objects.Load())
		all.Pending += int(w.counts.pending.Load())
		all.Retrying += int(w.counts.retrying.Load())
		all.Queued += w.inbox.len()
	}
	return all
}

// deliver gives an observation to the worker of the object. It never waits.
func (p *Player) deliver(o observation) {
	k := o.key
	hash := random.New(0).Text(k.Group).Text(k.Kind).Text(k.Namespace).Text(k.Name)
	p.workers[random.Below(hash.Sum(), uint64(len(p.workers)))].inbox.put(o)
}

// An observation is one state of an object, or its end.
type observation struct {
	key       stage.Key
	obj       *unstructured.Unstructured // the last state known
	gone      bool
	unwatched bool // it is not watched any more
}
