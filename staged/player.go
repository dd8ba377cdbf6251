package staged

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// PlayerOptions of [NewPlayer]. The zero value is usable.
type PlayerOptions struct {
	// Compile are the options that policies are compiled with.
	Compile Options
	// Clusters returns the labels of the clusters that exist, by name. Nil: that is not known. It is asked before each decision, and so that its news
	// are not missed there is one every ten seconds at least.
	Clusters func() map[string]map[string]string
	// WorkStatuses reads KubeStellar's inventory and transport space, whose WorkStatuses say which clusters have reported the objects. Nil: that is
	// not known.
	WorkStatuses Reader
	// Reports returns when clusters reported the objects of a StagedBindingPolicy, for those who know more than WorkStatuses say. Nil: that is not known.
	// It is asked like Clusters.
	Reports func(policy string) []Report
	// Events receives Kubernetes Events, in the namespace default, on what happens to a StagedBindingPolicy, so that kubectl describe shows it: the
	// events of decisions, StageSatisfied, and what was done to which BindingPolicy. Each is written after the fact and at most once; a failure goes to
	// Trace. Nil: off.
	Events Creator
	// RetryAfter is the pause after a failure. Default 1s.
	RetryAfter time.Duration
	// Trace is told of each decision that changes something and of each failure. Nil: off.
	Trace func(TraceEvent)
}

// TraceEvent is a decision that was carried out, or what went wrong.
type TraceEvent struct {
	Time     time.Time
	Policy   string // "" if the failure concerns none
	Decision Decision
	Err      error // nil: it was carried out
}

// The kinds that a Player watches.
var (
	stagedKind  = schema.GroupVersionKind{Group: v1alpha1.Group, Version: v1alpha1.Version, Kind: v1alpha1.Kind}
	policyKind  = schema.GroupVersionKind{Group: control.Group, Version: control.Version, Kind: "BindingPolicy"}
	bindingKind = schema.GroupVersionKind{Group: control.Group, Version: control.Version, Kind: "Binding"}
	statusKind  = schema.GroupVersionKind{Group: control.Group, Version: control.Version, Kind: "CombinedStatus"}
)

// A Player carries out the StagedBindingPolicies of a hub, in real time, or in virtual time within a testing/synctest bubble. It remembers nothing
// that is not stored there: one may take the place of another at any moment. Two at once do no harm, but waste work.
//
// A Player may be run once.
type Player struct {
	hub      Transport
	options  PlayerOptions
	store    store
	rollouts map[string]*playing // by the name of the StagedBindingPolicy
	unlisted map[schema.GroupVersionKind]bool
	stamp    int64 // of the last Event
}

// NewPlayer returns a player that is ready to run.
func NewPlayer(hub Transport, o PlayerOptions) *Player {
	o.RetryAfter = cmp.Or(o.RetryAfter, time.Second)
	p := &Player{hub: hub, options: o, store: newStore(), rollouts: map[string]*playing{},
		unlisted: map[schema.GroupVersionKind]bool{stagedKind: true, policyKind: true, bindingKind: true, statusKind: true}}
	if o.WorkStatuses != nil {
		p.store.works, p.unlisted[workKind] = newWorks(), true
	}
	return p
}

// reader is where objects of a kind are.
func (p *Player) reader(kind schema.GroupVersionKind) Reader {
	if kind == workKind {
		return p.options.WorkStatuses
	}
	return p.hub
}

// Play runs a new [Player].
func Play(ctx context.Context, hub Transport, o PlayerOptions) error {
	return NewPlayer(hub, o).Run(ctx)
}

// Run plays until ctx is done, and returns its cause. All goroutines have ended by then. Failures go to Trace and are tried again.
func (p *Player) Run(ctx context.Context) error {
	var all sync.WaitGroup
	defer all.Wait()
	heard := make(chan news)
	for kind := range p.unlisted {
		f := &follower{reader: p.reader(kind), kind: kind, retry: p.options.RetryAfter, send: heard}
		all.Go(func() { f.run(ctx) })
	}
	timer := time.NewTimer(0)
	timer.Stop() // nothing is due before all is listed
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case n := <-heard:
			p.take(n)
			p.drain(heard)
		case <-timer.C:
		}
		// A decision needs all there is: what is missing would look as if it had gone, and break a soak.
		if len(p.unlisted) == 0 {
			if at := p.decide(ctx); !at.IsZero() {
				timer.Reset(time.Until(at))
			}
		}
	}
}

// drain takes in what else has come.
func (p *Player) drain(heard <-chan news) {
	for {
		select {
		case n := <-heard:
			p.take(n)
		default:
			return
		}
	}
}

