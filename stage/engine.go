package stage

import (
	"cmp"
	"fmt"
	"iter"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/expression"
	"github.com/stagecraft-go/stagecraft/internal/random"
	"github.com/stagecraft-go/stagecraft/internal/timequeue"
)

// EngineOptions of [NewEngine]. The zero value is usable.
type EngineOptions struct {
	// Seed decides all draws, together with the values that the package comment lists.
	Seed uint64
	// Trace is called for every event, on the goroutine that uses the Engine.
	Trace func(TraceEvent)
	// LivelockLimit is the number of transitions that one object may make within LivelockWindow.
	// After more transitions the Engine parks the object as a livelock: it plays no Stage on the
	// object until the object changes. Default 100.
	LivelockLimit int
	// LivelockWindow is the time within which transitions count towards LivelockLimit. Default 0:
	// only transitions at the same instant count, which suits virtual time.
	LivelockWindow time.Duration
}

// An Engine schedules transitions. The caller passes the states of objects, and the Engine says
// which Stage is due, and when. It has no clock, no goroutine and no I/O. It keeps keys and due
// times, but no objects.
//
// This loop drives an Engine:
//
//	for at, ok := e.NextDue(); ok; at, ok = e.NextDue() {
//		now = at // or wait until then
//		for t := range e.Due(now) {
//			effects, err := t.Effects(objects[t.Key], now)
//			…                                       // carry them out, and put what became of the object into objects
//			if obj := objects[t.Key]; obj != nil {
//				err = e.Observe(obj, now)
//			} else {
//				e.Forget(t.Key, now)
//			}
//		}
//	}
//
// An Engine must not be used from several goroutines at once.
type Engine struct {
	set     *Set
	options EngineOptions
	records map[Key]*record
	queue   timequeue.Queue[*record]
	choices []choice // buffer of Observe
}

// A record is the engine's memory of one object.
type record struct {
	timequeue.Timer // in the queue while a Stage is pending
	key             Key
	uid             types.UID
	hash            random.Hash
	next            uint64 // number of the next entry

	// The pending Stage; nil without one.
	stage   *compiled
	draws   draws
	random  uint64
	entered time.Time

	// The guard against livelocks.
	windowStart time.Time // time of the first counted transition
	count       int
	parked      bool
	version     string // resourceVersion at which the object was parked
}

// NewEngine returns an engine without objects.
func NewEngine(s *Set, o EngineOptions) *Engine {
	o.LivelockLimit = cmp.Or(o.LivelockLimit, 100)
	return &Engine{set: s, options: o, records: map[Key]*record{}}
}

// Observe takes the present state of an object. The object enters a Stage, stays in the Stage that
// it entered before, or leaves this Stage.
//
// While the chosen Stage can still be played, the choice, the time of entry and the random number
// stay. Observe computes the due time from them again. A transition that [Engine.Due] returned has
// ended its entry. An object with another UID is a new object.
//
// The only error is [ErrLivelock]. Observe ignores an object of a kind without Stages. It forgets
// an object that is being deleted and has no finalizer or grace period left. Observe neither
// changes nor keeps obj.
func (e *Engine) Observe(obj *unstructured.Unstructured, now time.Time) error {
	k := e.set.kindOf(obj)
	if k == nil {
		return nil
	}
	if leaves(obj) {
		e.Forget(KeyOf(obj), now)
		return nil
	}
	r := e.record(k, obj, now)
	version := resourceVersion(obj)
	e.trace(TraceEvent{Time: now, Kind: TraceObserved, Key: r.key, ResourceVersion: version})
	if r.parked && r.version == version && (version != "" || e.withinWindow(r, now)) {
		return nil
	}
	if r.parked {
		r.parked, r.count = false, 0
	}
	e.evaluate(r, k, obj, now)
	if e.livelocked(r, now) {
		return e.park(r, version, now)
	}
	return nil
}

// leaves reports whether this is the last state of an object that is being deleted: it has no
// finalizer or grace period left, and the API server removes it at once. A Stage for deletion would
// match this state once more.
func leaves(obj *unstructured.Unstructured) bool {
	metadata := metadataOf(obj)
	return metadata["deletionTimestamp"] != nil && metadata["deletionGracePeriodSeconds"] == int64(0) &&
		len(obj.GetFinalizers()) == 0 && obj.GetDeletionTimestamp() != nil
}

// Forget drops an object and its pending transition. It reports whether the Engine knew the object.
func (e *Engine) Forget(k Key, now time.Time) bool {
	r := e.records[k]
	if r == nil {
		return false
	}
	e.cancel(r, now)
	delete(e.records, k)
	e.trace(TraceEvent{Time: now, Kind: TraceForgotten, Key: k})
	return true
}

// Len returns the number of objects that the engine knows. Pending returns the number of objects
// with a pending transition.
func (e *Engine) Len() int     { return len(e.records) }
func (e *Engine) Pending() int { return e.queue.Len() }

// NextDue returns the earliest time at which a transition is due. It returns false without a
// pending transition.
func (e *Engine) NextDue() (time.Time, bool) { return e.queue.Next() }

