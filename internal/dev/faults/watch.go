package faults

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// A faultyWatch passes the events of a watch on, until it ends some time.
type faultyWatch struct {
	real    watch.Interface
	dice    *Dice
	events  chan watch.Event
	once    sync.Once
	stopped chan struct{}
}

func (w *faultyWatch) Stop()                          { w.once.Do(func() { close(w.stopped) }) }
func (w *faultyWatch) ResultChan() <-chan watch.Event { return w.events }

func (w *faultyWatch) run(ctx context.Context) {
	defer w.real.Stop()
	defer close(w.events)
	end := time.NewTimer(w.dice.Life())
	defer end.Stop()
	stalled := w.dice.Strike(Stalled) != ""
	var last watch.Event
	for {
		select {
		case <-end.C:
			return
		case <-w.stopped:
			return
		case <-ctx.Done():
			return
		case e, open := <-w.real.ResultChan():
			if !open || !stalled && !w.pass(ctx, e, last) {
				return
			}
			if e.Type != watch.Bookmark {
				last = e
			}
		}
	}
}

// pass passes an event on, after the last one. It is false if the watch ends.
func (w *faultyWatch) pass(ctx context.Context, e, last watch.Event) bool {
	switch w.dice.Strike(Repeated, Old, Expired, Closed, Delayed, Broken) {
	case Repeated:
		return w.put(ctx, e) && w.put(ctx, e)
	case Old:
		return w.put(ctx, e) && (!sameObject(last, e) || w.put(ctx, last))
	case Expired:
		w.put(ctx, failed(410, metav1.StatusReasonExpired))
		return false
	case Closed:
		return false
	case Delayed:
		return sleep(ctx, w.dice.millis(2000)) == nil && w.put(ctx, e)
	case Broken:
		w.put(ctx, failed(500, metav1.StatusReasonInternalError))
		return false
	}
	return w.put(ctx, e)
}

// sameObject reports whether two events are of one object that exists.
func sameObject(a, b watch.Event) bool {
	x, ok := a.Object.(*object)
	y, alsoOK := b.Object.(*object)
	return ok && alsoOK && x.GetUID() == y.GetUID() && a.Type != watch.Deleted && b.Type != watch.Deleted
}

func failed(code int32, reason metav1.StatusReason) watch.Event {
	return watch.Event{Type: watch.Error, Object: &metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason}}
}

func (w *faultyWatch) put(ctx context.Context, e watch.Event) bool {
	select {
	case w.events <- e:
		return true
	case <-w.stopped:
	case <-ctx.Done():
	}
	return false
}
