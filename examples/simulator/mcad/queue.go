package mcad

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/resources"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// QueueOptions of [Queue]. The zero value is the default.
type QueueOptions struct {
	// Rest is how long the dispatcher is busy after each dispatch. Default 0: all that fit are
	// dispatched at once.
	Rest time.Duration
	// Before reports which of two waiting AppWrappers comes first. Default: the AppWrapper that the
	// queue saw first.
	Before func(a, b *unstructured.Unstructured) bool
}

// Queue returns the controllers of a queue like MCAD's, for one loop: one that writes the status of
// AppWrappers, and one that dispatches them one after another. The AppWrapper at the head of the
// queue is dispatched as soon as the ready Nodes together have room for it, in addition to the
// AppWrappers that were dispatched and have not completed. It does not matter whether a single Node
// has room for a Pod: that is for the scheduler.
func Queue(o QueueOptions) []reconcile.Controller {
	state := &reconcile.Index{Kind: wrappers, Value: StateOf}
	d := &dispatcher{options: o, state: state}
	if d.options.Before == nil {
		d.options.Before = seenBefore
	}
	return []reconcile.Controller{
		{
			Name: "appwrapper", For: wrappers,
			Watches: []reconcile.Watch{{Kind: jobs}}, Reconcile: updateStatus,
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

// seenBefore orders AppWrappers by the time at which the queue saw them first, and then by name.
func seenBefore(a, b *unstructured.Unstructured) bool {
	const field = "controllerfirsttimestamp" // of a fixed width
	ta, tb := nested[string](a.Object, "status", field), nested[string](b.Object, "status", field)
	return ta < tb || ta == tb && a.GetName() < b.GetName()
}

// A dispatcher admits AppWrappers.
type dispatcher struct {
	options QueueOptions
	state   *reconcile.Index
	idleAt  time.Time // when it may dispatch the next one
}

func (d *dispatcher) dispatch(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
	head := d.head(r.Cache)
	if head == nil {
		return reconcile.Result{}, nil
	}
	s := statusOf(head)
	s.addCondition("HeadOfLine", "FrontOfQueue.", r.Now)
	if busy := d.idleAt.Sub(r.Now); busy > 0 {
		return reconcile.Result{After: busy}, s.write(ctx, r.Client)
	}
	if !d.free(r.Cache).Covers(requestOfWrapper(head)) {
		return reconcile.Result{}, s.write(ctx, r.Client) // again when an AppWrapper or a node changes
	}
	d.idleAt = r.Now.Add(d.options.Rest)
	if err := create(ctx, r.Client, head); err != nil {
		return reconcile.Result{}, err
	}
	s.setState("Dispatched", "AppWrapperRunnable", r.Now)
	s.fields["canrun"] = true
	return reconcile.Result{After: max(d.options.Rest, 1)}, s.write(ctx, r.Client)
}

// head returns the AppWrapper that is first in the line.
func (d *dispatcher) head(c *reconcile.Cache) (first *unstructured.Unstructured) {
	for _, w := range c.By(d.state, "Pending") {
		if first == nil || d.options.Before(w, first) {
			first = w
		}
	}
	return first
}

// free returns the amounts of all Nodes together, less the requests of the AppWrappers that were
// dispatched and have not completed.
func (d *dispatcher) free(c *reconcile.Cache) resources.Amounts {
	sum := resources.Amounts{}
	for _, n := range c.List(nodes, "") {
		sum.Add(usable(n), 1)
	}
	for _, state := range []string{"Dispatched", "Running"} {
		for _, w := range c.By(d.state, state) {
			sum.Add(requestOfWrapper(w), -1)
		}
	}
	return sum
}

// create creates all wrapped objects. An object that already exists is from an attempt that failed
// halfway.
func create(ctx context.Context, w transport.Writer, wrapper *unstructured.Unstructured) error {
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

// updateStatus writes the status of an AppWrapper, except for the fields that the dispatcher
// writes.
func updateStatus(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
	wrapper := r.Cache.Get(wrappers, r.Name)
	if wrapper == nil {
		return reconcile.Result{}, nil
	}
	s := statusOf(wrapper)
	switch StateOf(wrapper) {
	case "New":
		s.fields["controllerfirsttimestamp"] = stamp(r.Now)
		s.addCondition("Init", "", r.Now)
		s.setState("Pending", "", r.Now)
		s.addCondition("Queueing", "AwaitingHeadOfLine", r.Now)
	case "Dispatched", "Running":
		s.summarize(r.Cache.Owned(jobs, wrapper.GetUID()), r.Now)
	}
	return reconcile.Result{}, s.write(ctx, r.Client)
}

// A status is the status of an AppWrapper while it is changed.
type status struct {
	name       types.NamespacedName
	fields     map[string]any // that are written, in addition to the conditions
	conditions []any
	changed    bool
}

func statusOf(wrapper *unstructured.Unstructured) *status {
	old := nested[[]any](wrapper.Object, "status", "conditions")
	return &status{name: nameOf(wrapper), fields: map[string]any{}, conditions: slices.Clip(old)}
}

// summarize sets the state by the Jobs.
func (s *status) summarize(all []*unstructured.Unstructured, now time.Time) {
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
		s.setState("Failed", "PodsFailed", now)
	case complete == len(all):
		s.setState("Completed", "PodsCompleted", now)
	case ready > 0:
		s.setState("Running", "PodsRunning", now)
	}
}

// setState sets a state and its condition. The state Pending has no condition.
func (s *status) setState(state, reason string, now time.Time) {
	if state != "Pending" {
		s.addCondition(state, reason, now)
	}
	s.fields["state"] = state
}

// addCondition adds a condition, unless it is there.
func (s *status) addCondition(condition, reason string, now time.Time) {
	for _, v := range s.conditions {
		if c, _ := v.(map[string]any); c["type"] == condition {
			return
		}
	}
	c := map[string]any{"type": condition, "status": "True", "lastUpdateMicroTime": stamp(now), "lastTransitionMicroTime": stamp(now)}
	if reason != "" {
		c["reason"] = reason
	}
	s.conditions, s.changed = append(s.conditions, c), true
}

func stamp(t time.Time) string { return t.UTC().Format(metav1.RFC3339Micro) }

// write writes the status if it has changed.
func (s *status) write(ctx context.Context, w transport.Writer) error {
	if !s.changed {
		return nil
	}
	s.fields["conditions"] = s.conditions
	data, err := json.Marshal(map[string]any{"status": s.fields})
	if err != nil {
		return err
	}
	_, err = w.Patch(ctx, wrappers, s.name, types.MergePatchType, data, metav1.PatchOptions{}, "status")
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
