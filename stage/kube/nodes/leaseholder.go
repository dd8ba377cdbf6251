package nodes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/kube/internal/lease"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// Cluster has the Nodes and their Leases. It must be safe for concurrent use. kube.Cluster and
// memory.Cluster implement it.
type Cluster interface {
	transport.Reader
	transport.Creator
	transport.Updater
}

// Options of [New]. The zero value manages all Nodes without Leases.
type Options struct {
	Policy Policy
	Lease  Lease
	// Owns reports whether this process may play an object, if several processes share a cluster:
	// use shard.Member.Owns. For a Node it may be called with kind and name alone. It must be fast
	// and safe for concurrent use. When its answers change, call [LeaseHolder.Refilter]. Nil: it
	// may play all objects.
	Owns func(obj *unstructured.Unstructured) bool
	// Failed is called for requests that failed, by several goroutines at once. All of them are
	// tried again. Default: nothing is called.
	Failed func(error)
}

// Lease is how a [LeaseHolder] holds the Leases of Nodes.
type Lease struct {
	// Identity is the holder. "" means no Leases. Processes that share the Nodes with Options.Owns
	// have the same Identity.
	Identity string
	// Duration is how long a Lease lasts, in whole seconds. It is renewed after a quarter, and up
	// to 4 % later. Default 40s.
	Duration time.Duration
	// Parallel is how many requests are under way at once. Default 16.
	Parallel int
}

func (o Options) withDefaults() Options {
	o.Lease.Duration = cmp.Or(o.Lease.Duration, 40*time.Second)
	o.Lease.Parallel = cmp.Or(o.Lease.Parallel, 16)
	if o.Owns == nil {
		o.Owns = func(*unstructured.Unstructured) bool { return true }
	}
	if o.Failed == nil {
		o.Failed = func(error) {}
	}
	return o
}

func (l Lease) validate() error {
	var faults []error
	if l.Duration < time.Second || l.Duration%time.Second != 0 {
		faults = append(faults, fmt.Errorf("nodes: Lease.Duration %v: must be whole seconds, at least one", l.Duration))
	}
	if l.Parallel < 1 {
		faults = append(faults, fmt.Errorf("nodes: Lease.Parallel %d: must be at least one", l.Parallel))
	}
	return errors.Join(faults...)
}

func (l Lease) wanted() bool     { return l.Identity != "" }
func (l Lease) term() lease.Term { return lease.Term{Holder: l.Identity, Duration: l.Duration} }

// period is how often a Lease is renewed: the duration is divided as a kubelet and kwok do it.
func (l Lease) period() time.Duration { return l.Duration / 4 }
func (l Lease) retry() time.Duration  { return l.Duration / 16 }
func (l Lease) sweep() time.Duration  { return l.Duration / 40 }

// LeaseHolder knows the Nodes of a cluster, and which of them this program plays. It is safe for
// concurrent use; Run must be called once.
type LeaseHolder struct {
	cluster Cluster
	options Options
	rules   *Rules
	changed chan struct{} // has a token if Plays may return something else than before
	wake    chan struct{} // has a token if another node is the first of the dueQueue
	work    chan *node

	mu     sync.RWMutex
	listed bool // the Nodes were listed

	nodes  map[string]*node // by name
	gone   names            // managed Nodes that were deleted
	due    dueQueue
	random *rand.Rand
}

// New returns a lease holder that is ready to run. The error lists everything that is wrong with
// the options.
func New(c Cluster, o Options) (*LeaseHolder, error) {
	o = o.withDefaults()
	rules, err := o.Policy.Compile()
	if err := errors.Join(err, o.Lease.validate()); err != nil {
		return nil, err
	}
	return &LeaseHolder{
		cluster: c, options: o, rules: rules, nodes: map[string]*node{},
		changed: make(chan struct{}, 1), wake: make(chan struct{}, 1), work: make(chan *node),
		random: rand.New(rand.NewPCG(uint64(crc32.ChecksumIEEE([]byte(o.Lease.Identity))), 0)),
	}, nil
}

// Rules returns the compiled policy.
func (h *LeaseHolder) Rules() *Rules { return h.rules }

// Plays reports whether this program plays an object at this moment. The package comment says what
// that means for Nodes, Pods and other objects.
func (h *LeaseHolder) Plays(obj *unstructured.Unstructured) bool {
	if !h.options.Owns(obj) || h.rules.Disregards(obj) {
		return false
	}
	switch obj.GroupVersionKind() {
	case nodeKind:
		return h.rules.Manages(obj) && h.holds(obj.GetName())
	case podKind:
		return h.playsPod(obj)
	}
	return true
}

// holds reports whether the Lease of a Node is held, or Nodes have no Leases.
func (h *LeaseHolder) holds(name string) bool {
	if !h.options.Lease.wanted() {
		return true
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	n := h.nodes[name]
	return n != nil && n.held(time.Now())
}

func (h *LeaseHolder) playsPod(pod *unstructured.Unstructured) bool {
	name, _, _ := unstructured.NestedString(pod.Object, "spec", "nodeName")
	if name == "" {
		return false // no kubelet has it yet
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	n := h.nodes[name]
	if n == nil {
		return h.listed && pod.GetDeletionTimestamp() != nil && h.wasOurs(name)
	}
	return n.managed && (!h.options.Lease.wanted() || n.held(time.Now()))
}

// wasOurs reports whether a Node that no longer exists was managed, as far as that is known.
func (h *LeaseHolder) wasOurs(name string) bool {
	if managed, certain := h.rules.certain(name); certain {
		return managed
	}
	return h.gone.has(name)
}

// Refilter calls Options.Owns again for every Node. It does not call the function changed of Run.
// Owns must not call the lease holder.
func (h *LeaseHolder) Refilter() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, n := range h.nodes {
		n.owned = h.options.Owns(n.key())
		h.schedule(n, time.Now())
	}
}

// throttle is the least time between two calls of changed, so that thousands of new Nodes cause
// only a few calls.
const throttle = 200 * time.Millisecond

// Run follows the Nodes and keeps their Leases until ctx is done, and returns its cause. All
// goroutines have ended by then; Leases are left to expire. Changed is called whenever an answer of
// [LeaseHolder.Plays] might have changed, by one goroutine at a time and at most five times a
// second. Failures do not end it.
func (h *LeaseHolder) Run(ctx context.Context, changed func()) error {
	var all sync.WaitGroup
	all.Go(func() { h.followNodes(ctx) })
	all.Go(func() { h.announce(ctx, changed) })
	if h.options.Lease.wanted() {
		all.Go(func() { h.dispatch(ctx) })
		all.Go(func() { h.expire(ctx) })
		for range h.options.Lease.Parallel {
			all.Go(func() { h.holdLeases(ctx) })
		}
	}
	all.Wait()
	return context.Cause(ctx)
}

func (h *LeaseHolder) announce(ctx context.Context, changed func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.changed:
			changed()
		}
		sleep(ctx, throttle)
	}
}

// notify tells Run that an answer of Plays might have changed.
func (h *LeaseHolder) notify() { signal(h.changed) }

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
