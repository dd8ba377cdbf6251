package record

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/resources"
)

// Options of [New]. The zero value discards all records.
type Options struct {
	// Seed is the seed of the simulation. It becomes part of the seed paths.
	Seed uint64
	// Sink is called with each record. Observe returns its error.
	Sink func(Record) error
	// States return the state of objects of a kind, instead of [StateOf]. They must depend only on
	// the object and must not change it.
	States map[schema.GroupKind]func(*unstructured.Unstructured) string
	// WatchDelay is the longest time between a played Stage and its watch events. Default 0: at the
	// same time, as in virtual time.
	WatchDelay time.Duration
}

// A Recorder makes records of watch events. It is safe for concurrent use.
type Recorder struct {
	options Options
	mu      sync.Mutex
	objects map[stage.Key]*lastSeen
	played  map[stage.Key]*playedStage
	sweep   int // number of played Stages at which old ones are dropped
}

// A lastSeen is the last record of an object.
type lastSeen struct {
	last    Record
	amounts resources.Amounts
}

// A playedStage is a Stage that was played and whose watch events are expected.
type playedStage struct {
	stage  string
	n      uint64
	at     time.Time
	writes int // writes that it made, as far as is known
	seen   int // watch events of those writes
}

// New returns a recorder without observations.
func New(o Options) *Recorder {
	if o.Sink == nil {
		o.Sink = func(Record) error { return nil }
	}
	return &Recorder{options: o, objects: map[stage.Key]*lastSeen{}, played: map[stage.Key]*playedStage{}, sweep: 1024}
}

// A Simulation is what a recorder can observe. *simulation.Simulation implements it.
type Simulation interface {
	Now() time.Time
	On(kind schema.GroupVersionKind, do func(context.Context, watch.Event) error) error
}

// Follow records everything that happens to the objects of some kinds from now on, and the objects
// that exist now. It returns an error for a kind that the cluster does not know. An error of the
// Sink ends the run.
func (r *Recorder) Follow(s Simulation, kinds ...schema.GroupVersionKind) error {
	for _, kind := range kinds {
		if err := s.On(kind, func(_ context.Context, e watch.Event) error { return r.Observe(e, s.Now()) }); err != nil {
			return err
		}
	}
	return nil
}

// Trace records which Stages are played, so that records can name the Stage that changed an object.
// Use it as Options.Trace of a simulation or a Player. Without it, records name no Stage.
func (r *Recorder) Trace(e stage.TraceEvent) {
	switch e.Kind {
	case stage.TracePlayed:
		r.mu.Lock()
		defer r.mu.Unlock()
		r.dropOldCauses(e.Time)
		r.played[e.Key] = &playedStage{stage: e.Stage, n: e.N, at: e.Time}
	case stage.TraceEffected:
		r.mu.Lock()
		defer r.mu.Unlock()
		if c := r.played[e.Key]; c != nil && c.stage == e.Stage && writes(e) {
			c.writes++
		}
	}
}

// writes reports whether an effect changes an object.
func writes(e stage.TraceEvent) bool {
	_, event := e.Effect.(stage.Event)
	return !event && !e.NoOp && e.Err == nil
}

// dropOldCauses sometimes forgets played Stages whose watch events are overdue.
func (r *Recorder) dropOldCauses(now time.Time) {
	if len(r.played) < r.sweep {
		return
	}
	for key, c := range r.played {
		if now.Sub(c.at) > r.options.WatchDelay {
			delete(r.played, key)
		}
	}
	r.sweep = 2*len(r.played) + 1024
}

