package player

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/internal/listwatch"
	"github.com/stagecraft-go/stagecraft/stage"
)

// onError decides what an error means for the transition in flight.
func (w *worker) onError(ctx context.Context, o *objectState, err error) {
	switch {
	case apierrors.IsConflict(err):
		w.retryAfterConflict(ctx, o, err)
	case transient(err):
		w.retryLater(o, err)
	case apierrors.IsNotFound(err) && o.inFlight.patches():
		w.retryAfterConflict(ctx, o, err)
	default:
		w.giveUp(o, err)
	}
}

// retryLater sends the effect again after a pause. Unless the server refused the effect, it can
// have been applied although the answer was lost, so the transition counts as begun.
func (w *worker) retryLater(o *objectState, err error) {
	p := o.inFlight
	o.conflicted = apierrors.IsConflict(err)
	if !apierrors.IsTooManyRequests(err) && !apierrors.IsConflict(err) {
		p.begun = true
	}
	w.trace(stage.TraceEvent{Kind: stage.TraceEffected, Key: o.key, Stage: p.transition.Stage, Index: p.index, Due: p.transition.Due, Effect: p.plan[p.index], Err: err})
	pause := o.pause.next()
	if unanswered(err) && !errors.Is(err, context.DeadlineExceeded) {
		pause = min(pause, longestOutage)
	}
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		pause = max(pause, time.Duration(seconds)*time.Second)
	}
	w.retries.Set(o, time.Now().Add(pause))
}

func (w *worker) giveUp(o *objectState, err error) {
	p := o.inFlight
	var e stage.Effect
	if p.index < len(p.plan) {
		e = p.plan[p.index]
	}
	w.failed(p.transition, p.index, e, err)
	o.inFlight = nil
	if version(o.obj) > o.observedVersion && !o.gone {
		w.observe(o)
	}
}

// patches reports whether the next effect is a patch of the object.
func (p *inFlight) patches() bool {
	if p.done() {
		return false
	}
	_, ok := p.plan[p.index].(stage.Patch)
	return ok
}

// retryAfterConflict continues with the present state of the object. A conflict means that the
// effect was for an older state, or that it was carried out and its answer lost: by the network, or
// by a proxy that sent it twice. It can also be a mistake of the server, and then the effect is sent
// again as it is, because an earlier request of it can still arrive. The transition is abandoned if
// a new object has the name, or if the Stage no longer matches and no patch of it has changed the
// object: then somebody else has played or changed the object. A transition whose patch has changed
// the object is finished, unless the filter may have excluded the object for a while:
// then another player can have played the object.
func (w *worker) retryAfterConflict(ctx context.Context, o *objectState, conflict error) {
	p := o.inFlight
	obj, err := w.get(ctx, o.key)
	switch {
	case ctx.Err() != nil:
		return
	case apierrors.IsNotFound(err):
		o.gone = true
		if !w.acknowledgeRelease(o) {
			w.giveUp(o, errors.Join(conflict, err))
		}
		return
	case err != nil:
		w.onError(ctx, o, err)
		return
	case obj.GetUID() != p.transition.UID:
		o.obj, o.observedVersion, o.gone = obj, 0, false
		w.giveUp(o, conflict)
		return
	case apierrors.IsNotFound(conflict): // not the object but, for example, its subresource
		w.giveUp(o, conflict)
		return
	}
	o.obj = obj
	switch {
	case w.acknowledge(o):
		w.continueFrom(o, obj)
	case (!p.changed || w.wasRefiltered(p)) && !p.transition.Matches(obj, time.Now()):
		o.inFlight = nil
		w.observe(o)
	case p.obj != nil && version(obj) > 0 && version(obj) == version(p.obj):
		w.pauseAfterConflict(o, conflict)
	case w.rerender(o):
		w.pauseAfterConflict(o, conflict)
	}
}

// wasRefiltered reports whether Refilter was called since the transition began. The filter may have
// excluded the object, and included it again, while the worker waited for an answer.
func (w *worker) wasRefiltered(p *inFlight) bool { return w.player.refilters.Load() != p.refilters }

// acknowledge skips a patch if the object already has its changes. Rendering it again could give
// another result, because the time or the object has changed.
func (w *worker) acknowledge(o *objectState) bool {
	p := o.inFlight
	e, ok := p.plan[p.index].(stage.Patch)
	if !ok || p.obj == nil || !carriedOut(e, p.obj, o.obj) {
		return false
	}
	w.effected(o, e)
	return true
}

// acknowledgeRelease skips a patch that removes the last finalizers of a deleted object, if the
// object is gone, and goes on.
func (w *worker) acknowledgeRelease(o *objectState) bool {
	p := o.inFlight
	if p.done() || p.obj == nil || p.obj.GetDeletionTimestamp() == nil {
		return false
	}
	e, ok := p.plan[p.index].(stage.Patch)
	if !ok || !releases(e, p.obj) {
		return false
	}
	w.effected(o, e)
	p.released = true
	w.retries.Set(o, time.Now())
	return true
}

func releases(p stage.Patch, obj *unstructured.Unstructured) bool {
	after, err := p.Result(obj)
	fields, _ := after.(map[string]any)
	return err == nil && len((&unstructured.Unstructured{Object: fields}).GetFinalizers()) == 0
}

// effected records that the next effect was carried out by a request whose answer was lost.
func (w *worker) effected(o *objectState, e stage.Effect) {
	p := o.inFlight
	w.trace(stage.TraceEvent{Kind: stage.TraceEffected, Key: o.key, Stage: p.transition.Stage, Due: p.transition.Due, Index: p.index, Effect: e})
	p.begun, p.changed, o.conflicted = true, true, false
	p.index++
}

// continueFrom sends the next effect, if any, for the present state.
func (w *worker) continueFrom(o *objectState, obj *unstructured.Unstructured) {
	o.inFlight.obj = obj
	if o.inFlight.done() || w.rerender(o) {
		w.retries.Set(o, time.Now())
	}
}

func (w *worker) get(ctx context.Context, k stage.Key) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, w.player.options.Timeout)
	defer cancel()
	obj, err := listwatch.Guard(func() (*unstructured.Unstructured, error) {
		return w.player.transport.Get(ctx, k.GroupVersionKind(), k.NamespacedName())
	})
	if err == nil {
		err = answers(obj, k, "")
	}
	w.outage.note(err, time.Now())
	return obj, err
}

// rerender renders the remaining effects for the present state. It gives up if that fails.
func (w *worker) rerender(o *objectState) bool {
	p := o.inFlight
	plan, err := p.transition.Plan(o.obj, time.Now())
	if err != nil {
		w.giveUp(o, err)
		return false
	}
	p.obj, p.plan = o.obj, plan
	return true
}

// pauseAfterConflict sends the next effect, at once after the first conflict, which is normal:
// another client was faster, or an answer was lost.
func (w *worker) pauseAfterConflict(o *objectState, conflict error) {
	if !o.conflicted {
		o.conflicted = true
		w.retries.Set(o, time.Now())
		return
	}
	w.retryLater(o, conflict)
}
