package stage

import (
	"cmp"
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// PlayerOptions of [NewPlayer]. The zero value is usable.
type PlayerOptions struct {
	// Seed decides all draws, together with the names of the objects.
	Seed uint64
	// Workers is how many requests are under way at once: each worker sends one after another. The result does not depend on it. Choose it by the
	// rate that is wanted and the time that a request takes. Default 16.
	Workers int
	// Timeout is how long one request may take before it counts as failed and is tried again. Default 30s.
	Timeout time.Duration
	// Namespace limits the player to one namespace. Default all.
	Namespace string
	// Select limits what is listed and watched of a kind. Objects that leave the selection count as gone. A Node that is not selected is
	// unknown to the Env: its pods get addresses as if it had no podCIDRs. Default all.
	Select map[schema.GroupVersionKind]Selection
	// Plays says which of the objects that are seen are played. The others are left alone; the Env learns from them. It is asked at each change
	// of the object and again before each effect, so that one that is taken away is not written to any more. It must be fast, must be safe for
	// concurrent use, and must not change obj. When its answers change for another reason than a change of the object, call
	// [Player.Reconsider]. Nil: all.
	Plays func(obj *unstructured.Unstructured) bool
	// Trace is called for everything that happens, by one goroutine at a time.
	Trace func(TraceEvent)
	// MaxTransitions is how many transitions one object may make within Instant before it is parked as a livelock. Default 100.
	MaxTransitions int
	// Instant is how long "without time passing" is. Default 1s.
	Instant time.Duration
	// RetryAfter is the first pause before an effect that failed is sent again. Each further pause is twice as long, up to
	// MaxRetryAfter, and is shortened by up to half at random. Default 200ms and 30s. If the connection failed, it is 5s at most.
	RetryAfter    time.Duration
	MaxRetryAfter time.Duration
}

// A Selection is label and field selectors in the form of the API. The zero value selects all.
type Selection struct {
	Labels string // such as app=web,tier!=test
	Fields string // such as spec.nodeName=n1; what is supported depends on the kind
}

func (o PlayerOptions) withDefaults() PlayerOptions {
	o.Workers = cmp.Or(o.Workers, 16)
	o.Timeout = cmp.Or(o.Timeout, 30*time.Second)
	o.MaxTransitions = cmp.Or(o.MaxTransitions, 100)
	o.Instant = cmp.Or(o.Instant, time.Second)
	o.RetryAfter = cmp.Or(o.RetryAfter, 200*time.Millisecond)
	o.MaxRetryAfter = cmp.Or(o.MaxRetryAfter, 30*time.Second)
	return o
}

// A Player plays a Set on a cluster in real time, or in virtual time within a testing/synctest bubble. It watches the objects of every kind
// that the Set has Stages for, gives each to one of its workers by the hash of its key, and sends the effects as they come due. Effects of one
// object are sent one after another.
//
// A Player may be run once.
type Player struct {
	transport Transport
	options   PlayerOptions
	workers   []*worker
	watchers  map[schema.GroupVersionKind]*watcher // used by Run only
	tracing   sync.Mutex

	using sync.Mutex
	sets  chan *Set // has the Set to use next, if there is one
}

// NewPlayer returns a player that is ready to run.
func NewPlayer(s *Set, t Transport, o PlayerOptions) *Player {
	if sharer, ok := t.(Sharer); ok {
		t = sharer.Share()
	}
	p := &Player{transport: t, options: o.withDefaults(), watchers: map[schema.GroupVersionKind]*watcher{}, sets: make(chan *Set, 1)}
	if p.options.Trace != nil {
		trace := p.options.Trace
		p.options.Trace = func(e TraceEvent) {
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

// Play runs a new [Player].
func Play(ctx context.Context, s *Set, t Transport, o PlayerOptions) error {
	return NewPlayer(s, t, o).Run(ctx)
}

// Run plays until ctx is done, and returns its cause. All goroutines have ended by then. Failures of single objects or of the
// connection do not end it; they go to Trace, and are retried where that makes sense.
func (p *Player) Run(ctx context.Context) error {
	var working sync.WaitGroup
	for _, w := range p.workers {
		working.Go(func() { w.run(ctx) })
	}
	p.direct(ctx)
	for _, w := range p.watchers {
		<-w.done
	}
	working.Wait()
	return context.Cause(ctx)
}

// direct puts Sets to use as they come, until ctx is done.
func (p *Player) direct(ctx context.Context) {
	var next *Set
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

// prepare starts the watches that a Set needs, and returns a channel that is closed once the Set can be played: when the nodes are known, if it
// needs them. Other kinds are not listed before.
func (p *Player) prepare(ctx context.Context, s *Set) <-chan struct{} {
	ready := make(chan struct{})
	close(ready)
	for _, kind := range s.watched() {
		if p.watchers[kind] == nil {
			p.watchers[kind] = p.watch(ctx, kind, s, ready)
		}
		if kind == nodeKind && s.needsNodes() {
			ready = p.watchers[kind].listed
		}
	}
	return ready
}

// Reconsider asks Plays anew about every object that is known. Those that are no longer played are dropped: what is pending for them is
// cancelled, and a transition on its way sends nothing more. Those that are played now are looked at as if they were new. It returns at once,
// and may be called at any time by any goroutine.
func (p *Player) Reconsider() {
	for _, w := range p.workers {
		w.inbox.reconsider()
	}
}

// Stats are numbers of a [Player] at one moment. Those of different workers are of slightly different moments.
type Stats struct {
	Objects  int // that are known and played
	Pending  int // of those, how many have a transition ahead
	Retrying int // of those, how many wait to send an effect again
	Queued   int // objects with news that no worker has looked at
}

// Stats returns the numbers of the moment. It takes a lock for each worker, shortly, and may be called by any goroutine.
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

// deliver gives what a watcher saw to the worker of the object. It never waits.
func (p *Player) deliver(s sighting) {
	p.workers[below(s.key.identity(0).sum(), uint64(len(p.workers)))].inbox.put(s)
}

// A sighting is one state of an object, or its end.
type sighting struct {
	key  Key
	obj  *unstructured.Unstructured // the last state known
	gone bool
	left bool // it is not watched any more
}
