package mcad

import (
	"context"
	"encoding/json"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/requests"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// QueueOptions of [Queue]. The zero value is the default.
type QueueOptions struct {
	// Rest is how long the dispatcher is busy after each dispatch. Default 0: all that fit are
	// dispatched at once.
	Rest time.Duration
	// Before tells which of two AppWrappers that wait comes first. Default: the one that the queue
	// saw first.
	Before func(a, b *unstructured.Unstructured) bool
}

// Queue returns the controllers of an MCAD-like queue, for one loop: one that keeps the status of
// AppWrappers, and one that dispatches them one after another. The head of the line is dispatched
// as soon as the ready nodes together have room for what it wraps, beside those that were
// dispatched and have not completed. Room on a single node does not matter: that is for the
// scheduler.
func Queue(o QueueOptions) []reconcile.Controller {
	state := &reconcile.Index{Kind: wrappers, Value: StateOf}
	d := &dispatcher{options: o, state: state}
	if d.options.Before == nil {
		d.options.Before = seenBefore
	}
	return []reconcile.Controller{
		{
			Name: "appwrapper", For: wrappers,
			Watches: []reconcile.Watch{{Kind: jobs}}, Reconcile: follow,
		},
		{
			Name: "dispatcher", For: wrappers,
			When:      func(reconcile.Change) bool { return false },
			Watches:   []reconcile.Watch{{Kind: wrappers, Map: cycle}, {Kind: nodes, Map: cycle}},
			Indexes:   []*reconcile.Index{state},
			Reconcile: d.dispatch,
		},
	}
}

// cycle is the only key of a controller that looks at everything at once.
func cycle(*reconcile.Cache, reconcile.Change) []types.NamespacedName {
	return []types.NamespacedName{{Name: "cycle"}}
}

// seenBefore is the order in which the queue saw AppWrappers, and by name of those that it saw at
// once.
func seenBefore(a, b *unstructured.Unstructured) bool {
	const field = "controllerfirsttimestamp" // of a fixed width
	ta, tb := nested[string](a.Object, "status", field), nested[string](b.Object, "status", field)
	return ta < tb || ta == tb && a.GetName() < b.GetName()
}

// A dispatcher admits AppWrappers.
type dispatcher struct {
	options QueueOptions
	state   *reconcile.Index
	idle    time.Time // when it is done with the last one
}

func (d *dispatcher) dispatch(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
	head := d.head(r.Cache)
	if head == nil {
		return reconcile.Result{}, nil
	}
	s := statusOf(head)
	s.add("HeadOfLine", "FrontOfQueue.", r.Now)
	if busy := d.idle.Sub(r.Now); busy > 0 {
		return reconcile.Result{After: busy}, s.write(ctx, r.Client)
	}
	if !covers(d.room(r.Cache), wants(head)) {
		return reconcile.Result{}, s.write(ctx, r.Client) // again when an AppWrapper or a node changes
	}
	d.idle = r.Now.Add(d.options.Rest)
	if err := create(ctx, r.Client, head); err != nil {
		return reconcile.Result{}, err
	}
	s.become("Dispatched", "AppWrapperRunnable", r.Now)
	s.fields["canrun"] = true
	return reconcile.Result{After: max(d.options.Rest, 1)}, s.write(ctx, r.Client)
}

// head is the first of those that wait.
func (d *dispatcher) head(c *reconcile.Cache) (first *unstructured.Unstructured) {
	for _, w := range c.By(d.state, "Pending") {
		if first == nil || d.options.Before(w, first) {
			first = w
		}
	}
	return first
}

// room is what the nodes have together beside what was dispatched and has not completed.
func (d *dispatcher) room(c *reconcile.Cache) requests.Amounts {
	sum := requests.Amounts{}
	for _, n := range c.List(nodes, "") {
		sum.Add(allocatable(n), 1)
	}
	for _, state := range []string{"Dispatched", "Running"} {
		for _, w := range c.By(d.state, state) {
			sum.Add(wants(w), -1)
		}
	}
	return sum
}

// create creates all that is wrapped. What is there already is from a try that was cut short.
func create(ctx context.Context, w reconcile.Writer, wrapper *unstructured.Unstructured) error {
	items, err := itemsOf(wrapper)
	if err != nil {
		return reconcile.Final(err)
	}
	for _, it := range items {
		for n := range it.replicas {
			if _, err := w.Create(ctx, it.object(wrapper, n), metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
				return err
			}
		}
	}
	return nil
}

// follow keeps the status of an AppWrapper but for what the dispatcher does.
func follow(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
	wrapper := r.Cache.Get(wrappers, r.Name)
	if wrapper == nil {
		return reconcile.Result{}, nil
	}
	s := statusOf(wrapper)
	switch StateOf(wrapper) {
	case "New":
		s.fields["controllerfirsttimestamp"] = stamp(r.Now)
		s.add("Init", "", r.Now)
		s.become("Pending", "", r.Now)
		s.add("Queueing", "AwaitingHeadOfLine", r.Now)
	case "Dispatched", "Running":
		s.progress(r.Cache.Owned(jobs, wrapper.GetUID()), r.Now)
	}
	return reconcile.Result{}, s.write(ctx, r.Client)
}

// A status is that of an AppWrapper, to be changed.
type status struct {
	of     types.NamespacedName
	fields map[string]any
	now    []any // conditions
	dirty  bool
}

func statusOf(wrapper *unstructured.Unstructured) *status {
	old := nested[[]any](wrapper.Object, "status", "conditions")
	return &status{of: nameOf(wrapper), fields: map[string]any{}, now: old[:len(old):len(old)]}
}

// progress says what has become of the Jobs.
func (s *status) progress(all []*unstructured.Unstructured, now time.Time) {
	complete, failed, ready := 0, 0, int64(0)
	for _, job := range all {
		switch {
		case isTrue(job, "Complete"):
			complete++
		case isTrue(job, "Failed"):
			failed++
		}
		ready += nested[int64](job.Object, "status", "ready")
	}
	switch {
	case len(all) == 0:
	case failed > 0:
		s.become("Failed", "PodsFailed", now)
	case complete == len(all):
		s.become("Completed", "PodsCompleted", now)
	case ready > 0:
		s.become("Running", "PodsRunning", now)
	}
}

// become enters a state. All but Pending have a condition.
func (s *status) become(state, reason string, now time.Time) {
	if state != "Pending" {
		s.add(state, reason, now)
	}
	s.fields["state"] = state
}

// add adds a condition, unless it is there.
func (s *status) add(condition, reason string, now time.Time) {
	for _, v := range s.now {
		if c, _ := v.(map[string]any); c["type"] == condition {
			return
		}
	}
	c := map[string]any{"type": condition, "status": "True", "lastUpdateMicroTime": stamp(now), "lastTransitionMicroTime": stamp(now)}
	if reason != "" {
		c["reason"] = reason
	}
	s.now, s.dirty = append(s.now, c), true
}

func stamp(t time.Time) string { return t.UTC().Format(metav1.RFC3339Micro) }

// write writes what has changed, if anything has.
func (s *status) write(ctx context.Context, w reconcile.Writer) error {
	if !s.dirty {
		return nil
	}
	s.fields["conditions"] = s.now
	data, err := json.Marshal(map[string]any{"status": s.fields})
	if err != nil {
		return err
	}
	_, err = w.Patch(ctx, wrappers, s.of, types.MergePatchType, data, metav1.PatchOptions{}, "status")
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
