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
		p.begun, p.unconfirmed = true, true
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
	if version(o.obj) > o.observedVersion {
		w.observe(o)
	}
}

// retryAfterConflict continues with the present state of the object, because an effect was for an
// older state. It abandons the transition if a new object has the name, or if the Stage no longer
// matches and nothing was sent yet. A transition that has begun is finished.
func (w *worker) retryAfterConflict(ctx context.Context, o *objectState, conflict error) {
	p := o.inFlight
	obj, err := w.get(ctx, o.key)
	switch {
	case ctx.Err() != nil:
		return
	case apierrors.IsNotFound(err):
		w.giveUp(o, errors.Join(conflict, err))
		return
	case err != nil:
		w.onError(ctx, o, err)
		return
	case obj.GetUID() != p.transition.UID:
		w.giveUp(o, conflict)
		return
	}
	o.obj = obj
	if !p.begun && !p.transition.Matches(obj, time.Now()) {
		o.inFlight = nil
		w.observe(o)
		return
	}
	w.acknowledge(o)
	w.rerender(o, conflict)
}

// acknowledge skips an effect whose answer was lost if the object already has its changes.
// Rendering the effect again could give another result, because the time has changed.
func (w *worker) acknowledge(o *objectState) {
	p := o.inFlight
	e, ok := p.plan[p.index].(stage.Patch)
	if !ok || !p.unconfirmed {
		return
	}
	p.unconfirmed = false
	if !carriedOut(e, o.obj) {
		return
	}
	w.trace(stage.TraceEvent{Kind: stage.TraceEffected, Key: o.key, Stage: p.transition.Stage, Due: p.transition.Due, Index: p.index, Effect: e})
	p.changed = true
	p.index++
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

// rerender renders the remaining effects for the present state.
func (w *worker) rerender(o *objectState, conflict error) {
	p := o.inFlight
	plan, err := p.transition.Plan(o.obj, time.Now())
	if err != nil {
		w.giveUp(o, err)
		return
	}
	p.obj, p.plan = o.obj, plan
	if !o.conflicted { // the first conflict is normal: another client was faster, or an answer was lost
		o.conflicted = true
		w.retries.Set(o, time.Now())
		return
	}
	w.retryLater(o, conflict)
}
