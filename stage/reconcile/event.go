package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/internal/random"
	"github.com/stagecraft-go/stagecraft/stage/reconcile/timing"
)

// The limits of client-go's EventCorrelator.
const (
	eventsAtOnce  = 25               // Events of one type that one object may have at once
	eventRefill   = 5 * time.Minute  // the time after which the object may have one more
	similarEvents = 10               // the number from which similar Events are combined
	similarWithin = 10 * time.Minute // of each other
	keptEvents    = 4096             // the number of latest Events that are remembered for each of these
)

// Record records an Event about an object, of type Normal or Warning, like client-go's recorder:
//
//   - Repeated Events are counted in one Event.
//   - More than ten Events that differ only in their message are combined.
//   - For one object and type, 25 Events at once are written, and then one in five minutes.
//
// A controller remembers its latest 4096 Events for this. The client of the controller writes the
// Events one after another, while the reconcile goes on. Record does nothing without
// [Options.Events].
func (r Request) Record(about *unstructured.Unstructured, kind, reason, message string) {
	if r.crew != nil && r.crew.recorder.enabled {
		r.crew.recorder.record(about, eventKey{identity(about), kind, reason, message})
	}
}

// identity returns the uid of an object, or its kind and name if a reference has no uid.
func identity(about *unstructured.Unstructured) types.UID {
	return cmp.Or(about.GetUID(), types.UID(about.GetKind()+" "+about.GetNamespace()+"/"+about.GetName()))
}

// A recorder writes the Events of one controller.
type recorder struct {
	client    *client
	component string // what records
	enabled   bool
	spam      *lru[spamKey, *timing.Bucket]
	similar   *lru[eventKey, *similar]
	counted   *lru[eventKey, *countedEvent]
	pending   []pendingEvent
	busy      bool   // it is writing
	made      uint64 // the number of Events so far plus a hash of the controller, for unique names
}

// An eventKey has the fields that are equal in Events which are counted as one. Events that differ
// only in their message are similar.
type eventKey struct {
	about                 types.UID
	kind, reason, message string
}

// A spamKey identifies the Events of one type about one object, whose number is limited.
type spamKey struct {
	about types.UID
	kind  string
}

// similar are the messages of similar Events.
type similar struct {
	messages map[string]bool
	last     time.Time
}

// A pendingEvent is an Event that the recorder will write.
type pendingEvent struct {
	*unstructured.Unstructured
	known *countedEvent
}

// A countedEvent is an Event that is, or will be, in the cluster.
type countedEvent struct {
	name  string // "" if it is not written yet
	first string // time
	count int64
}

func newRecorder(c *client, component string, enabled bool) recorder {
	r := recorder{client: c, component: component, enabled: enabled, made: random.New(0).Text(c.controller).Sum()}
	if enabled {
		r.spam, r.similar = newLRU[spamKey, *timing.Bucket](keptEvents), newLRU[eventKey, *similar](keptEvents)
		r.counted = newLRU[eventKey, *countedEvent](keptEvents)
	}
	return r
}

func (r *recorder) record(about *unstructured.Unstructured, key eventKey) {
	now := r.client.loop.now
	message := key.message
	combined := r.combines(key, now)
	if combined {
		message, key.message = "(combined from similar events): "+message, ""
	}
	known := r.counted.of(key, func() *countedEvent { return &countedEvent{first: now.UTC().Format(time.RFC3339)} })
	known.count++
	if !r.bucketOf(spamKey{key.about, key.kind}).TryTake(now) {
		return
	}
	event := r.newEvent(about, key, known, now)
	event.Object["message"] = message
	if combined {
		event.Object["reportingComponent"] = "" // as in client-go
	}
	r.pending = append(r.pending, pendingEvent{event, known})
	r.send(now)
}

