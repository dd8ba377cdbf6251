package player

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/internal/listwatch"
	"github.com/stagecraft-go/stagecraft/stage/transport"
	"github.com/stagecraft-go/stagecraft/staged"
	"github.com/stagecraft-go/stagecraft/staged/bindingpolicy"
	"github.com/stagecraft-go/stagecraft/staged/fleet"
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
	// Space reads KubeStellar's inventory and transport space: its ManifestWorks and WorkStatuses. With
	// it, and with Workload, the Player knows which revision each cluster has, and to which revision a
	// report belongs; updates: Staged needs that, unless the policy says requireEvidence: None. Nil: only
	// the hub is read.
	Space transport.Reader
	// Workload are the kinds of workload objects on the hub. They are read where the Transport knows
	// content.
	Workload []WorkloadKind
	// Approvals reads StageApprovals: see v1alpha1.ApprovalCRD. Nil: only annotations approve.
	Approvals transport.Reader
	// Gates are the kinds of objects on the hub that stages may name as gates. A gate of another kind
	// never opens, and the message says so.
	Gates []schema.GroupVersionKind
	// Snapshots stores the content of revisions, so that a Transport that can place an old revision
	// still can after a restart. Nil: only those are known that were seen since the start.
	Snapshots Store
	// Transport brings revisions to clusters. Nil: KubeStellar, by BindingPolicies on the hub.
	Transport Transport
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

var stagedPolicyKind = v1alpha1.GroupVersion.WithKind(v1alpha1.Kind)

// A Player carries out the StagedBindingPolicies of a hub, in real time, or in virtual time within
// a testing/synctest bubble. It keeps nothing that is not stored on the hub: another Player can
// take over at any moment. Several at once do no harm, but waste work: each writes the status first,
// under the resourceVersion that it has decided from, and stops if that is not the newest.
//
// A Player may be run once.
type Player struct {
	hub       transport.Transport
	options   Options
	transport Transport
	source    *source // nil: content is not read
	answers   *answers
	readers   map[schema.GroupVersionKind]transport.Reader
	clock     hubClock
	wall      func() time.Time        // the clock of this program
	policies  map[string]*policyState // by the name of the StagedBindingPolicy
	unsynced  map[schema.GroupVersionKind]bool
	stamp     int64 // of the last Event, in nanoseconds
}

// New returns a Player that is ready to run.
func New(hub transport.Transport, o Options) *Player {
	o.RetryAfter = cmp.Or(o.RetryAfter, time.Second)
	hub = listwatch.Bounded(hub, listwatch.RequestTimeout)
	p := &Player{hub: hub, options: o, transport: o.Transport, answers: newAnswers(o.Gates), policies: map[string]*policyState{}, unsynced: map[schema.GroupVersionKind]bool{}, wall: time.Now}
	if p.transport == nil {
		p.transport = newKubeStellar(hub, &p.options)
	}
	p.readers = p.transport.Kinds()
	if p.readers[stagedPolicyKind] = hub; len(o.Workload) > 0 {
		p.source = newSource(o.Workload)
		for _, k := range o.Workload {
			p.readers[k.GroupVersionKind] = hub
		}
	}
	if o.Approvals != nil {
		p.readers[approvalKind] = o.Approvals
	}
	for _, kind := range o.Gates {
		p.readers[kind] = hub
	}
	for kind := range p.readers {
		p.unsynced[kind] = true
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
		w := &watcher{reader: p.readers[kind], kind: kind, retry: p.options.RetryAfter, send: events}
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
				timer.Reset(at.Sub(p.wall()))
			}
		}
	}
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
	default:
		if p.source != nil && p.source.observe(e) {
			p.wake("")
		}
		if concerns, err := p.answers.observe(e); err != nil {
			p.failed("", err)
		} else if concerns {
			p.wake("")
		}
		concerns, err := p.transport.Observe(e.kind, e.obj, e.deleted)
		if err != nil {
			p.failed(strings.Join(concerns, " "), err)
			return
		}
		for _, name := range concerns {
			p.wake(name)
		}
	}
}

