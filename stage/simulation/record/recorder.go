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
	"github.com/stagecraft-go/stagecraft/stage/controllers/resources"
)

// Options of [New]. The zero value makes records that go nowhere.
type Options struct {
	// Seed is that of the simulation. It stands in the seed paths.
	Seed uint64
	// Sink takes each record. Its error is that of Observe.
	Sink func(Record) error
	// States name the states of objects of a kind, beside or instead of [StateOf]. They must depend on nothing but the object, and not
	// change it.
	States map[schema.GroupKind]func(*unstructured.Unstructured) string
	// Within is how long after a Stage was played the watch may tell what it changed. Default 0: at the same time, as in virtual time.
	Within time.Duration
}

// A Recorder makes records of what it is told. It is safe for concurrent use.
type Recorder struct {
	options Options
	mu      sync.Mutex
	objects map[stage.Key]*known
	played  map[stage.Key]*cause
	sweep   int // the number of causes at which those that are too old are dropped
}

// known is what was seen of an object last.
type known struct {
	last    Record
	amounts resources.Amounts
}

// A cause is a Stage that was played.
type cause struct {
	stage  string
	n      uint64
	at     time.Time
	writes int // that it made, as far as is known
	seen   int // of what it wrote
}

// New returns a recorder that has seen nothing.
func New(o Options) *Recorder {
	if o.Sink == nil {
		o.Sink = func(Record) error { return nil }
	}
	return &Recorder{options: o, objects: map[stage.Key]*known{}, played: map[stage.Key]*cause{}, sweep: 1024}
}

// A Simulation is followed by a recorder. Package stage/simulation has one.
type Simulation interface {
	Now() time.Time
	On(kind schema.GroupVersionKind, do func(context.Context, watch.Event) error) error
}

// Follow has everything recorded that happens to the objects of some kinds from now on, those that are there included. The error is that of
// a kind that the cluster does not know; a failing Sink ends the run.
func (r *Recorder) Follow(s Simulation, kinds ...schema.GroupVersionKind) error {
	for _, kind := range kinds {
		if err := s.On(kind, func(_ context.Context, e watch.Event) error { return r.Observe(e, s.Now()) }); err != nil {
			return err
		}
	}
	return nil
}

// Trace notes which Stages are played, so that records can say what moved an object. It is for the Options of a simulation or a Player.
// Without it, records name no Stage.
func (r *Recorder) Trace(e stage.TraceEvent) {
	switch e.Kind {
	case stage.Played:
		r.mu.Lock()
		defer r.mu.Unlock()
		r.drop(e.Time)
		r.played[e.Key] = &cause{stage: e.Stage, n: e.N, at: e.Time}
	case stage.Effected:
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

// drop forgets causes that are too old, now and then.
func (r *Recorder) drop(now time.Time) {
	if len(r.played) < r.sweep {
		return
	}
	for key, c := range r.played {
		if now.Sub(c.at) > r.options.Within {
			delete(r.played, key)
		}
	}
	r.sweep = 2*len(r.played) + 1024
}

// Observe takes in a watch event that happened, or was heard of, at the time now. An ERROR event is returned as an error, as is that of the
// Sink; events that are about no object are ignored.
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
	if err := r.replaced(key, obj, now); err != nil {
		return err
	}
	if e.Type == watch.Deleted {
		return r.deleted(key, obj, now)
	}
	return r.saw(key, obj, now)
}

// Sync takes in a list of all objects of a kind, as there is one before a watch and after a watch that was too old: those that are not in
// it any more are recorded as Deleted, in the order of their names, the others are observed.
func (r *Recorder) Sync(kind schema.GroupVersionKind, all []unstructured.Unstructured, now time.Time) error {
	if err := r.missing(kind, all, now); err != nil {
		return err
	}
	for i := range all {
		if err := r.Observe(watch.Event{Type: watch.Added, Object: &all[i]}, now); err != nil {
			return err
		}
	}
	return nil
}

// missing ends the objects of a kind that are not there any more.
func (r *Recorder) missing(kind schema.GroupVersionKind, all []unstructured.Unstructured, now time.Time) error {
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

// replaced records the end of an object whose name another one has by now, if the watch did not tell of it.
func (r *Recorder) replaced(key stage.Key, obj *unstructured.Unstructured, now time.Time) error {
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

// saw records the state of an object if it is another one, or if a Stage was played.
func (r *Recorder) saw(key stage.Key, obj *unstructured.Unstructured, now time.Time) error {
	next := r.record(key, obj)
	k := r.objects[key]
	if k == nil {
		k = &known{}
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

// record says what the object is, and its state.
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

// attribute writes the time and the Stage into a record: that which was played, for as many events as it made writes. It reports whether it
// was the first event of a Stage.
func (r *Recorder) attribute(next *Record, key stage.Key, now time.Time) (first bool) {
	next.Time, next.Stage, next.Seed = now.UTC(), "", ""
	c := r.played[key]
	if c == nil {
		return false
	}
	if now.Sub(c.at) > r.options.Within || c.seen >= max(c.writes, 1) {
		delete(r.played, key)
		return false
	}
	c.seen++
	next.Stage, next.Seed = c.stage, r.path(key, c)
	return c.seen == 1
}

// path is the seed path.
func (r *Recorder) path(key stage.Key, c *cause) string {
	kind := kindName(schema.GroupKind{Group: key.Group, Kind: key.Kind})
	return strings.Join([]string{strconv.FormatUint(r.options.Seed, 10), kind, key.Namespace, key.Name, strconv.FormatUint(c.n, 10), c.stage}, "/")
}
