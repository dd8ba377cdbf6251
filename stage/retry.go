package stage

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// handle decides what an error means for the play.
func (w *worker) handle(ctx context.Context, a *actor, err error) {
	switch {
	case apierrors.IsConflict(err):
		w.retryOn(ctx, a, err)
	case transient(err):
		w.retryLater(a, err)
	default:
		w.giveUp(a, err)
	}
}

// retryLater sends the effect again after a pause. Unless it was refused, it may have been carried out although the answer was lost, so that the
// transition counts as begun.
func (w *worker) retryLater(a *actor, err error) {
	p := a.play
	a.stale = apierrors.IsConflict(err)
	if !apierrors.IsTooManyRequests(err) && !apierrors.IsConflict(err) {
		p.begun, p.doubtful = true, true
	}
	w.trace(TraceEvent{Kind: Effected, Key: a.key, Stage: p.transition.Stage, Index: p.index, Due: p.transition.Due, Effect: p.slots[p.index], Err: err})
	pause := a.pause.next()
	if unanswered(err) && !errors.Is(err, context.DeadlineExceeded) {
		pause = min(pause, longestOutage)
	}
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		pause = max(pause, time.Duration(seconds)*time.Second)
	}
	w.retries.set(a, time.Now().Add(pause))
}

func (w *worker) giveUp(a *actor, err error) {
	p := a.play
	var e Effect
	if p.index < len(p.slots) {
		e = p.slots[p.index]
	}
	w.failed(p.transition, p.index, e, err)
	a.play = nil
	if version(a.obj) > a.seen {
		w.observe(a)
	}
}

// retryOn goes on with the present state of the object, because an effect was for a state that has passed. If the object is another one
// by now, or the Stage no longer matches before anything was sent, the transition is dropped; one that has begun is finished.
func (w *worker) retryOn(ctx context.Context, a *actor, conflict error) {
	p := a.play
	obj, err := w.get(ctx, a.key)
	switch {
	case ctx.Err() != nil:
		return
	case apierrors.IsNotFound(err):
		w.giveUp(a, errors.Join(conflict, err))
		return
	case err != nil:
		w.handle(ctx, a, err)
		return
	case obj.GetUID() != p.transition.UID:
		w.giveUp(a, conflict)
		return
	}
	a.obj = obj
	if !p.begun && !p.transition.matches(obj, time.Now()) {
		a.play = nil
		w.observe(a)
		return
	}
	w.acknowledge(a)
	w.rerender(a, conflict)
}

// acknowledge takes an effect for carried out whose answer was lost, if the object is as the effect would leave it: rendered anew, it may differ by the time.
func (w *worker) acknowledge(a *actor) {
	p := a.play
	e, ok := p.slots[p.index].(Patch)
	if !ok || !p.doubtful {
		return
	}
	p.doubtful = false
	if !e.carriedOut(a.obj) {
		return
	}
	w.trace(TraceEvent{Kind: Effected, Key: a.key, Stage: p.transition.Stage, Due: p.transition.Due, Index: p.index, Effect: e})
	p.changed = true
	p.index++
}

func (w *worker) get(ctx context.Context, k Key) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, w.player.options.Timeout)
	defer cancel()
	obj, err := w.player.transport.Get(ctx, k.GroupVersionKind(), k.NamespacedName())
	if err == nil && obj == nil {
		err = errNoResult
	}
	w.outage.note(err, time.Now())
	return obj, err
}

// rerender prepares the effects that are left for the present state.
func (w *worker) rerender(a *actor, conflict error) {
	p := a.play
	slots, err := p.transition.slots(a.obj, time.Now())
	if err != nil {
		w.giveUp(a, err)
		return
	}
	p.obj, p.slots = a.obj, slots
	if !a.stale { // no sign of trouble: somebody else was faster, or an answer to ourselves was lost
		a.stale = true
		w.retries.set(a, time.Now())
		return
	}
	w.retryLater(a, conflict)
}

// matches reports whether the Stage still matches the object.
func (t Transition) matches(obj *unstructured.Unstructured, now time.Time) bool {
	scope := t.set.scope(obj, now)
	defer t.set.release(scope)
	return t.stage.matches(scope, t.draws)
}
