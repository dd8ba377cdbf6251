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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/stage/kube/internal/lease"
)

// Reader is what a [Roster] learns of Nodes from.
type Reader interface {
	List(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (*unstructured.UnstructuredList, error)
	Watch(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (watch.Interface, error)
}

// Leaser is what a [Roster] keeps Leases with. An update of another resourceVersion than the stored one is a conflict.
type Leaser interface {
	Get(ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName) (*unstructured.Unstructured, error)
	Create(ctx context.Context, obj *unstructured.Unstructured, o metav1.CreateOptions) (*unstructured.Unstructured, error)
	Update(ctx context.Context, obj *unstructured.Unstructured, o metav1.UpdateOptions, subresources ...string) (*unstructured.Unstructured, error)
}

// Cluster is where the Nodes are. It must be safe for concurrent use. Kube.Cluster and memory.Cluster are such.
type Cluster interface {
	Reader
	Leaser
}

// Options of [New]. The zero value manages all Nodes without Leases.
type Options struct {
	Policy Policy
	Lease  Lease
	// Owns says which objects this process may play at all, for several that share a cluster: shard.Member.Owns. Of Nodes it may be asked with
	// kind and name alone. It must be fast and safe for concurrent use. When its answers change, call [Roster.Reconsider]. Nil: all.
	Owns func(obj *unstructured.Unstructured) bool
	// Failed is told of requests that failed, all of which are tried again, by several goroutines at once. Default: nobody is.
	Failed func(error)
}

// Lease is how a [Roster] holds the Leases of Nodes.
type Lease struct {
	// Identity is the holder. "": there are no Leases. Processes that share the Nodes by Options.Owns have the same one.
	Identity string
	// Duration is how long a Lease lasts, in whole seconds. It is renewed after a quarter, and up to 4 % later. Default 40s.
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

// How the duration of a Lease is divided, as a kubelet and kwok do.
func (l Lease) period() time.Duration { return l.Duration / 4 }
func (l Lease) retry() time.Duration  { return l.Duration / 16 }
func (l Lease) sweep() time.Duration  { return l.Duration / 40 }

// Roster knows the Nodes of a cluster, and which of them are ours. It is safe for concurrent use; it is run once.
type Roster struct {
	cluster Cluster
	options Options
	rules   *Rules
	news    chan struct{} // has a token if Plays may answer otherwise than it did
	wake    chan struct{} // has a token if the agenda has a new first
	work    chan *node

	mu     sync.RWMutex
	listed bool             // all Nodes that exist are known
	round  uint64           // of lists
	nodes  map[string]*node // by name
	gone   names            // Nodes that were ours and vanished
	agenda agenda
	random *rand.Rand
}

// New returns a roster that is ready to run. The error tells of all that is wrong with the options.
func New(c Cluster, o Options) (*Roster, error) {
	o = o.withDefaults()
	rules, err := o.Policy.Compile()
	if err := errors.Join(err, o.Lease.validate()); err != nil {
		return nil, err
	}
	return &Roster{
		cluster: c, options: o, rules: rules, nodes: map[string]*node{},
		news: make(chan struct{}, 1), wake: make(chan struct{}, 1), work: make(chan *node),
		random: rand.New(rand.NewPCG(uint64(crc32.ChecksumIEEE([]byte(o.Lease.Identity))), 0)),
	}, nil
}

// Rules returns the compiled policy.
func (r *Roster) Rules() *Rules { return r.rules }

// Plays reports whether an object is ours to play, at this moment. See the package for what that means for Nodes, Pods and others.
func (r *Roster) Plays(obj *unstructured.Unstructured) bool {
	if !r.options.Owns(obj) || r.rules.Disregards(obj) {
		return false
	}
	switch obj.GroupVersionKind() {
	case nodeKind:
		return r.rules.Manages(obj) && r.holds(obj.GetName())
	case podKind:
		return r.playsPod(obj)
	}
	return true
}

// holds reports whether we hold the Lease of a Node, or do without.
func (r *Roster) holds(name string) bool {
	if !r.options.Lease.wanted() {
		return true
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	n := r.nodes[name]
	return n != nil && n.held(time.Now())
}

func (r *Roster) playsPod(pod *unstructured.Unstructured) bool {
	name, _, _ := unstructured.NestedString(pod.Object, "spec", "nodeName")
	if name == "" {
		return false // no kubelet has it yet
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	n := r.nodes[name]
	if n == nil {
		return r.listed && pod.GetDeletionTimestamp() != nil && r.wasOurs(name)
	}
	return n.managed && (!r.options.Lease.wanted() || n.held(time.Now()))
}

// wasOurs reports whether a Node that does not exist is one of ours, as far as that can be known.
func (r *Roster) wasOurs(name string) bool {
	if managed, certain := r.rules.certain(name); certain {
		return managed
	}
	return r.gone.has(name)
}

// Reconsider asks Options.Owns anew about every Node. It does not call the function that Run was given. Owns must not call the roster.
func (r *Roster) Reconsider() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.nodes {
		n.owned = r.options.Owns(n.stub())
		r.enlist(n, time.Now())
	}
}

// throttle is the least time between two calls of changed: thousands of Nodes that come at once are told of a few times.
const throttle = 200 * time.Millisecond

// Run follows the Nodes and keeps their Leases until ctx is done, and returns its cause. All goroutines have ended by then; Leases are left to expire.
// Changed is called whenever [Roster.Plays] may answer otherwise than before, by one goroutine at a time and at most five times a second. Failures do not end it.
func (r *Roster) Run(ctx context.Context, changed func()) error {
	var all sync.WaitGroup
	all.Go(func() { r.follow(ctx) })
	all.Go(func() { r.announce(ctx, changed) })
	if r.options.Lease.wanted() {
		all.Go(func() { r.dispatch(ctx) })
		all.Go(func() { r.expire(ctx) })
		for range r.options.Lease.Parallel {
			all.Go(func() { r.keep(ctx) })
		}
	}
	all.Wait()
	return context.Cause(ctx)
}

func (r *Roster) announce(ctx context.Context, changed func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.news:
			changed()
		}
		sleep(ctx, throttle)
	}
}

// tell says that Plays may answer otherwise.
func (r *Roster) tell() { token(r.news) }

func token(c chan struct{}) {
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
