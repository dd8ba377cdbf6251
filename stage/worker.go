package stage

import (
	"context"
	"strconv"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A worker plays the objects whose keys hash to it. Everything it has is used by one goroutine only.
type worker struct {
	player  *Player
	inbox   *mailbox
	engine  *Engine
	actors  map[Key]*actor
	retries queue[*actor]
	outage  outage
	counts  struct{ objects, pending, retrying atomic.Int64 } // for others to read
}

// An actor is one object on the stage of a worker.
type actor struct {
	timer // in the queue of retries while the play waits
	key   Key
	obj   *unstructured.Unstructured // the newest state known
	seen  uint64                     // resourceVersion of the state that the engine saw last; 0 if it has none
	play  *playing                   // the transition on its way, nil if there is none
	aside bool                       // it is not played
	left  bool                       // it is not watched any more, and forgotten when its play ends
	pause backoff
	stale bool // the last failure of the play was a conflict
}

func newWorker(p *Player, s *Set, number uint64) *worker {
	o := p.options
	pause := backoff{first: o.RetryAfter, longest: min(o.MaxRetryAfter, longestOutage), hash: newHash(o.Seed).text("outage").number(number)}
	return &worker{
		player: p,
		inbox:  newMailbox(),
		engine: NewEngine(s, EngineOptions{Seed: o.Seed, Trace: o.Trace, MaxTransitions: o.MaxTransitions, Instant: o.Instant}),
		actors: map[Key]*actor{},
		outage: outage{pause: pause},
	}
}

// run works until ctx is done. What has arrived is looked at before what is due is played.
func (w *worker) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		w.read(w.inbox.take())
		now := time.Now()
		played := w.step(ctx, now)
		w.count()
		if played {
			continue
		}
		timer.Reset(w.wait(now))
		select {
		case <-ctx.Done():
		case <-w.inbox.wake:
		case <-timer.C:
		}
	}
}

// read does what the mailbox asks for.
func (w *worker) read(p post) {
	if p.set != nil {
		w.use(p.set)
	}
	for _, s := range p.sightings {
		w.saw(s)
	}
	if p.anew {
		w.reconsider()
	}
}

func (w *worker) count() {
	w.counts.objects.Store(int64(w.engine.Len()))
	w.counts.pending.Store(int64(w.engine.Pending()))
	w.counts.retrying.Store(int64(w.retries.len()))
}

// wait is how long nothing is due.
func (w *worker) wait(now time.Time) time.Duration {
	d := time.Hour
	if at, ok := w.engine.NextDue(); ok {
		d = min(d, at.Sub(now))
	}
	if at, ok := w.retries.next(); ok {
		d = min(d, at.Sub(now))
	}
	return max(d, w.outage.until.Sub(now))
}

// step plays one thing that is due, if there is one.
func (w *worker) step(ctx context.Context, now time.Time) bool {
	if now.Before(w.outage.until) {
		return false
	}
	if a, ok := w.retries.pop(now); ok {
		w.resume(ctx, a)
		w.settle(a)
		return true
	}
	if t, ok := w.engine.pop(now); ok {
		w.start(ctx, t, now)
		return true
	}
	return false
}

// saw takes in a state of an object.
func (w *worker) saw(s sighting) {
	a := w.actors[s.key]
	switch {
	case s.gone:
		w.forget(s.key)
		return
	case s.left:
		w.leave(s.key)
		return
	case a == nil:
		a = &actor{key: s.key}
		w.actors[s.key] = a
	case a.isOld(s.obj):
		a.left = false
		return // an echo of what our own effects returned, or from before it
	case a.play != nil && a.obj.GetUID() != s.obj.GetUID():
		w.drop(a)
	}
	a.obj, a.left = s.obj, false
	w.look(a)
}

// look looks at the state of an object: whether it is played, and what is to come for it, unless a transition is on its way.
func (w *worker) look(a *actor) {
	if !w.plays(a.obj) {
		w.setAside(a)
		return
	}
	a.aside = false
	if a.play == nil {
		w.observe(a)
	}
}

func (w *worker) plays(obj *unstructured.Unstructured) bool {
	plays := w.player.options.Plays
	return plays == nil || plays(obj)
}

// setAside leaves an object alone until it is played again.
func (w *worker) setAside(a *actor) {
	if !a.aside {
		a.aside = true
		w.drop(a)
		w.engine.Forget(a.key, time.Now())
		w.settle(a)
	}
}

