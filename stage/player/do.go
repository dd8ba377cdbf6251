package player

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/internal/printable"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// DoOptions of [Do]. The zero value is usable.
type DoOptions struct {
	// Now is the time for templates and Events. The zero Now means the current time.
	Now time.Time
	// Trace is called for each effect, and for the failure that ends the transition. Nil: off.
	Trace func(stage.TraceEvent)
}

// Do plays a transition on obj, the object of the decision, and returns the object after the last
// effect: nil after a [stage.Delete]. It does not send patches that change nothing. Each patch
// requires the version of the object that the previous patch returned.
//
// Do does not retry: the error is a [*stage.Error], or a [*SendError] that names the failed effect.
// Simulators and tests use Do; a [Player] adds retries. Do uses the methods of a writer that is a
// [transport.ValueWriter] or a [transport.Impersonator].
func Do(ctx context.Context, w transport.Writer, t stage.Transition, obj *unstructured.Unstructured, o DoOptions) (*unstructured.Unstructured, error) {
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	trace := func(e stage.TraceEvent) {
		if o.Trace != nil {
			e.Time, e.Key, e.Stage = o.Now, t.Key, t.Stage
			o.Trace(e)
		}
	}
	plan, err := t.Plan(obj, o.Now)
	if err != nil {
		trace(stage.TraceEvent{Kind: stage.TraceFailed, Index: -1, Err: err})
		return obj, err
	}
	p := inFlight{transition: t, obj: obj, plan: plan}
	for !p.done() {
		e, index := p.plan[p.index], p.index
		if err := p.send(ctx, w, o.Now); err != nil {
			trace(stage.TraceEvent{Kind: stage.TraceFailed, Index: index, Effect: e, Err: err})
			return p.obj, err
		}
		if e != nil {
			trace(stage.TraceEvent{Kind: stage.TraceEffected, Due: t.Due, Index: index, Effect: e, NoOp: p.noop})
		}
	}
	return p.obj, nil
}

// SendError says which effect of a transition could not be sent.
type SendError struct {
	Key    stage.Key
	Stage  string
	Index  int // index of the effect in the plan of the transition, see [stage.Transition.Plan]
	Effect stage.Effect
	Err    error
}

// Error prints `kind namespace/name: stage "name": effect: what went wrong`.
func (e *SendError) Error() string {
	return fmt.Sprintf("%s: stage %q: %.200s: %s", e.Key, e.Stage, e.Effect, printable.Error(e.Err))
}

// Unwrap returns Err.
func (e *SendError) Unwrap() error { return e.Err }