// Observe records a watch event that happened, or was received, at the time now. It returns an
// ERROR event as an error, and it returns the error of the Sink. It ignores events that are not
// about an object.
func (r *Recorder) Observe(e watch.Event, now time.Time) error {
	if e.Type == watch.Error {
		return fmt.Errorf("record: %w", apierrors.FromObject(e.Object))
	}
	obj, ok := e.Object.(*unstructured.Unstructured)
	if !ok || e.Type == watch.Bookmark {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	key := stage.KeyOf(obj)
	if err := r.endReplaced(key, obj, now); err != nil {
		return err
	}
	if e.Type == watch.Deleted {
		return r.deleted(key, obj, now)
	}
	return r.observeState(key, obj, now)
}

// Sync records a list of all objects of a kind, as before a watch, or after a watch that has
// expired. Objects that are not in the list any more are recorded as Deleted, in the order of their
// names; the others are observed.
func (r *Recorder) Sync(kind schema.GroupVersionKind, all []unstructured.Unstructured, now time.Time) error {
	if err := r.recordMissing(kind, all, now); err != nil {
		return err
	}
	for i := range all {
		if err := r.Observe(watch.Event{Type: watch.Added, Object: &all[i]}, now); err != nil {
			return err
		}
	}
	return nil
}

// recordMissing records the end of the objects of a kind that do not exist any more.
func (r *Recorder) recordMissing(kind schema.GroupVersionKind, all []unstructured.Unstructured, now time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	there := make(map[stage.Key]bool, len(all))
	for i := range all {
		there[stage.KeyOf(&all[i])] = true
	}
	var gone []stage.Key
	for key := range r.objects {
		if key.GroupVersionKind() == kind && !there[key] {
			gone = append(gone, key)
		}
	}
	slices.SortFunc(gone, func(a, b stage.Key) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for _, key := range gone {
		if err := r.end(key, r.objects[key].last, now); err != nil {
			return err
		}
	}
	return nil
}

// endReplaced records the end of an object if another one has its name now and the watch did not
// report the deletion.
func (r *Recorder) endReplaced(key stage.Key, obj *unstructured.Unstructured, now time.Time) error {
	k := r.objects[key]
	if k == nil || k.last.UID == string(obj.GetUID()) {
		return nil
	}
	return r.end(key, k.last, now)
}

func (r *Recorder) deleted(key stage.Key, obj *unstructured.Unstructured, now time.Time) error {
	if r.objects[key] == nil {
		return nil // it was not seen when it was there
	}
	last := r.record(key, obj)
	last.Amounts = nil
	return r.end(key, last, now)
}

func (r *Recorder) end(key stage.Key, last Record, now time.Time) error {
	last.From, last.To, last.Amounts = r.objects[key].last.To, Deleted, nil
	r.attribute(&last, key, now)
	delete(r.objects, key)
	delete(r.played, key)
	return r.options.Sink(last)
}

// observeState records the state of an object if it has changed, or if a Stage was played.
func (r *Recorder) observeState(key stage.Key, obj *unstructured.Unstructured, now time.Time) error {
	next := r.record(key, obj)
	k := r.objects[key]
	if k == nil {
		k = &lastSeen{}
		r.objects[key] = k
	}
	amounts := amountsOf(obj)
	next.From, next.Amounts = k.last.To, changed(k.amounts, amounts)
	first := r.attribute(&next, key, now)
	same := next.From == next.To && next.Node == k.last.Node && next.Amounts == nil
	k.last, k.amounts = next, amounts
	if same && !first {
		return nil
	}
	return r.options.Sink(next)
}

// record makes a record of an object and its state.
func (r *Recorder) record(key stage.Key, obj *unstructured.Unstructured) Record {
	kind := schema.GroupKind{Group: key.Group, Kind: key.Kind}
	state := r.options.States[kind]
	if state == nil {
		state = StateOf
	}
	next := Record{
		Kind: kindName(kind), Namespace: key.Namespace, Name: key.Name, UID: string(obj.GetUID()),
		To: state(obj), Owner: ownerOf(obj),
	}
	if next.Kind == "Pod" {
		next.Node = nodeOf(obj)
	}
	return next
}

// attribute writes the time and the played Stage into a record, for as many events as the Stage
// made writes. It reports whether this is the first event of the Stage.
func (r *Recorder) attribute(next *Record, key stage.Key, now time.Time) (first bool) {
	next.Time, next.Stage, next.Seed = now.UTC(), "", ""
	c := r.played[key]
	if c == nil {
		return false
	}
	if now.Sub(c.at) > r.options.WatchDelay || c.seen >= max(c.writes, 1) {
		delete(r.played, key)
		return false
	}
	c.seen++
	next.Stage, next.Seed = c.stage, r.path(key, c)
	return c.seen == 1
}

// path is the seed path.
func (r *Recorder) path(key stage.Key, c *playedStage) string {
	kind := kindName(schema.GroupKind{Group: key.Group, Kind: key.Kind})
	return strings.Join([]string{strconv.FormatUint(r.options.Seed, 10), kind, key.Namespace, key.Name, strconv.FormatUint(c.n, 10), c.stage}, "/")
}