// combines reports whether an Event is above the limit of Events that differ only in their message.
func (r *recorder) combines(key eventKey, now time.Time) bool {
	message := key.message
	key.message = ""
	s := r.similar.of(key, func() *similar { return &similar{messages: map[string]bool{}, last: now} })
	if now.Sub(s.last) > similarWithin {
		clear(s.messages)
	}
	s.last = now
	if !s.messages[message] && len(s.messages)+1 >= similarEvents {
		return true
	}
	s.messages[message] = true
	return false
}

func (r *recorder) bucketOf(key spamKey) *timing.Bucket {
	return r.spam.of(key, func() *timing.Bucket {
		return timing.NewBucket(timing.Limits{QPS: 1 / eventRefill.Seconds(), Burst: eventsAtOnce})
	})
}

// newEvent returns the Event to write, with its count. An Event that is in the cluster keeps its
// name.
func (r *recorder) newEvent(about *unstructured.Unstructured, key eventKey, known *countedEvent, now time.Time) *unstructured.Unstructured {
	r.made++
	if known.name == "" {
		known.name = r.name(about.GetName(), now)
	}
	ref := map[string]any{"apiVersion": about.GetAPIVersion(), "kind": about.GetKind(), "name": about.GetName()}
	for field, value := range map[string]string{"namespace": about.GetNamespace(), "uid": string(about.GetUID()), "resourceVersion": about.GetResourceVersion()} {
		if value != "" {
			ref[field] = value
		}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Event",
		"metadata":       map[string]any{"name": known.name, "namespace": cmp.Or(about.GetNamespace(), metav1.NamespaceDefault)},
		"involvedObject": ref, "type": key.kind, "reason": key.reason,
		"source": map[string]any{"component": r.component}, "reportingComponent": r.component, "reportingInstance": "",
		"firstTimestamp": known.first, "lastTimestamp": now.UTC().Format(time.RFC3339), "count": known.count,
	}}
}

func (r *recorder) name(about string, now time.Time) string {
	return fmt.Sprintf("%s.%x", about, uint64(now.UnixNano())+r.made)
}

// send writes the pending Events one after another, while the controller goes on.
func (r *recorder) send(now time.Time) {
	if r.busy {
		return
	}
	r.busy = true
	loop := r.client.loop
	if loop.options.Timing == nil {
		r.write()
		return
	}
	loop.running.Start(now, r.write)
}

// write writes all pending Events. An Event that cannot be written is dropped, as in client-go, and
// traced.
func (r *recorder) write() {
	ctx := context.Background()
	for len(r.pending) > 0 {
		e := r.pending[0]
		r.pending = r.pending[1:]
		err := r.writeOne(ctx, e)
		if errors.Is(err, timing.ErrStopped) {
			return
		}
		if trace := r.client.loop.options.Trace; err != nil && trace != nil {
			trace(TraceEvent{Time: r.client.loop.now, Controller: r.client.controller, Name: nameOf(e.Unstructured), Err: err})
		}
	}
	r.busy = false
}

// writeOne creates an Event, or writes its new count.
func (r *recorder) writeOne(ctx context.Context, e pendingEvent) error {
	if n, _ := object.Int64(e.Object, "count"); n > 1 {
		data, err := object.AppendJSON(nil, map[string]any{"count": n, "lastTimestamp": e.Object["lastTimestamp"], "message": e.Object["message"]})
		if err != nil {
			return err
		}
		_, err = r.client.Patch(ctx, e.GroupVersionKind(), nameOf(e.Unstructured), types.MergePatchType, data, metav1.PatchOptions{})
		if !apierrors.IsNotFound(err) {
			return err
		}
	}
	_, err := r.client.Create(ctx, e.Unstructured, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	// The controller has been started again within this instant of virtual time, in which it gave the
	// name before. It goes on with numbers that it had not reached then.
	r.made = random.New(r.made).Text(e.GetName()).Sum()
	about, _ := object.String(e.Object, "involvedObject", "name")
	e.known.name = r.name(about, r.client.loop.now)
	e.SetName(e.known.name)
	_, err = r.client.Create(ctx, e.Unstructured, metav1.CreateOptions{})
	return err
}
