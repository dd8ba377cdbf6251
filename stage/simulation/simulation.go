// Package simulation plays a stage Set on an in-memory cluster in virtual time: it owns the clock
// and sets it to the time at which something happens next. It never waits, but for
// [Simulation.Follow], which lets the clock of the machine set the pace.
//
// # Usage
//
//	sim, err := simulation.New(set, simulation.Options{Seed: 1})
//	…
//	_, err = sim.Cluster().Create(ctx, pod, metav1.CreateOptions{})
//	err = sim.Advance(ctx, time.Minute) // everything that happens within a minute has happened
//	got, err := sim.Cluster().Get(ctx, gvk, name)
//
// If a run ends early, because its ctx is done or a function of the caller failed, nothing is lost:
// the cluster can be read and changed, and the next Step, Advance or Settle continues the run.
// Options.Progress reports how far a long run is.
//
// [Simulation.At] calls a function at a time, [Simulation.On] calls one for changes of objects, and
// Options.Controllers run controllers. The packages below this one use them: load makes work
// arrive, fault makes things fail, record keeps what happened, measure computes metrics of that,
// and expect compares the metrics with expectations in tests. Package sweep runs many parameters
// and seeds, statistics says how far to trust what they measured, and progress shows how far a run
// is.
//
// # Time
//
// By default nothing takes time but the delays of Stages and what controllers wait for: 10,000
// replicas appear at one instant. With Options.Timing, as [ClusterLike] has it, requests wait for
// the rate limit of their client and for the API server, controllers have workers, and everybody
// sees late what others did; [Simulation.View] sets what the process of a controller has seen. Such
// a simulation needs a Close.
//
// # Determinism
//
// Only the Set, the Options and the calls decide what happens: the same program has the same
// output, byte for byte. Writes by the caller are observed at the next Step, Advance or Settle.
// Things that are due at the same time happen in this order: the functions of On, one event after
// another; the functions of At, in the order of the calls of At; transitions, in the order in which
// they were scheduled; steps of garbage collection; controllers, key by key, in the order in which
// the objects that they watch changed. After each of these, all others observe what it wrote. So
// controllers see the result of an instant, not every step on the way.
//
// # Concurrency
//
// A Simulation must not be used from several goroutines at once. Its cluster may be used from other
// goroutines; if they write, the run is not deterministic, nor is one with Follow.
package simulation

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/player"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// Options of [New]. The zero value is usable.
type Options struct {
	// Seed decides all draws, uids and generated names.
	Seed uint64
	// Start is the virtual time at which the simulation begins. Default 2006-01-02T15:04:05Z.
	Start time.Time
	// Kinds are kinds in addition to those that package memory knows.
	Kinds []memory.Kind
	// Definitions are CustomResourceDefinitions that are in the cluster from the start, so that the
	// Set may have Stages for their kinds.
	Definitions []*unstructured.Unstructured
	// From is a cluster of which the simulation begins with a copy, so that many simulations can begin
	// with the same objects. Its kinds, hooks and strictness are those of the simulation: Kinds,
	// Definitions and Strict are not used. Default: an empty cluster.
	From *memory.Cluster
	// Strict refuses, as an API server does, objects in namespaces that do not exist; objects whose
	// owner was never there are garbage. Default: they are taken.
	Strict bool
	// Hooks are what an API server does with objects before it stores them, such as defaults,
	// validation, admission. A hook replaces the hook of From with the same name. Default: objects are
	// stored as they are.
	Hooks []memory.Hooks
	// LivelockLimit is how many transitions one object may make without time passing before the
	// Engine stops playing it and reports a livelock. Default 100.
	LivelockLimit int
	// Trace is called for everything that the Engine does and for every effect.
	Trace func(stage.TraceEvent)
	// Requests is called after each write to the cluster, as [memory.Options].Trace. A write has a
	// warning if the cluster does not do what the object asks for. Default: nothing.
	Requests func(memory.Request)
	// Filter reports whether Stages are played on an object; it is called for each state of the
	// object. Default: all objects. A Pod without a node, for example, is not played by a kubelet.
	Filter func(*unstructured.Unstructured) bool
	// Kubelet reports whether the kubelet of a Node, which is nil if there is none, does something
	// for its Pods: otherwise Stages are not played on them until it does. Default: always.
	Kubelet func(node *unstructured.Unstructured) bool
	// Controllers run in the virtual time of the simulation, together with the Stages.
	Controllers []reconcile.Controller
	// Reconcile are the options of the loop that runs the controllers. Its Trace reports errors and
	// livelocks.
	Reconcile reconcile.Options
	// Timing is how long things take, see [ClusterLike]. Nil: no time; all that is to be done is
	// done at one instant, and seen by everybody.
	Timing *Timing
	// GarbageCollection is how long garbage collection takes. Nil: no time; it happens with the
	// write that calls for it.
	GarbageCollection *GarbageCollection
	// Progress is called very often, after each function, transition or reconcile. A progress bar
	// should look at the real clock and draw only now and then.
	Progress func(Progress)
}