// wake makes the decision about a policy due; "": about all.
func (p *Player) wake(name string) {
	for n, s := range p.policies {
		if s.policy != nil && (name == "" || n == name) {
			s.due = p.wall()
		}
	}
}

func (p *Player) failed(policy string, err error) {
	if p.options.Trace != nil {
		p.options.Trace(TraceEvent{Time: p.wall(), Policy: policy, Err: err})
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
		s = &policyState{uid: object.UID, contents: map[fleet.RevisionID]fleet.Snapshot{}, stored: map[fleet.RevisionID]bool{}, missing: map[fleet.RevisionID]bool{}}
		p.policies[name] = s
	}
	if s.generation != object.Generation {
		s.generation = object.Generation
		p.compile(s, object)
	}
	s.meta = object.ObjectMeta
	s.meta.Generation = s.compiled
	p.noteConflicts(s.status, object.Status)
	s.noteStatus(reflect.DeepEqual(s.status, object.Status), p.wall())
	s.status, s.version, s.due = object.Status, object.ResourceVersion, p.wall()
}

// compile compiles a version of a policy. If that fails, the last version without faults stays.
func (p *Player) compile(s *policyState, object v1alpha1.StagedBindingPolicy) {
	policies, err := staged.Compile(p.options.Compile, staged.Object(object))
	if s.fault = err; err != nil {
		p.failed(object.Name, err)
		return
	}
	if s.rollout == nil {
		s.rollout = staged.NewRollout(policies[0])
	}
	s.rollout.Update(policies[0])
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
		s, now := p.policies[name], p.wall()
		if !s.due.IsZero() && s.due.Before(s.notBefore) {
			s.due = s.notBefore
		}
		if !s.due.IsZero() && !s.due.After(now) {
			s.due = p.execute(ctx, name, s, p.decision(ctx, name, s))
		}
		next = earlier(next, s.due)
	}
	return next
}

// decision decides about one policy. Without any version that compiles, the status stays as it is, and
// so does the finalizer, unless a person abandons it.
func (p *Player) decision(ctx context.Context, name string, s *policyState) staged.Decision {
	if s.rollout == nil {
		return staged.Decision{Status: s.status, Finalizer: s.meta.Annotations[v1alpha1.AbandonAnnotation] != "true" && slices.Contains(s.meta.Finalizers, v1alpha1.Finalizer)}
	}
	p.load(ctx, name, s)
	return s.rollout.Decide(s.status, p.world(s))
}

// world returns what is known around a policy, with the workload as the hub holds it.
func (p *Player) world(s *policyState) fleet.World {
	v := s.view(p.now())
	if p.source != nil {
		s.workload = p.source.workload(v, s, p.wall())
	}
	v.Contents, v.Workload, v.Policies = s.contents, s.workload, slices.Sorted(maps.Keys(p.policies))
	w := p.transport.World(v)
	p.answers.show(v, &w)
	w.Conflicts = append(w.Conflicts, p.newcomers(v.Policy.Name())...)
	if w.Can.Content && w.Workload.Revision == "" && p.source != nil {
		w.Workload = s.workload
	}
	w.Workload.Kept = slices.Sorted(maps.Keys(s.contents))
	if w.Workload.Unsettled {
		s.recheck = settleOf(v)
	}
	return w
}

// now returns the time of the hub.
func (p *Player) now() fleet.Instant { return p.clock.now(p.wall()) }

// execute carries out a decision, and returns when to decide again; the zero time means never.
func (p *Player) execute(ctx context.Context, name string, s *policyState, d staged.Decision) (at time.Time) {
	now := p.wall()
	if s.fault != nil {
		d.Status.Conditions = slices.Clone(d.Status.Conditions)
		meta.SetStatusCondition(&d.Status.Conditions, staged.InvalidCondition(s.status, s.generation, s.fault, now))
	}
	changed, err := p.carryOut(ctx, name, s, d)
	p.writeEvents(ctx, name, s)
	if p.options.Trace != nil && (changed || err != nil) {
		p.options.Trace(TraceEvent{Time: now, Policy: name, Decision: d, Err: err})
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
	if s.recheck > 0 {
		at, s.recheck = earlier(at, now.Add(s.recheck)), 0
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
