package player

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage/transport"
	"github.com/stagecraft-go/stagecraft/staged"
	"github.com/stagecraft-go/stagecraft/staged/bindingpolicy"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

// Options of [New]. The zero value is usable.
type Options struct {
	// Compile are the options that policies are compiled with.
	Compile staged.Options
	// Clusters returns the labels of the clusters that exist, by cluster name. The Player calls it
	// before each decision, and decides at least every ten seconds so that it sees changes. Nil:
	// the clusters are not known.
	Clusters func() map[string]map[string]string
	// WorkStatuses reads the WorkStatuses in KubeStellar's inventory and transport space. They say
	// which clusters have reported the objects. Nil: that is not known.
	WorkStatuses transport.Reader
	// Reports returns when clusters reported the objects of a StagedBindingPolicy, for callers who
	// know more than WorkStatuses say. It is called as often as Clusters. Nil: that is not known.
	Reports func(policy string) []bindingpolicy.Report
	// Events receives Kubernetes Events about a StagedBindingPolicy, in the namespace default, so
	// that kubectl describe shows them: the events of decisions, StageSatisfied, and each
	// BindingPolicy that was created, updated or deleted. Each Event is written at most once, after
	// the fact; a failure to write it goes to Trace. Nil: no Events.
	Events transport.Creator
	// RetryAfter is the pause after a failure; it doubles with each failure of the same
	// StagedBindingPolicy, up to a minute. Default 1s.
	RetryAfter time.Duration
	// Trace is called for each decision that changes something and for each failure. Nil: no trace.
	Trace func(TraceEvent)
}

// TraceEvent is a decision that was carried out, or a failure.
type TraceEvent struct {
	Time     time.Time
	Policy   string // the name of the StagedBindingPolicy; "" if the failure concerns none
	Decision staged.Decision
	Err      error // nil: the decision was carried out
}

// The kinds that a Player reads.
var (
	stagedPolicyKind   = v1alpha1.GroupVersion.WithKind(v1alpha1.Kind)
	bindingPolicyKind  = control.GroupVersion.WithKind("BindingPolicy")
	bindingKind        = control.GroupVersion.WithKind("Binding")
	combinedStatusKind = control.GroupVersion.WithKind("CombinedStatus")
	workStatusKind     = control.GroupVersion.WithKind("WorkStatus")
)

// pollInterval is how often a Player calls Options.Clusters and Options.Reports at least: nobody
// tells it when their results change.
const pollInterval = 10 * time.Second

// A Player carries out the StagedBindingPolicies of a hub, in real time, or in virtual time within
// a testing/synctest bubble. It keeps nothing that is not stored on the hub: another Player can
// take over at any moment. Several at once do no harm, but waste work: each writes the status first,
// under the resourceVersion that it has decided from, and stops if that is not the newest.
//
// A Player may be run once.
type Player struct {
	hub      transport.Transport
	options  Options
	cache    cache
	policies map[string]*policyState // by the name of the StagedBindingPolicy
	unsynced map[schema.GroupVersionKind]bool
	stamp    int64 // of the last Event, in nanoseconds
}

// New returns a Player that is ready to run.
func New(hub transport.Transport, o Options) *Player {
	o.RetryAfter = cmp.Or(o.RetryAfter, time.Second)
	p := &Player{hub: hub, options: o, cache: newCache(), policies: map[string]*policyState{},
		unsynced: map[schema.GroupVersionKind]bool{
			stagedPolicyKind: true, bindingPolicyKind: true, bindingKind: true, combinedStatusKind: true,
		}}
	if o.WorkStatuses != nil {
		p.cache.workStatuses, p.unsynced[workStatusKind] = newWorkStatuses(), true
	}
	return p
}

// Play runs a new [Player] until ctx is done, and returns the cause of that.
func Play(ctx context.Context, hub transport.Transport, o Options) error {
	return New(hub, o).Run(ctx)
}

// Run watches and decides until ctx is done, and returns the cause of that. All goroutines have
// ended by then. Failures go to Options.Trace and are tried again after Options.RetryAfter.
func (p *Player) Run(ctx context.Context) error {
	var all sync.WaitGroup
	defer all.Wait()
	events := make(chan watchEvent)
	for kind := range p.unsynced {
		w := &watcher{reader: p.reader(kind), kind: kind, retry: p.options.RetryAfter, send: events}
		all.Go(func() { w.run(ctx) })
	}
	timer := time.NewTimer(0)
	timer.Stop() // no decision is due before all kinds are listed
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case e := <-events:
			p.observe(e)
			p.drain(events)
		case <-timer.C:
		}
		// A decision needs all kinds: an object that is not listed yet would look as if it were
		// deleted, and that would end a soak.
		if len(p.unsynced) == 0 {
			if at := p.decide(ctx); !at.IsZero() {
				timer.Reset(time.Until(at))
			}
		}
	}
}

// reader returns where objects of a kind are read.
func (p *Player) reader(kind schema.GroupVersionKind) transport.Reader {
	if kind == workStatusKind {
		return p.options.WorkStatuses
	}
	return p.hub
}

// drain observes all events that are waiting, so that one decision answers them all.
func (p *Player) drain(events <-chan watchEvent) {
	for {
		select {
		case e := <-events:
			p.observe(e)
		default:
			return
		}
	}
}