// A Simulation is a Set, a cluster and a virtual clock. It must not be used from several goroutines
// at once.
type Simulation struct {
	set       *stage.Set
	options   Options
	now       time.Time
	sharedNow atomic.Int64 // now in Unix nanoseconds, for the cluster, which other goroutines may use
	cluster   *memory.Cluster
	shared    *memory.Cluster  // the same cluster; it shares objects instead of copying them
	writer    transport.Writer // the same cluster; it writes effects
	engine    *stage.Engine
	loops     []*reconcile.Loop // one, or one for each process if things take time
	clients   *kubeletClients   // nil if nothing takes time
	collector collector
	// kinds whose changes the simulation observes
	watched []watchedKind
	changes changes
	calls   calls
	hooks   hooks
	// the Nodes whose kubelets do something for their Pods
	kubelets map[string]bool

	progress Progress
}

// A watchedKind is a kind whose changes the simulation observes.
type watchedKind struct {
	*memory.Feed
	kind      schema.GroupVersionKind
	forEngine bool // the Set has Stages for it, or its Env observes it
}

// New returns a simulation with an empty cluster. The error is that of a kind that the Set has
// Stages for, or that a controller watches, and that the cluster does not know, or that of a
// refused definition.
func New(set *stage.Set, o Options) (*Simulation, error) {
	if o.Start.IsZero() {
		o.Start = time.Date(2006, 1, 2, 15, 4, 5, 0, time.UTC)
	}
	s := &Simulation{set: set, options: o, kubelets: map[string]bool{}}
	s.setTime(o.Start)
	if err := s.addCluster(); err != nil {
		return nil, err
	}
	if o.GarbageCollection != nil {
		s.collector.GarbageCollection = *o.GarbageCollection
	}
	s.shared, s.writer = s.cluster.Shared(), s.cluster.Share()
	s.engine = stage.NewEngine(set, stage.EngineOptions{Seed: o.Seed, Trace: o.Trace, LivelockLimit: o.LivelockLimit})
	s.loops = s.newLoops()
	if o.Timing != nil {
		s.clients = newKubeletClients(o.Timing)
	}
	for _, kind := range s.kinds() {
		if err := s.watchKind(kind); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// addCluster makes the cluster, or copies the one that the simulation begins with.
func (s *Simulation) addCluster() error {
	o := s.options
	m := memory.Options{
		Seed: o.Seed, Now: func() time.Time { return time.Unix(0, s.sharedNow.Load()) }, Kinds: o.Kinds,
		RequireNamespaces: o.Strict, RequireOwners: o.Strict,
		LateCollection: o.GarbageCollection != nil, Trace: o.Requests,
	}
	if o.From != nil {
		s.cluster = o.From.ForkAs(m)
		s.extend()
		return nil
	}
	s.cluster = memory.New(m)
	s.extend()
	for _, crd := range o.Definitions {
		if _, err := s.cluster.Create(context.Background(), crd, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("simulation: %w", err)
		}
	}
	return nil
}

func (s *Simulation) extend() {
	for _, h := range s.options.Hooks {
		s.cluster.Extend(h)
	}
}

// watchKind observes the changes of a kind from now on.
func (s *Simulation) watchKind(kind schema.GroupVersionKind) error {
	if slices.ContainsFunc(s.watched, func(f watchedKind) bool { return f.kind == kind }) {
		return nil
	}
	f, err := s.newFeed(kind)
	if err != nil {
		return err
	}
	s.watched = append(s.watched, watchedKind{Feed: f, kind: kind, forEngine: kind == nodes || len(s.set.Stages(kind)) > 0})
	return nil
}

func (s *Simulation) newFeed(kind schema.GroupVersionKind) (*memory.Feed, error) {
	f, err := s.shared.Feed(kind, "", metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("simulation: %w: is it missing from the Kinds or Definitions of the options?", err)
	}
	return f, nil
}

var nodes = schema.GroupVersionKind{Version: "v1", Kind: "Node"}

// kinds are the kinds to observe: nodes first, because the addresses of Pods depend on them.
func (s *Simulation) kinds() []schema.GroupVersionKind {
	kinds := append([]schema.GroupVersionKind{nodes}, s.set.Kinds()...)
	for _, l := range s.loops {
		kinds = append(kinds, l.Kinds()...)
	}
	return kinds
}

// Cluster returns the cluster of the simulation. Its clock is the virtual time.
func (s *Simulation) Cluster() *memory.Cluster { return s.cluster }

// Now returns the virtual time.
func (s *Simulation) Now() time.Time { return s.now }

func (s *Simulation) setTime(t time.Time) {
	s.now = t
	s.sharedNow.Store(t.UnixNano())
}

// At calls a function at a virtual time, or at the next step if that time is past. Functions for
// the same time are called in the order of the calls of At, before Stages and controllers that are
// due then.
func (s *Simulation) At(t time.Time, do func(context.Context) error) {
	s.calls.Set(&call{do: do}, t)
}

// Next returns the time at which something happens next. It is false if nothing will happen.
func (s *Simulation) Next() (time.Time, bool) {
	s.observeChanges()
	if len(s.hooks.queued) > 0 {
		return s.now, true
	}
	next := earliest{}
	next.add(s.engine.NextDue())
	_, loop := s.nextLoop()
	next.add(loop.at, loop.ok)
	s.clients.next(&next)
	next.add(s.nextCollection())
	next.add(s.calls.Next())
	if next.at.Before(s.now) {
		next.at = s.now
	}
	return next.at, next.ok
}

// An earliest is the earliest of several times, if there is one.
type earliest struct {
	at time.Time
	ok bool
}

func (m *earliest) add(at time.Time, is bool) {
	if is && (!m.ok || at.Before(m.at)) {
		*m = earliest{at, true}
	}
}

// Step moves the time to that of Next and does everything that is due then. It is false if nothing
// is due. The error is that of ctx or of a function given to At or On; effects and controllers that
// fail are reported to their Trace.
func (s *Simulation) Step(ctx context.Context) (bool, error) {
	at, ok := s.Next()
	if !ok {
		return false, nil
	}
	s.setTime(at)
	for next, ok := at, true; ok && !next.After(at); next, ok = s.Next() {
		err := ctx.Err()
		if err == nil {
			err = s.doNext(ctx)
			s.countDone()
		}
		if err != nil {
			return true, err
		}
	}
	return true, nil
}

// doNext does one thing that is due now.
func (s *Simulation) doNext(ctx context.Context) error {
	if len(s.hooks.queued) > 0 {
		return s.hooks.pop()(ctx)
	}
	if c, ok := s.calls.Pop(s.now); ok {
		return c.do(ctx)
	}
	if s.stepKubelets(ctx) {
		return nil
	}
	for t := range s.engine.Due(s.now) {
		if s.clients != nil {
			s.send(ctx, t)
		} else {
			s.play(ctx, t)
		}
		return nil
	}
	if s.collect() {
		return nil
	}
	if loop, _ := s.nextLoop(); loop != nil {
		loop.Step(ctx, s.now)
	}
	return nil
}

// play executes a transition. Failures are traced. So is an object that another goroutine has
// deleted since the last step.
func (s *Simulation) play(ctx context.Context, t stage.Transition) {
	obj, _ := s.shared.Get(ctx, t.Key.GroupVersionKind(), t.Key.NamespacedName())
	_, _ = player.Do(ctx, s.writer, t, obj, player.DoOptions{Now: s.now, Trace: s.options.Trace})
}

// Advance moves the time on by d, which must not be negative, and does everything that is due until
// then, including at the end.
func (s *Simulation) Advance(ctx context.Context, d time.Duration) error {
	if d < 0 {
		return fmt.Errorf("simulation: time does not go back by %s", -d)
	}
	end := s.now.Add(d)
	defer s.startRun(end)()
	for at, ok := s.Next(); ok && !at.After(end); at, ok = s.Next() {
		if _, err := s.Step(ctx); err != nil {
			return err
		}
	}
	s.setTime(end)
	return nil
}

// Settle moves the time on until nothing more will happen, by at most a duration. It reports
// whether that was reached: a Set with heartbeats never settles.
func (s *Simulation) Settle(ctx context.Context, longest time.Duration) (bool, error) {
	end := s.now.Add(longest)
	defer s.startRun(end)()
	for at, ok := s.Next(); ok; at, ok = s.Next() {
		if at.After(end) {
			s.setTime(end)
			return false, nil
		}
		if _, err := s.Step(ctx); err != nil {
			return false, err
		}
	}
	return true, nil
}

// observeChanges reports the changes in the cluster to controllers, functions and the Engine. The
// Engine sees only the newest state of each object, because a transition with several effects
// passes through intermediate states.
func (s *Simulation) observeChanges() {
	for _, f := range s.watched {
		for e, ok := f.Next(); ok; e, ok = f.Next() {
			obj, ok := e.Object.(*unstructured.Unstructured)
			if !ok {
				continue
			}
			s.progress.countEvent(e.Type)
			for _, l := range s.loops {
				l.Observe(e, s.now)
			}
			s.hooks.notify(f.kind, e)
			if f.kind == nodes {
				s.observeKubelet(e.Type, obj)
			}
			if f.forEngine && s.clients != nil {
				s.clients.view.Add(e, s.now)
			} else if f.forEngine {
				s.observeEvent(e.Type, obj)
			}
		}
	}
	for i := range s.changes.list {
		if c := &s.changes.list[i]; !c.gone && !s.clients.isInFlight(c.key) {
			_ = s.engine.Observe(c.obj, s.now) // the only error is a livelock, which the engine traces
		}
	}
	s.changes.clear()
}

// observeEvent records a change for the Engine.
func (s *Simulation) observeEvent(event watch.EventType, obj *unstructured.Unstructured) {
	key := stage.KeyOf(obj)
	if event == watch.Deleted {
		s.set.ForgetEnv(obj)
		s.forget(key)
		return
	}
	s.set.ObserveEnv(obj)
	s.consider(key, obj)
}

// isPlayed reports whether Stages are played on an object.
func (s *Simulation) isPlayed(obj *unstructured.Unstructured) bool {
	return (s.options.Filter == nil || s.options.Filter(obj)) && s.hasKubelet(obj)
}

// consider has the Engine play an object, or forget it if it must not be played.
func (s *Simulation) consider(key stage.Key, obj *unstructured.Unstructured) {
	if !s.isPlayed(obj) {
		s.forget(key)
		return
	}
	s.changes.put(key, obj)
}

// forget removes an object from the Engine.
func (s *Simulation) forget(key stage.Key) {
	s.changes.remove(key)
	s.engine.Forget(key, s.now)
}
