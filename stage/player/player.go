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
	// Seed decides all draws, together with the values that the comment of package stage lists.
	Seed uint64
	// Workers is the largest number of concurrent requests: each worker sends one request after
	// another. The result does not depend on Workers. Choose the number by the wanted rate and the
	// time that a request takes. Default 16.
	Workers int
	// Timeout is the longest time of one request. After it the request counts as failed and is
	// tried again. Default 30s.
	Timeout time.Duration
	// Namespace limits the player to one namespace. Default all.
	Namespace string
	// Select limits the objects of a kind that are listed and watched. An object that leaves the
	// selection counts as gone. The Env does not know a Node that is not selected: its pods get
	// addresses as if the Node had no podCIDRs. Default all.
	Select map[schema.GroupVersionKind]Selection
	// Filter reports whether a watched object is played. The Player does not play other objects,
	// but the Env observes them. The Player calls Filter at each change of the object and before
	// each effect, so that it writes nothing more to an excluded object. Filter must be fast, must
	// be safe for concurrent use, and must not change obj. If its results change while the object
	// stays the same, call [Player.Refilter]. Nil plays all objects.
	Filter func(obj *unstructured.Unstructured) bool
	// Trace is called for every event, by one goroutine at a time. It must not block: the player
	// waits for it, and Run does not end before it returns.
	Trace func(stage.TraceEvent)
	// LivelockLimit is the number of transitions that one object may make within LivelockWindow.
	// After more transitions the Player parks the object as a livelock: it plays no Stage on the
	// object until the object changes. Default 100.
	LivelockLimit int
	// LivelockWindow is the time within which transitions count as immediate successors of each
	// other. Default 1s.
	LivelockWindow time.Duration
	// RetryAfter is the first pause before a failed effect is sent again. Each further pause is
	// twice as long, up to MaxRetryAfter, and is shortened by up to half at random. Default 200ms
	// and 30s. After a failure of the connection a pause is at most 5s.
	RetryAfter    time.Duration
	MaxRetryAfter time.Duration
}

// A Selection is label and field selectors in the form of the API. The zero value selects all.
type Selection struct {
	Labels string // such as app=web,tier!=test
	Fields string // such as spec.nodeName=n1; the supported fields depend on the kind
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
// bubble. It watches the objects of every kind that the Set has Stages for. The hash of its key
// assigns an object to a worker, which sends the effects when they are due. Effects of one object
// are sent one after another.
//
// A Player may be run once. Its methods are safe for concurrent use.
type Player struct {
	transport transport.Transport
	options   Options
	workers   []*worker
	tracing   sync.Mutex
	ran       atomic.Bool  // Run was called
	playing   atomic.Bool  // a Set is in use
	refilters atomic.Int64 // calls of Refilter

	watching sync.Mutex                           // locked to change watchers, and to read them outside Run
	watchers map[schema.GroupVersionKind]*watcher // changed by Run only

	using sync.Mutex
	sets  chan *stage.Set // has the next Set, if any
}

// New returns a player that is ready to run. [Player.Run] says what is wrong with its arguments.
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
	if s == nil {
		return p // Run says so
	}
	for i := range p.options.Workers {
		p.workers = append(p.workers, newWorker(p, s, uint64(i)))
	}
	p.sets <- s
	return p
}

// Play runs a new [Player] until ctx is done, and returns context.Cause(ctx).
func Play(ctx context.Context, s *stage.Set, t transport.Transport, o Options) error {
	return New(s, t, o).Run(ctx)
}

// Run plays until ctx is done, and returns context.Cause(ctx). All goroutines of the Player have
// then ended. Failures of single objects or of the connection do not end Run: they go to
// Options.Trace, and are retried if a retry can help. What no retry can help is an error at once,
// with all faults: no transport, no Set, a selector that cannot be read, a second Run. A kind that
// the cluster does not have is none, since it can be defined later: [Player.Kinds] and
// Options.Trace tell it.
func (p *Player) Run(ctx context.Context) error {
	if err := p.check(); err != nil {
		return err
	}
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

// takeUpSets starts to use each new Set, until ctx is done.
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

// prepare starts the watches that a Set needs. It returns a channel that is closed once the Set can
// be played: at once, or when the nodes are known if the Set needs them. Other kinds are not listed
// before.
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

// setWatcher sets the watcher of a kind; nil removes it.
func (p *Player) setWatcher(kind schema.GroupVersionKind, w *watcher) {
	p.watching.Lock()
	defer p.watching.Unlock()
	if p.watchers[kind] = w; w == nil {
		delete(p.watchers, kind)
	}
}

// watcherOf returns the watcher of a kind; nil without one. Any goroutine may call it.
func (p *Player) watcherOf(kind schema.GroupVersionKind) *watcher {
	p.watching.Lock()
	defer p.watching.Unlock()
	return p.watchers[kind]
}

// Refilter calls Options.Filter again for every known object. If an object is no longer played, its
// pending transition is cancelled, and a transition in flight sends nothing more. If an object is
// now played, the Player lists its kind, and then observes it like a new object: another player may
// have played it, and its last writes must be known. Objects that are played already do not wait for
// the list. Refilter returns at once, and any goroutine may call it at any time.
func (p *Player) Refilter() {
	p.refilters.Add(1)
	p.filterAgain()
}

func (p *Player) filterAgain() {
	for _, w := range p.workers {
		w.inbox.askRefilter()
	}
}

// Stats are numbers of a [Player] at one moment. The numbers of different workers can be from
// slightly different moments.
type Stats struct {
	Objects  int // the known objects that are played
	Pending  int // the number of Objects with a pending transition
	Retrying int // the number of Objects that wait to send an effect again
	Queued   int // objects with an observation that their worker has not read
}

// Stats returns the present numbers. Any goroutine may call it.
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

// An observation is one state of an object, or its deletion.
type observation struct {
	key       stage.Key
	obj       *unstructured.Unstructured // the last state known
	gone      bool
	unwatched bool // it is not watched any more
	again     bool // it was gone, and is there again with its uid
}
