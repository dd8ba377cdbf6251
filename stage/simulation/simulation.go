// Package simulation plays a stage Set on an in-memory cluster in virtual time: it owns the clock, jumps from one thing that is due to the
// next, and never waits.
//
// # Usage
//
//	sim, err := simulation.New(set, simulation.Options{Seed: 1})
//	…
//	_, err = sim.Cluster().Create(ctx, pod, metav1.CreateOptions{})
//	err = sim.Advance(ctx, time.Minute) // everything that happens within a minute has happened
//	got, err := sim.Cluster().Get(ctx, gvk, name)
//
// A run that ends early, because its ctx is done or a function of the caller failed, has lost nothing: the cluster can be looked at and
// changed, and the next Step, Advance or Settle goes on from there. Options.Progress tells how far a long run is.
//
// What else is to happen is added by [Simulation.At] for a time, by [Simulation.On] for what happens to objects, and by
// Options.Controllers. The packages below build on these: load lets work arrive, fault lets things go wrong, record keeps what happened,
// measure computes metrics of that, and expect says in tests what they should be.
//
// # Determinism
//
// Nothing but the Set, the Options and the calls decide what happens: the same program prints the same, byte for byte. Writes by the
// caller are seen at the next Step, Advance or Settle. Of what is due at the same time this comes first: the functions of On, one event
// after another; the functions of At, in the order of the calls of At; Stages, in the order in which they were scheduled; controllers, key by
// key, in the order in which what they watch changed. After each single one, everybody sees what it wrote. So controllers look at the
// outcome of an instant, not at each step on the way.
//
// # Concurrency
//
// A Simulation must not be used from several goroutines at once. Its cluster may be used from others, at the cost of determinism if they write.
package simulation

import (
	"container/heap"
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
)

// Options of [New]. The zero value is usable.
type Options struct {
	// Seed decides all draws, uids and generated names.
	Seed uint64
	// Start is the time at which the simulation begins. Default 2006-01-02T15:04:05Z.
	Start time.Time
	// Kinds are kinds beside those that memory knows.
	Kinds []memory.Kind
	// Definitions are CustomResourceDefinitions that the cluster has from the start, so that the Set may have Stages for their kinds.
	Definitions []*unstructured.Unstructured
	// LivelockLimit is how many transitions one object may make without time passing before it is parked as a livelock. Default 100.
	LivelockLimit int
	// Trace is called for everything the engine does and every effect.
	Trace func(stage.TraceEvent)
	// Filter tells which objects the Stages play, for each state of them. Default: all. A Pod without a node, say, is not played by a kubelet.
	Filter func(*unstructured.Unstructured) bool
	// Controllers run on the clock of the simulation, beside the Stages.
	Controllers []reconcile.Controller
	// Reconcile are the options of their loop. Its Trace tells of errors and livelocks.
	Reconcile reconcile.Options
	// Progress is called after each thing that was done, very often: a bar for a long run looks at a clock of its own now and then.
	Progress func(Progress)
}

// A Simulation is a Set, a cluster and a clock.
type Simulation struct {
	set     *stage.Set
	options Options
	now     time.Time
	shown   atomic.Int64 // now in Unix nanoseconds, for writers in other goroutines
	cluster *memory.Cluster
	shared  *memory.Cluster // shares objects instead of copying
	writer  player.Writer   // of effects, the same
	engine  *stage.Engine
	loop    *reconcile.Loop // nil without controllers
	follows []followed
	changes changes
	calls   calls
	hooks   hooks

	progress Progress
}

// A followed kind is one that the simulation looks at.
type followed struct {
	*memory.Feed
	kind   schema.GroupVersionKind
	played bool // the Set has Stages for it or learns from it
}

