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
	// Trace is called for everything that happens, by one goroutine at a time.
	Trace func(TraceEvent)
	// MaxTransitions is how many transitions one object may make within Instant before it is parked as a livelock. Default 100.
	MaxTransitions int
	// Instant is how long "without time passing" is. Default 1s.
	Instant time.Duration
	// RetryAfter is the first pause before an effect that failed is sent again. Each further pause is twice as long, up to
	// MaxRetryAfter, and is shortened by up to half at random. Default 200ms and 30s.
	RetryAfter    time.Duration
	MaxRetryAfter time.Duration
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

// A Player plays a Set on a cluster in real time, or in virtual time within a testing/synctest bubble. It watches the objects of every kind that the
// Set has Stages for, gives each to one of its workers by the hash of its key, and sends the effects as they come due. Effects of one
// object are sent one after another.
//
// A Player may be run once.
type Player struct {
	set       *Set
	transport Transport
	options   PlayerOptions
	workers   []*worker
	tracing   sync.Mutex
}

// NewPlayer returns a player that is ready to run.
func NewPlayer(s *Set, t Transport, o PlayerOptions) *Player {
	if sharer, ok := t.(Sharer); ok {
		t = sharer.Share()
	}
	p := &Player{set: s, transport: t, options: o.withDefaults()}
	if p.options.Trace != nil {
		trace := p.options.Trace
		p.options.Trace = func(e TraceEvent) {
			p.tracing.Lock()
			defer p.tracing.Unlock()
			trace(e)
		}
	}
	for range p.options.Workers {
		p.workers = append(p.workers, newWorker(p))
	}
	return p
}

// Play runs a new [Player].
func Play(ctx context.Context, s *Set, t Transport, o PlayerOptions) error {
	return NewPlayer(s, t, o).Run(ctx)
}

// Run plays until ctx is done, and returns its cause. All goroutines have ended by then. Failures of single objects or of the
// connection do not end it; they go to Trace, and are retried where that makes sense.
func (p *Player) Run(ctx context.Context) error {
	var all sync.WaitGroup
	for _, w := range p.workers {
		all.Go(func() { w.run(ctx) })
	}
	nodes := p.watchNodes(ctx, &all)
	for _, kind := range p.set.refs {
		if kind != nodeKind || nodes == nil {
			all.Go(func() { newWatcher(p, kind, nil).run(ctx, nodes) })
		}
	}
	all.Wait()
	return context.Cause(ctx)
}

var (
	nodeKind = schema.GroupVersionKind{Version: "v1", Kind: "Node"}
	podKind  = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
)

// watchNodes starts watching nodes if the addresses of pods depend on them, and returns a channel that is closed once those that exist
// have been seen: pods must not be rendered before their nodes are known.
func (p *Player) watchNodes(ctx context.Context, all *sync.WaitGroup) <-chan struct{} {
	_, learns := p.set.env.(learner)
	hasStages := func(kind schema.GroupVersionKind) bool { return len(p.set.Stages(kind)) > 0 }
	if !learns || !hasStages(podKind) && !hasStages(nodeKind) {
		return nil
	}
	listed := make(chan struct{})
	all.Go(func() { newWatcher(p, nodeKind, listed).run(ctx, nil) })
	return listed
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
}