// Upcoming returns the transition that is due first, as a TraceEvent of the kind TraceScheduled.
// The event has no weight and no random number; its Time is the time of the entry. Upcoming returns
// false without a pending transition.
func (e *Engine) Upcoming() (TraceEvent, bool) {
	r, ok := e.queue.First()
	if !ok {
		return TraceEvent{}, false
	}
	return TraceEvent{Time: r.entered, Kind: TraceScheduled, Key: r.key, Stage: r.stage.name, N: r.next - 1, Due: r.At()}, true
}

// Due removes the transitions that are due at the time now from the engine and returns them by due
// time; equal times in the order of scheduling. A transition that becomes due during the iteration
// is included.
func (e *Engine) Due(now time.Time) iter.Seq[Transition] {
	return func(yield func(Transition) bool) {
		for {
			t, ok := e.pop(now)
			if !ok || !yield(t) {
				return
			}
		}
	}
}

func (e *Engine) pop(now time.Time) (Transition, bool) {
	r, ok := e.queue.Pop(now)
	if !ok {
		return Transition{}, false
	}
	t := r.transition(e.set)
	r.stage = nil
	if !e.withinWindow(r, now) {
		r.windowStart, r.count = now, 0
	}
	r.count++
	e.trace(TraceEvent{Time: now, Kind: TracePlayed, Key: t.Key, Stage: t.Stage, N: t.N, Due: t.Due})
	return t, true
}

// record returns the record of an object. It makes a record for a new object.
func (e *Engine) record(k *kind, obj *unstructured.Unstructured, now time.Time) *record {
	key, uid := k.identify(obj)
	r := e.records[key]
	switch {
	case r == nil:
		r = new(record)
		e.records[key] = r
	case r.uid == uid:
		return r
	default:
		e.cancel(r, now)
	}
	*r = record{key: key, uid: uid, hash: k.identity(e.options.Seed, obj, now)}
	return r
}

// evaluate updates the record from the object.
func (e *Engine) evaluate(r *record, k *kind, obj *unstructured.Unstructured, now time.Time) {
	d := r.draws // of the present entry
	if r.stage == nil {
		d = entry(r.hash, r.next)
	}
	scope := e.set.scope(obj, now)
	defer e.set.release(scope)
	w := k.match(scope, d, e.choices)
	e.choices = w.choices
	if len(w.choices) > 1 {
		w.weigh(scope)
	}
	switch {
	case r.stage != nil && w.has(r.stage):
		e.schedule(r, scope)
	case len(w.choices) == 0:
		e.cancel(r, now)
	default:
		e.cancel(r, now)
		e.enter(r, &w, scope)
	}
}

// enter draws a Stage and a random number for its delay.
func (e *Engine) enter(r *record, w *weightedChoice, scope *expression.Scope) {
	r.draws = entry(r.hash, r.next)
	r.next++
	r.stage = w.choose(r.draws.choice())
	r.random = r.draws.delay(r.stage.name)
	r.entered = scope.Now
	e.schedule(r, scope)
	if e.options.Trace != nil {
		e.trace(TraceEvent{Time: scope.Now, Kind: TraceScheduled, Key: r.key, Stage: r.stage.name, N: r.next - 1, Due: r.At(), Weight: r.weight(scope), Random: r.random})
	}
}

// schedule computes the due time from the time of entry. A delay that the object gives as a time
// means this time, no matter when it is read.
func (e *Engine) schedule(r *record, scope *expression.Scope) {
	scope.Now = r.entered
	due := dueTime(r.entered, r.stage.delays(scope, r.draws).Pick(r.random))
	if !r.Queued() || !r.At().Equal(due) {
		e.queue.Set(r, due)
	}
}

func (e *Engine) cancel(r *record, now time.Time) {
	if r.stage == nil {
		return
	}
	e.queue.Remove(r)
	e.trace(TraceEvent{Time: now, Kind: TraceCancelled, Key: r.key, Stage: r.stage.name})
	r.stage = nil
}

// livelocked reports whether the object has made LivelockLimit transitions within the window and
// another one is due within it.
func (e *Engine) livelocked(r *record, now time.Time) bool {
	return r.stage != nil && !r.At().After(now) && r.count >= e.options.LivelockLimit && e.withinWindow(r, now)
}

func (e *Engine) withinWindow(r *record, now time.Time) bool {
	return now.Sub(r.windowStart) <= e.options.LivelockWindow
}

func (e *Engine) park(r *record, version string, now time.Time) error {
	err := fmt.Errorf("%s: stage %q: %w", r.key, r.stage.name, ErrLivelock)
	e.trace(TraceEvent{Time: now, Kind: TraceFailed, Key: r.key, Stage: r.stage.name, Err: err})
	e.queue.Remove(r)
	r.stage = nil
	r.parked, r.version = true, version
	return err
}

func (e *Engine) trace(t TraceEvent) {
	if e.options.Trace != nil {
		e.options.Trace(t)
	}
}

func (r *record) transition(s *Set) Transition {
	return Transition{
		Key: r.key, UID: r.uid, Stage: r.stage.name, N: r.next - 1, Entered: r.entered, Due: r.At(), Random: r.random,
		set: s, stage: r.stage, draws: r.draws,
	}
}

// weight returns the weight of the pending Stage for the trace, or -1 without a weight.
func (r *record) weight(scope *expression.Scope) int64 {
	if w := r.stage.weight.Evaluate(scope); w.Given {
		return w.Value
	}
	return -1
}