// New returns a simulation with an empty cluster. The error is that of a kind that the Set has Stages for, or a controller watches, and the
// cluster does not know, or of a definition that it refuses.
func New(set *stage.Set, o Options) (*Simulation, error) {
	if o.Start.IsZero() {
		o.Start = time.Date(2006, 1, 2, 15, 4, 5, 0, time.UTC)
	}
	s := &Simulation{set: set, options: o}
	s.goTo(o.Start)
	s.cluster = memory.New(memory.Options{Seed: o.Seed, Now: func() time.Time { return time.Unix(0, s.shown.Load()) }, Kinds: o.Kinds})
	s.shared, s.writer = s.cluster.Shared(), s.cluster.Share()
	s.engine = stage.NewEngine(set, stage.EngineOptions{Seed: o.Seed, Trace: o.Trace, LivelockLimit: o.LivelockLimit})
	for _, crd := range o.Definitions {
		if _, err := s.cluster.Create(context.Background(), crd, metav1.CreateOptions{}); err != nil {
			return nil, fmt.Errorf("simulation: %w", err)
		}
	}
	if len(o.Controllers) > 0 {
		s.loop = reconcile.NewLoop(s.shared, o.Reconcile, o.Controllers...)
	}
	for _, kind := range s.kinds() {
		if err := s.follow(kind); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// follow looks at a kind from now on.
func (s *Simulation) follow(kind schema.GroupVersionKind) error {
	if slices.ContainsFunc(s.follows, func(f followed) bool { return f.kind == kind }) {
		return nil
	}
	f, err := s.feed(kind)
	if err != nil {
		return err
	}
	s.follows = append(s.follows, followed{Feed: f, kind: kind, played: kind == nodes || len(s.set.Stages(kind)) > 0})
	return nil
}

func (s *Simulation) feed(kind schema.GroupVersionKind) (*memory.Feed, error) {
	f, err := s.shared.Feed(kind, "", metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("simulation: %w: is it missing from the Kinds or Definitions of the options?", err)
	}
	return f, nil
}

var nodes = schema.GroupVersionKind{Version: "v1", Kind: "Node"}

// kinds are those the simulation follows: nodes first, because the addresses of pods depend on them.
func (s *Simulation) kinds() []schema.GroupVersionKind {
	kinds := append([]schema.GroupVersionKind{nodes}, s.set.Kinds()...)
	if s.loop != nil {
		kinds = append(kinds, s.loop.Kinds()...)
	}
	return kinds
}

// Cluster returns the cluster of the simulation. Its clock is that of the simulation.
func (s *Simulation) Cluster() *memory.Cluster { return s.cluster }

// Now returns the virtual time.
func (s *Simulation) Now() time.Time { return s.now }

func (s *Simulation) goTo(t time.Time) {
	s.now = t
	s.shown.Store(t.UnixNano())
}

// At has a function called at a time of the simulation, or at the next step if that is past. Functions for the same time
// are called in the order of the calls of At, before Stages and controllers that are due then.
func (s *Simulation) At(t time.Time, do func(context.Context) error) {
	heap.Push(&s.calls, call{at: t, seq: s.calls.next(), do: do})
}

// Next returns the time of the next thing that will happen. It is false if nothing will.
func (s *Simulation) Next() (time.Time, bool) {
	s.look()
	if len(s.hooks.ready) > 0 {
		return s.now, true
	}
	next := moment{}
	next.or(s.engine.NextDue())
	if s.loop != nil {
		next.or(s.loop.NextDue())
	}
	if len(s.calls.items) > 0 {
		next.or(s.calls.items[0].at, true)
	}
	if next.at.Before(s.now) {
		next.at = s.now
	}
	return next.at, next.is
}

// A moment is the earliest of several times, if there is one.
type moment struct {
	at time.Time
	is bool
}

func (m *moment) or(at time.Time, is bool) {
	if is && (!m.is || at.Before(m.at)) {
		*m = moment{at, true}
	}
}

// Step goes to the time of the next thing and does everything that is to be done then. It is false if there is nothing. The error is that of a function
// given to At or On, or of ctx; failing effects and controllers go to their Trace.
func (s *Simulation) Step(ctx context.Context) (bool, error) {
	at, ok := s.Next()
	if !ok {
		return false, nil
	}
	s.goTo(at)
	for next, ok := at, true; ok && !next.After(at); next, ok = s.Next() {
		err := ctx.Err()
		if err == nil {
			err = s.one(ctx)
			s.did()
		}
		if err != nil {
			return true, err
		}
	}
	return true, nil
}

// one does one thing that is due now.
func (s *Simulation) one(ctx context.Context) error {
	if len(s.hooks.ready) > 0 {
		return s.hooks.pop()(ctx)
	}
	if len(s.calls.items) > 0 && !s.calls.items[0].at.After(s.now) {
		return heap.Pop(&s.calls).(call).do(ctx)
	}
	for t := range s.engine.Due(s.now) {
		s.play(ctx, t)
		return nil
	}
	if s.loop != nil {
		s.loop.Step(ctx, s.now)
	}
	return nil
}

// play carries a transition out. Failures are traced, as is an object that another goroutine has deleted since the last look.
func (s *Simulation) play(ctx context.Context, t stage.Transition) {
	obj, _ := s.shared.Get(ctx, t.Key.GroupVersionKind(), t.Key.NamespacedName())
	_, _ = player.Do(ctx, s.writer, t, obj, player.DoOptions{Now: s.now, Trace: s.options.Trace})
}

// Advance lets a duration pass, which must not be negative, and does everything that is due within it, its end included.
func (s *Simulation) Advance(ctx context.Context, d time.Duration) error {
	if d < 0 {
		return fmt.Errorf("simulation: time does not go back by %s", -d)
	}
	end := s.now.Add(d)
	defer s.running(end)()
	for at, ok := s.Next(); ok && !at.After(end); at, ok = s.Next() {
		if _, err := s.Step(ctx); err != nil {
			return err
		}
	}
	s.goTo(end)
	return nil
}

// Settle goes on until nothing is left to happen, for at most a duration. It reports whether that was reached: a set with heartbeats
// never settles.
func (s *Simulation) Settle(ctx context.Context, longest time.Duration) (bool, error) {
	end := s.now.Add(longest)
	defer s.running(end)()
	for at, ok := s.Next(); ok; at, ok = s.Next() {
		if at.After(end) {
			s.goTo(end)
			return false, nil
		}
		if _, err := s.Step(ctx); err != nil {
			return false, err
		}
	}
	return true, nil
}

// look shows everybody what has changed in the cluster. The engine sees of each object the present state only, because a transition with several
// effects passes through states that are not meant to be seen.
func (s *Simulation) look() {
	for _, f := range s.follows {
		for e, ok := f.Next(); ok; e, ok = f.Next() {
			obj, ok := e.Object.(*unstructured.Unstructured)
			if !ok {
				continue
			}
			s.progress.saw(e.Type)
			if s.loop != nil {
				s.loop.Observe(e, s.now)
			}
			s.hooks.happened(f.kind, e)
			if f.played {
				s.saw(e.Type, obj)
			}
		}
	}
	for i := range s.changes.list {
		if c := &s.changes.list[i]; !c.gone {
			_ = s.engine.Observe(c.obj, s.now) // the only error is a livelock, which the engine traces
		}
	}
	s.changes.forget()
}

// saw takes in an event, and notes whether there is a state to look at.
func (s *Simulation) saw(event watch.EventType, obj *unstructured.Unstructured) {
	key := stage.KeyOf(obj)
	if event == watch.Deleted {
		s.set.ForgetEnv(obj)
		s.dismiss(key)
		return
	}
	s.set.ObserveEnv(obj)
	if s.options.Filter != nil && !s.options.Filter(obj) {
		s.dismiss(key)
		return
	}
	s.changes.put(key, obj)
}

// dismiss takes an object off the stage.
func (s *Simulation) dismiss(key stage.Key) {
	s.changes.dismiss(key)
	s.engine.Forget(key, s.now)
}
