// Package simulation plays a stage Set on an in-memory cluster in virtual time. A simulation owns
// the clock and sets it to the time of the next event. It never waits, except in
// [Simulation.Follow], in which virtual time follows the clock of the machine.
//
// # Usage
//
//	sim, err := simulation.New(set, simulation.Options{Seed: 1})
//	…
//	_, err = sim.Cluster().Create(ctx, pod, metav1.CreateOptions{})
//	err = sim.Advance(ctx, time.Minute) // everything that happens within a minute has happened
//	got, err := sim.Cluster().Get(ctx, gvk, name)
//
// A run can end early, because its ctx is done or a function of the caller failed. Then the cluster
// can still be read and changed, and the next Step, Advance or Settle continues the run.
// Options.Progress reports the progress of a long run.
//
// [Simulation.At] calls a function at a time, [Simulation.On] calls a function for changes of
// objects, and Options.Controllers runs controllers. Packages of stage/lab use them:
//
//   - load creates work, and fault injects failures
//   - record keeps a log of the run, measure computes metrics of the log, and expect compares the
//     metrics with expectations in tests
//   - sweep runs many parameters and seeds, statistics computes confidence intervals, and progress
//     shows the progress of a run
//
// # Time
//
// By default only the delays of Stages and the pauses of controllers take time: 10,000 replicas
// appear at one instant. With Options.Timing, for example [ClusterLike], requests wait for the rate
// limit of their client and for the API server. Controllers then have a number of workers, and
// watchers see changes late. [Simulation.View] sets which events the process of a controller has
// seen. A simulation with a Timing needs a Close.
//
// # Determinism
//
// Only the Set, the Options and the calls decide what happens: the same program has the same
// output, byte for byte. Writes by the caller are observed at the next Step, Advance or Settle.
// Actions that are due at the same time happen in this order:
//
//  1. the functions of On, one event after another
//  2. the functions of At, in the order of the calls of At
//  3. transitions, in the order in which they were scheduled
//  4. steps of garbage collection
//  5. controllers, key by key, in the order in which the objects that they watch changed
//
// After each action, everything else in the simulation observes its writes. So controllers see the
// result of an instant, and not every step on the way.
//
// # Concurrency
//
// A Simulation must not be used from several goroutines at once. Other goroutines may use its
// cluster. If they write, or with Follow, the run is not deterministic.
package simulation

import (
	"context"
	"errors"
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
	// Kinds are kinds in addition to the kinds of package memory.
	Kinds []memory.Kind
	// Definitions are CustomResourceDefinitions that are in the cluster from the start, so that the
	// Set can have Stages for their kinds.
	Definitions []*unstructured.Unstructured
	// From is a cluster that the simulation copies at the start, so that many simulations can begin
	// with the same objects. The simulation also takes its kinds, hooks and strictness; Kinds,
	// Definitions and Strict are not used. Default: an empty cluster.
	From *memory.Cluster
	// Strict refuses objects in missing namespaces, and collects objects whose owner never existed
	// as garbage, like an API server. Default: such objects are accepted and kept.
	Strict bool
	// Hooks are functions that see objects before the cluster stores them, for defaults, validation
	// and admission. They replace hooks of From with the same name. Default: objects are stored
	// unchanged.
	Hooks []memory.Hooks
	// LivelockLimit is the number of transitions that one object may make while no time passes.
	// After more transitions the Engine stops playing the object and reports a livelock. Default
	// 100.
	LivelockLimit int
	// Trace is called for every event of the Engine and for every effect.
	Trace func(stage.TraceEvent)
	// Requests is called after each write to the cluster, as [memory.Options].Trace. A write has a
	// warning if the cluster ignores a part of the object. Default: off.
	Requests func(memory.Request)
	// Filter reports whether Stages are played on an object; it is called for each state of the
	// object. Default: all objects. A Pod without a node, for example, is not played by a kubelet.
	Filter func(*unstructured.Unstructured) bool
	// Kubelet reports whether the kubelet of a Node works. Stages are not played on the Pods of a
	// Node while its kubelet does not work. The node is nil if it does not exist. Default: always
	// true.
	Kubelet func(node *unstructured.Unstructured) bool
	// Controllers run in the virtual time of the simulation, together with the Stages.
	Controllers []reconcile.Controller
	// Operator returns further controllers, which need the cluster: for example reconcilers with a
	// client of it. New calls it once, before anything happens.
	Operator func(*memory.Cluster) []reconcile.Controller
	// Reconcile are the options of the loop that runs the controllers. Its Trace reports errors and
	// livelocks.
	Reconcile reconcile.Options
	// Timing says how long requests, watches and reconciles take, see [ClusterLike]. Nil means no
	// time: all due work happens at one instant, and every watcher sees it at once.
	Timing *Timing
	// GarbageCollection says how long garbage collection takes. Nil means no time: it happens
	// within the write that causes it.
	GarbageCollection *GarbageCollection
	// Progress is called very often, after each function, transition or reconcile. A progress bar
	// should read the real clock and draw only from time to time.
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
	loops     []*reconcile.Loop // one, or one for each process with a Timing
	clients   *kubeletClients   // nil without a Timing
	collector collector
	// kinds whose changes the simulation observes
	watched []watchedKind
	changes changes
	calls   calls
	hooks   hooks
	// the Nodes whose kubelets work
	kubelets map[string]bool

	progress Progress
}

