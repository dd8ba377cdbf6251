package player

import (
	"context"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/internal/listwatch"
	"github.com/stagecraft-go/stagecraft/internal/random"
	"github.com/stagecraft-go/stagecraft/internal/timequeue"
	"github.com/stagecraft-go/stagecraft/stage"
)

// A worker plays the objects whose keys hash to it. Only one goroutine uses its fields.
type worker struct {
	player  *Player
	inbox   *mailbox
	engine  *stage.Engine
	objects map[stage.Key]*objectState
	retries timequeue.Queue[*objectState]
	outage  outage
	counts  struct{ objects, pending, retrying atomic.Int64 } // for others to read
}

// objectState has what a worker knows about one object.
type objectState struct {
	timequeue.Timer // in the queue of retries while an effect waits to be sent again
	key             stage.Key
	obj             *unstructured.Unstructured // the newest state known
	observedVersion uint64                     // resourceVersion of the state that the engine saw last; 0 if it has none
	inFlight        *inFlight                  // the transition whose effects are being sent; nil without one
	isPlayed        bool                       // the filter includes the object, and its kind has been listed since
	since           int64                      // the number of Refilters when the filter began to include the object; 0 if it is played or excluded
	unwatched       bool                       // no longer watched: the object is forgotten when its transition ends
	pause           backoff
	conflicted      bool // the last failure was a conflict
	gone            bool // a request found that it no longer exists; the watch has not said so yet
}

func newWorker(p *Player, s *stage.Set, number uint64) *worker {
	o := p.options
	pause := backoff{first: o.RetryAfter, longest: min(o.MaxRetryAfter, longestOutage), hash: random.New(o.Seed).Text("outage").Number(number)}
	return &worker{
		player:  p,
		inbox:   newMailbox(),
		engine:  stage.NewEngine(s, stage.EngineOptions{Seed: o.Seed, Trace: o.Trace, LivelockLimit: o.LivelockLimit, LivelockWindow: o.LivelockWindow}),
		objects: map[stage.Key]*objectState{},
		outage:  outage{pause: pause},
	}
}

// run works until ctx is done. It reads all observations that have arrived before it plays a due
// transition.
func (w *worker) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		w.read(ctx, w.inbox.take())
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

// read handles the content of the mailbox. It ends when ctx is done, even before the last
// observation, because each observation can take as long as the limits of its expressions allow.
func (w *worker) read(ctx context.Context, p mail) {
	if p.set != nil {
		w.use(ctx, p.set)
	}
	for _, s := range p.observations {
		if ctx.Err() != nil {
			return
		}
		w.receive(s)
	}
	if p.refilter {
		w.refilter(ctx)
	}
}

func (w *worker) count() {
	w.counts.objects.Store(int64(w.engine.Len()))
	w.counts.pending.Store(int64(w.engine.Pending()))
	w.counts.retrying.Store(int64(w.retries.Len()))
}

// wait returns the time until the next transition or retry is due.
func (w *worker) wait(now time.Time) time.Duration {
	d := time.Hour
	if at, ok := w.engine.NextDue(); ok {
		d = min(d, at.Sub(now))
	}
	if at, ok := w.retries.Next(); ok {
		d = min(d, at.Sub(now))
	}
	return max(d, w.outage.until.Sub(now))
}

// step plays one due transition or sends one due effect, if any.
func (w *worker) step(ctx context.Context, now time.Time) bool {
	if now.Before(w.outage.until) {
		return false
	}
	if o, ok := w.retries.Pop(now); ok {
		w.resume(ctx, o)
		w.forgetIfUnwatched(o)
		return true
	}
	for t := range w.engine.Due(now) {
		w.start(ctx, t, now)
		return true
	}
	return false
}

// receive handles a new state of an object.
func (w *worker) receive(s observation) {
	o := w.objects[s.key]
	if s.again { // the cluster was restored from a backup
		w.forget(s.key)
		o = nil
	}
	switch {
	case s.gone:
		w.receiveDeletion(s, o)
		return
	case s.unwatched:
		w.unwatch(s.key)
		return
	case o == nil:
		o = &objectState{key: s.key}
		w.objects[s.key] = o
	case o.isOld(s.obj):
		o.unwatched = false
		return // the watch event of our own effect, or of an earlier change
	case o.inFlight != nil && o.obj.GetUID() != s.obj.GetUID():
		w.abandon(o)
	}
	o.obj, o.unwatched, o.gone = s.obj, false, false
	w.consider(o)
}

// receiveDeletion forgets an object, unless a newer one is known. If the object went because of an effect
// whose answer was lost, the effects that follow are sent first.
func (w *worker) receiveDeletion(s observation, o *objectState) {
	switch {
	case o != nil && o.isSucceeded(s.obj):
	case o != nil && o.inFlight != nil && o.inFlight.begun && w.acknowledgeRelease(o):
		o.gone, o.unwatched = true, true
	default:
		w.forget(s.key)
	}
}

// consider calls the filter for an object. If the object is played and no transition is in flight,
// the engine observes it.
func (w *worker) consider(o *objectState) {
	if !w.included(o.obj) {
		w.exclude(o)
		return
	}
	if !o.isPlayed && !w.takeUp(o) {
		return
	}
	if o.inFlight == nil {
		w.observe(o)
	}
}

func (w *worker) included(obj *unstructured.Unstructured) bool {
	filter := w.player.options.Filter
	return filter == nil || filter(obj)
}