// take takes in a piece of news.
func (p *Player) take(n news) {
	switch {
	case n.err != nil:
		p.failed("", n.err)
	case n.listed:
		delete(p.unlisted, n.kind)
	case n.kind == stagedKind:
		p.takePolicy(n)
	case n.kind == workKind:
		p.takeWork(n)
	default:
		owner, err := p.store.take(n)
		if err != nil {
			p.failed(owner, err)
			return
		}
		if r := p.rollouts[owner]; r != nil && r.rollout != nil {
			p.store.show(n, r.rollout)
			r.due = time.Now()
		}
	}
}

// takeWork takes in a WorkStatus. Any policy may place its object.
func (p *Player) takeWork(n news) {
	ref, err := p.store.works.take(n)
	if err != nil {
		p.failed("", err)
		return
	}
	for _, r := range p.rollouts {
		if r.rollout != nil && p.store.works.show(ref, r.rollout) {
			r.due = time.Now()
		}
	}
}

func (p *Player) failed(policy string, err error) {
	if p.options.Trace != nil {
		p.options.Trace(TraceEvent{Time: time.Now(), Policy: policy, Err: err})
	}
}

// takePolicy takes in a StagedBindingPolicy. One with faults leaves its last good version at work, and is told so in its status.
func (p *Player) takePolicy(n news) {
	name := n.obj.GetName()
	r := p.rollouts[name]
	switch {
	case n.gone:
		delete(p.rollouts, name)
		return
	case r != nil && r.awaited(n):
		return
	}
	var object v1alpha1.StagedBindingPolicy
	if err := convert(n.obj, &object); err != nil {
		p.failed(name, err)
		return
	}
	if r == nil || r.uid != object.UID {
		r = &playing{uid: object.UID}
		p.rollouts[name] = r
	}
	if r.generation != object.Generation {
		r.generation = object.Generation
		p.compile(r, object)
	}
	if r.rollout != nil {
		object.Generation = r.compiled
		r.rollout.Update(r.policy, object.ObjectMeta)
		p.store.showAll(name, r.rollout)
	}
	r.status, r.version, r.due = object.Status, object.ResourceVersion, time.Now()
}

// compile prepares a version of a policy. If that has faults, the last good one stays.
func (p *Player) compile(r *playing, object v1alpha1.StagedBindingPolicy) {
	policies, err := Compile(p.options.Compile, Object(object))
	if r.fault = err; err != nil {
		p.failed(object.Name, err)
		return
	}
	if r.rollout == nil {
		r.rollout = NewRollout(policies[0])
	}
	r.policy, r.compiled = policies[0], object.Generation
}

func convert(from *unstructured.Unstructured, into any) error {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(from.Object, into); err != nil {
		return fmt.Errorf("%s %s: %w", from.GetKind(), from.GetName(), err)
	}
	return nil
}

// decide decides what is due, and returns when the next decision is; zero is never.
func (p *Player) decide(ctx context.Context) (next time.Time) {
	for _, name := range slices.Sorted(maps.Keys(p.rollouts)) {
		r, now := p.rollouts[name], time.Now()
		if !r.due.IsZero() && !r.due.After(now) {
			r.due = p.one(ctx, name, r, now)
		}
		next = earlier(next, r.due)
	}
	return next
}

// one decides about one policy and carries that out. It returns when to do so again.
func (p *Player) one(ctx context.Context, name string, r *playing, now time.Time) time.Time {
	if r.rollout == nil {
		return p.carry(ctx, name, r, Decision{Status: r.status})
	}
	if p.options.Clusters != nil {
		r.rollout.ObserveClusters(p.options.Clusters())
	}
	if p.options.Reports != nil {
		for _, report := range p.options.Reports(name) {
			r.rollout.ObserveReport(report)
		}
	}
	return p.carry(ctx, name, r, r.rollout.Decide(r.status, now))
}

// carry carries a decision out. It returns when to decide again.
func (p *Player) carry(ctx context.Context, name string, r *playing, d Decision) (at time.Time) {
	now := time.Now()
	if r.fault != nil {
		d.Status.Conditions = withCondition(d.Status.Conditions, r.invalid(now))
	}
	changed, err := r.carryOut(ctx, p.hub, name, d)
	p.announce(ctx, name, r)
	if p.options.Trace != nil && (changed || err != nil) {
		p.options.Trace(TraceEvent{Time: now, Policy: name, Decision: d, Err: err})
	}
	switch {
	case err != nil:
		return now.Add(p.options.RetryAfter)
	case p.options.Clusters != nil || p.options.Reports != nil:
		at = now.Add(timeStep)
	}
	if d.RecheckAfter > 0 {
		at = earlier(at, now.Add(d.RecheckAfter))
	}
	return at
}