func (p *Player) observe(e watchEvent) {
	switch {
	case e.err != nil:
		p.failed("", e.err)
	case e.listed:
		delete(p.unsynced, e.kind)
	case e.kind == stagedPolicyKind:
		p.observePolicy(e)
	case e.kind == workStatusKind:
		p.observeWorkStatus(e)
	default:
		owner, err := p.cache.store(e)
		if err != nil {
			p.failed(owner, err)
			return
		}
		if s := p.policies[owner]; s != nil && s.rollout != nil {
			p.cache.show(e, s.rollout)
			s.due = time.Now()
		}
	}
}

// observeWorkStatus stores a WorkStatus and shows it to every policy that places its object.
func (p *Player) observeWorkStatus(e watchEvent) {
	ref, err := p.cache.workStatuses.store(e)
	if err != nil {
		p.failed("", err)
		return
	}
	for _, s := range p.policies {
		if s.rollout != nil && p.cache.workStatuses.show(ref, s.rollout) {
			s.due = time.Now()
		}
	}
}

func (p *Player) failed(policy string, err error) {
	if p.options.Trace != nil {
		p.options.Trace(TraceEvent{Time: time.Now(), Policy: policy, Err: err})
	}
}

// observePolicy stores a version of a StagedBindingPolicy. If that version has faults, the last
// version without faults stays in use, and the status says so.
func (p *Player) observePolicy(e watchEvent) {
	name := e.obj.GetName()
	s := p.policies[name]
	switch {
	case e.deleted:
		delete(p.policies, name)
		return
	case s != nil && s.isOlderThanLastWrite(e):
		return
	}
	var object v1alpha1.StagedBindingPolicy
	if err := convert(e.obj, &object); err != nil {
		p.failed(name, err)
		return
	}
	if s == nil || s.uid != object.UID {
		s = &policyState{uid: object.UID}
		p.policies[name] = s
	}
	if s.generation != object.Generation {
		s.generation = object.Generation
		p.compile(s, object)
	}
	if s.rollout != nil {
		object.Generation = s.compiled
		s.rollout.Update(s.policy, object.ObjectMeta)
		p.cache.showAll(name, s.rollout)
	}
	s.noteStatus(reflect.DeepEqual(s.status, object.Status), time.Now())
	s.status, s.version, s.due = object.Status, object.ResourceVersion, time.Now()
}

// compile compiles a version of a policy. If that fails, the last version without faults stays.
func (p *Player) compile(s *policyState, object v1alpha1.StagedBindingPolicy) {
	policies, err := staged.Compile(p.options.Compile, staged.Object(object))
	if s.fault = err; err != nil {
		p.failed(object.Name, err)
		return
	}
	if s.rollout == nil {
		s.rollout = bindingpolicy.NewRollout(policies[0])
	}
	s.policy, s.compiled = policies[0], object.Generation
}

func convert(from *unstructured.Unstructured, into any) error {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(from.Object, into); err != nil {
		return fmt.Errorf("%s %s: %w", from.GetKind(), from.GetName(), err)
	}
	return nil
}

// decide makes and executes the decisions that are due. It returns when the next one is due; the
// zero time means never.
func (p *Player) decide(ctx context.Context) (next time.Time) {
	for _, name := range slices.Sorted(maps.Keys(p.policies)) {
		s, now := p.policies[name], time.Now()
		if !s.due.IsZero() && s.due.Before(s.notBefore) {
			s.due = s.notBefore
		}
		if !s.due.IsZero() && !s.due.After(now) {
			s.due = p.execute(ctx, name, s, p.decision(name, s, now))
		}
		next = earlier(next, s.due)
	}
	return next
}

// decision decides about one policy. Without any version that compiles, the status stays as it is.
func (p *Player) decision(name string, s *policyState, now time.Time) bindingpolicy.Decision {
	if s.rollout == nil {
		return bindingpolicy.Decision{Decision: staged.Decision{Status: s.status}}
	}
	if p.options.Clusters != nil {
		s.rollout.ObserveClusters(p.options.Clusters())
	}
	if p.options.Reports != nil {
		for _, report := range p.options.Reports(name) {
			s.rollout.ObserveReport(report)
		}
	}
	return s.rollout.Decide(s.status, now)
}

// execute carries out a decision, and returns when to decide again; the zero time means never.
func (p *Player) execute(ctx context.Context, name string, s *policyState, d bindingpolicy.Decision) (at time.Time) {
	now := time.Now()
	if s.fault != nil {
		d.Status.Conditions = slices.Clone(d.Status.Conditions)
		meta.SetStatusCondition(&d.Status.Conditions, staged.InvalidCondition(s.status, s.generation, s.fault, now))
	}
	changed, err := s.execute(ctx, p.hub, name, d)
	p.writeEvents(ctx, name, s)
	if p.options.Trace != nil && (changed || err != nil) {
		p.options.Trace(TraceEvent{Time: now, Policy: name, Decision: d.Decision, Err: err})
	}
	if err != nil {
		s.notBefore = now.Add(backOff(p.options.RetryAfter, s.failures))
		s.failures++
		return s.notBefore
	}
	s.failures = 0
	switch {
	case p.options.Clusters != nil || p.options.Reports != nil:
		at = now.Add(pollInterval)
	}
	if d.RecheckAfter > 0 {
		at = earlier(at, now.Add(d.RecheckAfter))
	}
	return at
}

// earlier returns the earlier of two times. The zero time means never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