// takeUp begins to play an object. Until its kind has been listed since the last Refilter it returns
// false: another player may have played the object, and others of its Node, until then.
func (w *worker) takeUp(o *objectState) bool {
	if refilters := w.player.refilters.Load(); o.since == 0 && refilters > 0 {
		o.since = refilters
	}
	if o.since > 0 {
		if of := w.player.watcherOf(o.key.GroupVersionKind()); of != nil && !of.isFresh(o.since) {
			return false
		}
	}
	o.isPlayed, o.since = true, 0
	return true
}

// exclude stops playing an object until the filter includes it again.
func (w *worker) exclude(o *objectState) {
	o.since = 0
	if o.isPlayed {
		o.isPlayed = false
		w.abandon(o)
		w.engine.Forget(o.key, time.Now())
		w.forgetIfUnwatched(o)
	}
}

// isOld reports whether the engine has already seen this state of the object, or it is known that the
// object has changed since, or is gone.
func (o *objectState) isOld(obj *unstructured.Unstructured) bool {
	v := version(obj)
	return v > 0 && (v < version(o.obj) || o.obj.GetUID() == obj.GetUID() && (o.gone || v <= o.observedVersion))
}

// isSucceeded reports whether a newer object of the name is known: a request told of it before the
// watch did.
func (o *objectState) isSucceeded(obj *unstructured.Unstructured) bool {
	return o.obj.GetUID() != obj.GetUID() && version(obj) < version(o.obj)
}

func version(obj *unstructured.Unstructured) uint64 {
	return listwatch.Version(obj.GetResourceVersion())
}

func (w *worker) observe(o *objectState) {
	o.observedVersion = version(o.obj)
	_ = w.engine.Observe(o.obj, time.Now()) // the only error is a livelock, which the engine traces
}

func (w *worker) forget(k stage.Key) {
	if o := w.objects[k]; o != nil {
		w.abandon(o)
		delete(w.objects, k)
	}
	w.engine.Forget(k, time.Now())
}

// unwatch forgets an object that is no longer watched, once its transition has ended.
func (w *worker) unwatch(k stage.Key) {
	if o := w.objects[k]; o != nil {
		o.unwatched = true
		w.forgetIfUnwatched(o)
	}
}

// abandon gives up the transition that is in flight.
func (w *worker) abandon(o *objectState) {
	w.retries.Remove(o)
	o.inFlight = nil
}

// forgetIfUnwatched forgets an object that is no longer watched, unless a transition is in flight.
func (w *worker) forgetIfUnwatched(o *objectState) {
	if o.unwatched && o.inFlight == nil {
		w.forget(o.key)
	}
}

// start plays a transition.
func (w *worker) start(ctx context.Context, t stage.Transition, now time.Time) {
	o := w.objects[t.Key]
	refilters := w.player.refilters.Load() // before the filter decides
	if !w.included(o.obj) {
		w.exclude(o)
		return
	}
	plan, err := t.Plan(o.obj, now)
	if err != nil {
		w.failed(t, -1, nil, err)
		return
	}
	o.inFlight = &inFlight{transition: t, obj: o.obj, plan: plan, refilters: refilters}
	o.pause = backoff{first: w.player.options.RetryAfter, longest: w.player.options.MaxRetryAfter, hash: random.Hash(t.Seed()).Text("retry")}
	o.conflicted = false
	w.resume(ctx, o)
}

// resume sends the remaining effects.
func (w *worker) resume(ctx context.Context, o *objectState) {
	p := o.inFlight
	for !p.done() {
		e, index := p.plan[p.index], p.index
		if e != nil && !w.included(o.obj) {
			w.exclude(o)
			return
		}
		err := w.send(ctx, p)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			w.onError(ctx, o, err)
			return
		}
		if e != nil {
			w.trace(stage.TraceEvent{Kind: stage.TraceEffected, Key: o.key, Stage: p.transition.Stage, Due: p.transition.Due, Index: index, Effect: e, NoOp: p.noop})
		}
	}
	w.finish(o)
}

// send sends the next effect within the timeout, so that a request without an answer does not stop
// the worker.
func (w *worker) send(ctx context.Context, p *inFlight) error {
	if p.plan[p.index] == nil {
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

// finish ends a transition. If the Stage has immediateNextStage, the engine observes the state
// after the effects now; otherwise it does so when the watch event comes. The engine does not
// observe older states any more.
func (w *worker) finish(o *objectState) {
	p := o.inFlight
	o.inFlight = nil
	if p.obj == nil || p.released { // the watch will say that the object is gone, or that finalizers keep it
		p.obj, o.observedVersion = o.obj, max(o.observedVersion, listwatch.Version(p.last))
	}
	before, after := version(o.obj), version(p.obj)
	switch {
	case p.changed && p.transition.Immediate():
		o.obj = p.obj
		w.observe(o)
	case after > before:
		o.obj = p.obj
		o.observedVersion = after - 1
	case before > o.observedVersion && !o.gone:
		w.observe(o) // it changed meanwhile
	}
}

func (w *worker) failed(t stage.Transition, index int, e stage.Effect, err error) {
	w.trace(stage.TraceEvent{Kind: stage.TraceFailed, Key: t.Key, Stage: t.Stage, Index: index, Effect: e, Err: err})
}

func (w *worker) trace(e stage.TraceEvent) {
	if trace := w.player.options.Trace; trace != nil {
		e.Time = time.Now()
		trace(e)
	}
}