// A watchedKind is a kind whose changes the simulation observes.
type watchedKind struct {
	*memory.Feed
	kind      schema.GroupVersionKind
	forEngine bool // the Set has Stages for it, or its Env observes it
}

// New returns a simulation with an empty cluster. The error is about a refused definition, or names
// each faulty controller, see [reconcile.Check], or each unknown kind that the Set has Stages for or
// that a controller watches.
func New(set *stage.Set, o Options) (*Simulation, error) {
	if set == nil {
		return nil, errors.New("simulation: no Set")
	}
	if o.Start.IsZero() {
		o.Start = time.Date(2006, 1, 2, 15, 4, 5, 0, time.UTC)
	}
	s := &Simulation{set: set, options: o, kubelets: map[string]bool{}}
	s.setTime(o.Start)
	if err := s.addCluster(); err != nil {
		return nil, err
	}
	if o.Operator != nil {
		s.options.Controllers = slices.Concat(o.Controllers, o.Operator(s.cluster))
	}
	if err := reconcile.Check(s.options.Controllers...); err != nil {
		return nil, fmt.Errorf("simulation: %w", err)
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
	var unknown []error
	for _, kind := range s.kinds() {
		unknown = append(unknown, s.watchKind(kind))
	}
	if err := errors.Join(unknown...); err != nil {
		return nil, err
	}
	return s, nil
}

// addCluster makes the cluster, or copies Options.From.
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

// watchKind starts to observe the changes of a kind.
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

// At calls a function at a virtual time, or at the next step if the time is past. Functions for the
// same time are called in the order of the calls of At, before Stages and controllers that are due
// at this time.
func (s *Simulation) At(t time.Time, do func(context.Context) error) {
	s.calls.Set(&call{do: do}, t)
}

// Next returns the time of the next event. It returns false if nothing will happen.
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

// An earliest is the earliest of several times, if any.
type earliest struct {
	at time.Time
	ok bool
}

func (m *earliest) add(at time.Time, is bool) {
	if is && (!m.ok || at.Before(m.at)) {
		*m = earliest{at, true}
	}
}

// Step moves the time to the result of Next and does everything that is due at this time. It
// returns false if nothing is due. The error comes from ctx, or from a function given to At or On.
// Errors of effects and controllers go to their Trace.
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

// Advance moves the time forward by d, which must not be negative, and does everything that is due
// until and including this time.
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

// Settle moves the time forward until nothing more will happen, but at most by longest. It reports
// whether the simulation settled: a Set with heartbeats never settles.
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

// consider makes the Engine observe an object, or forget an object that must not be played.
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