// isOld reports whether a state of the object was looked at already, or is older than one that is known.
func (a *actor) isOld(obj *unstructured.Unstructured) bool {
	v := version(obj)
	return v > 0 && a.obj.GetUID() == obj.GetUID() && (v <= a.seen || v < version(a.obj))
}

// version is the resourceVersion as a number, 0 if it is none. Kubernetes defines its order since 1.35; before, it was so in practice.
func version(obj *unstructured.Unstructured) uint64 { return number(resourceVersion(obj)) }

func number(version string) uint64 {
	n, _ := strconv.ParseUint(version, 10, 64)
	return n
}

func (w *worker) observe(a *actor) {
	a.seen = version(a.obj)
	_ = w.engine.Observe(a.obj, time.Now()) // the only error is a livelock, which the engine traces
}

func (w *worker) forget(k Key) {
	if a := w.actors[k]; a != nil {
		w.drop(a)
		delete(w.actors, k)
	}
	w.engine.Forget(k, time.Now())
}

// leave forgets an object that is not watched any more, once its play has ended.
func (w *worker) leave(k Key) {
	if a := w.actors[k]; a != nil {
		a.left = true
		w.settle(a)
	}
}

// drop gives up the transition that an object is in.
func (w *worker) drop(a *actor) {
	w.retries.remove(a)
	a.play = nil
}

// settle ends the part of an object that is not watched any more, unless its play goes on.
func (w *worker) settle(a *actor) {
	if a.left && a.play == nil {
		w.forget(a.key)
	}
}

// start plays a transition.
func (w *worker) start(ctx context.Context, t Transition, now time.Time) {
	a := w.actors[t.Key]
	if !w.plays(a.obj) {
		w.setAside(a)
		return
	}
	slots, err := t.slots(a.obj, now)
	if err != nil {
		w.failed(t, -1, nil, err)
		return
	}
	a.play = &playing{transition: t, obj: a.obj, slots: slots}
	a.pause = backoff{first: w.player.options.RetryAfter, longest: w.player.options.MaxRetryAfter, hash: hash(t.draws).text("retry")}
	a.stale = false
	w.resume(ctx, a)
}

// resume sends the effects that are left.
func (w *worker) resume(ctx context.Context, a *actor) {
	p := a.play
	for !p.done() {
		e, index := p.slots[p.index], p.index
		if e != nil && !w.plays(a.obj) {
			w.setAside(a)
			return
		}
		err := w.send(ctx, p)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			w.handle(ctx, a, err)
			return
		}
		if e != nil {
			w.trace(TraceEvent{Kind: Effected, Key: a.key, Stage: p.transition.Stage, Due: p.transition.Due, Index: index, Effect: e, NoOp: p.noop})
		}
	}
	w.finish(a)
}

// send carries out the next effect, within the time that one may take: a request that hangs must not stop the worker for good.
func (w *worker) send(ctx context.Context, p *playing) error {
	if p.slots[p.index] == nil {
		p.index++
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, w.player.options.Timeout)
	defer cancel()
	err := p.send(ctx, w.player.transport, time.Now())
	if !p.noop {
		w.outage.note(err, time.Now())
	}
	return err
}

// finish ends a play. The state that the effects left is looked at now if the Stage asks for it, else when its watch event comes;
// states from before it are not looked at any more.
func (w *worker) finish(a *actor) {
	p := a.play
	a.play = nil
	if p.obj == nil || p.released { // its end, or how its finalizers hold it, is still to come; echoes of what was done before are no news
		p.obj, a.seen = a.obj, max(a.seen, number(p.last))
	}
	before, after := version(a.obj), version(p.obj)
	switch {
	case p.changed && p.transition.Immediate():
		a.obj = p.obj
		w.observe(a)
	case after > before:
		a.obj = p.obj
		a.seen = after - 1
	case before > a.seen:
		w.observe(a) // it changed meanwhile
	}
}

func (w *worker) failed(t Transition, index int, e Effect, err error) {
	w.trace(TraceEvent{Kind: Failed, Key: t.Key, Stage: t.Stage, Index: index, Effect: e, Err: err})
}

func (w *worker) trace(e TraceEvent) {
	if trace := w.player.options.Trace; trace != nil {
		e.Time = time.Now()
		trace(e)
	}
}
