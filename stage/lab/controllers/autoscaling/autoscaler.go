package autoscaling

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/conditions"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/pods"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// HorizontalPodAutoscalers returns the controller that scales workloads by metrics.
//
// The controller keeps state. Create a separate controller for each loop.
func HorizontalPodAutoscalers(o Options) reconcile.Controller {
	o = o.withDefaults()
	known := histories{of: map[types.NamespacedName]*history{}}
	watches := []reconcile.Watch{{Kind: kinds.Pod, Map: known.idleOfPod}}
	for _, t := range o.Targets {
		watches = append(watches, reconcile.Watch{Kind: t.Kind, Map: known.idleOfTarget})
	}
	return reconcile.Controller{
		Name: "horizontalpodautoscaler", Component: "horizontal-pod-autoscaler", For: kinds.HorizontalPodAutoscaler, When: known.onChange, Watches: watches,
		Indexes: []*reconcile.Index{byTarget},
		Reconcile: func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
			return known.reconcile(control.NewCall(ctx, r), o)
		},
	}
}

// A history is what the controller remembers of an autoscaler. The cluster does not store it.
type history struct {
	next            time.Time // time of the next look
	recommendations []change
	wanted          int64    // the recommendation of the last look
	recommended     bool     // it recommended something
	ups, downs      []change // for the policies of its behavior
	idle            bool     // it is not looked at before something changes
}

// histories are the histories of all autoscalers.
type histories struct {
	of        map[types.NamespacedName]*history
	selectors reconcile.SelectorSet[types.NamespacedName]
	blind     map[string]map[types.NamespacedName]bool // by namespace: autoscalers that did not find their Pods, for any reason
}

// onChange forgets which Pods an autoscaler selects that is gone. The rest is forgotten when it
// would be looked at next, as in kube-controller-manager.
func (h *histories) onChange(ch reconcile.Change) bool {
	if ch.New == nil {
		h.selectors.Remove(control.NameOf(ch.Old))
	}
	return true
}

// reconcile looks at an autoscaler if it is time.
func (h *histories) reconcile(c control.Call, o Options) (reconcile.Result, error) {
	hpa, known := c.Cache.Get(kinds.HorizontalPodAutoscaler, c.Name), h.of[c.Name]
	switch {
	case known == nil && hpa == nil:
		return reconcile.Result{}, nil
	case known == nil:
		known = &history{next: c.Now.Add(o.Period)}
		h.of[c.Name] = known
	case known.idle:
		known.wake(c.Now, o.Period)
	}
	switch {
	case c.Now.Before(known.next):
		return reconcile.Result{After: known.next.Sub(c.Now)}, nil
	case hpa == nil:
		delete(h.of, c.Name)
		h.setBlind(c.Name, false)
		return reconcile.Result{}, nil
	}
	known.next = c.Now.Add(o.Period)
	a := newAutoscaler(c, o, hpa)
	a.history, a.histories = known, h
	known.recommended = false
	err := a.act()
	h.setBlind(c.Name, !a.found)
	if err == nil && a.isIdle() {
		known.idle = true
		return reconcile.Result{}, nil
	}
	return reconcile.Result{After: o.Period}, err
}

// An autoscaler is one look at a HorizontalPodAutoscaler.
type autoscaler struct {
	control.Call
	options    Options
	hpa        *unstructured.Unstructured
	spec       map[string]any
	min, max   int64
	behavior   behavior
	history    *history
	histories  *histories
	scale      scale
	found      bool       // its Pods, which have no other autoscaler
	pods       []pods.Pod // that the scale selects
	container  string     // of the metric that is being looked at, "" for all
	conditions conditions.List
	statuses   []any // of the metrics

	wrote         bool // something changed
	limitedByRate bool // of the behavior, so that time changes the result
}

func newAutoscaler(c control.Call, o Options, hpa *unstructured.Unstructured) *autoscaler {
	spec := fields.Map(hpa.Object, "spec")
	return &autoscaler{
		Call: c, options: o, hpa: hpa, spec: spec, behavior: o.behaviorOf(spec), conditions: conditions.Of(hpa),
		min: fields.Int64(spec, 1, "minReplicas"), max: fields.Int64(spec, 0, "maxReplicas"),
	}
}

// act scales, and writes the status. Metrics that are not available are not an error: the status
// and an Event report it.
func (a *autoscaler) act() (err error) {
	a.scale, err = findScale(a.Call, a.hpa, a.options.Targets)
	if err != nil {
		a.warn("FailedGetScale", err.Error())
		a.setCondition("AbleToScale", "False", "FailedGetScale", "the HPA controller was unable to get the target's current scale: "+err.Error())
		return a.writeStatus(nil)
	}
	a.setCondition("AbleToScale", "True", "SucceededGetScale", "the HPA controller was able to get the target's current scale")
	if a.history.recommendations == nil {
		a.history.recommendations = []change{{a.scale.spec, a.Now}}
	}
	desired, reason, err := a.decide()
	if err != nil {
		return a.writeStatus(a.counts(a.desiredBefore()))
	}
	if desired == a.scale.spec {
		return a.writeStatus(a.counts(desired))
	}
	return a.rescale(desired, reason)
}

// decide returns the wanted number of replicas, and the reason. It has already recorded the errors.
func (a *autoscaler) decide() (desired int64, reason string, err error) {
	now := a.scale.spec
	switch {
	case now == 0:
		a.setCondition("ScalingActive", "False", "ScalingDisabled", "scaling is disabled since the replica count of the target is zero")
		a.conditions = a.conditions.Without("ScaledToZero")
		return 0, "", nil
	case now > a.max:
		return a.max, "Current number of replicas above Spec.MaxReplicas", nil
	case now < a.min:
		return a.min, "Current number of replicas below Spec.MinReplicas", nil
	}
	wanted, metric, err := a.computeMetrics()
	if err != nil {
		return 0, "", err
	}
	wanted = max(wanted, 0)
	switch {
	case wanted > now:
		reason = metric + " above target"
	case wanted < now:
		reason = "All metrics below target"
	}
	return a.normalize(wanted), reason, nil
}

func (a *autoscaler) rescale(desired int64, reason string) error {
	if err := a.scale.setReplicas(a.Call, desired); err != nil {
		a.warn("FailedRescale", fmt.Sprintf("New size: %d; reason: %s; error: %v", desired, reason, err))
		a.setCondition("AbleToScale", "False", "FailedUpdateScale", fmt.Sprintf("the HPA controller was unable to update the target scale: %v", err))
		return a.writeStatus(a.counts(a.desiredBefore()))
	}
	a.setCondition("AbleToScale", "True", "SucceededRescale", fmt.Sprintf("the HPA controller was able to update the target scale to %d", desired))
	a.Record(a.hpa, "Normal", "SuccessfulRescale", fmt.Sprintf("New size: %d; reason: %s", desired, reason))
	a.remember(a.scale.spec, desired)
	a.conditions = a.conditions.Without("ScaledToZero")
	status := a.counts(desired)
	status["lastScaleTime"] = a.Timestamp()
	return a.writeStatus(status)
}

func (a *autoscaler) warn(reason, message string) { a.Record(a.hpa, "Warning", reason, message) }

// setCondition sets a condition. One that changes keeps its place, and its time if its status is the
// same.
func (a *autoscaler) setCondition(kind, status, reason, message string) {
	at := a.Timestamp()
	if old := a.conditions.Find(kind); old != nil && old.Field("status") == status {
		at = old.Field("lastTransitionTime")
	}
	a.conditions = a.conditions.Replace(conditions.New(kind, status, reason, message, at))
}

func (a *autoscaler) desiredBefore() int64 {
	return fields.Int64(a.hpa.Object, 0, "status", "desiredReplicas")
}

// counts is a status with its numbers and metrics.
func (a *autoscaler) counts(desired int64) control.Status {
	status := control.Status{"desiredReplicas": desired, "currentMetrics": nil}
	status.SetNonZero("currentReplicas", a.scale.spec)
	if a.statuses != nil {
		status["currentMetrics"] = a.statuses
	}
	if at := fields.String(a.hpa.Object, "status", "lastScaleTime"); at != "" {
		status["lastScaleTime"] = at
	}
	return status
}

// writeStatus writes a status with the conditions; nil leaves the other fields unchanged.
func (a *autoscaler) writeStatus(status control.Status) error {
	if status == nil {
		status = control.Status{"desiredReplicas": int64(0), "currentMetrics": nil}
		for field, v := range fields.Map(a.hpa.Object, "status") {
			status[field] = v
		}
	}
	delete(status, "conditions")
	a.conditions.WriteTo(status)
	a.wrote = a.wrote || !object.DeepEqual(fields.Value(a.hpa.Object, "status"), map[string]any(status))
	err := a.WriteStatus(a.hpa, status)
	if err != nil {
		a.warn("FailedUpdateStatus", err.Error())
	}
	return err
}

// findPods finds the Pods that the scale selects. They must have no other autoscaler.
func (a *autoscaler) findPods() error {
	fail := func(event, reason, message, condition string) error {
		a.warn(event, message)
		a.setCondition("ScalingActive", "False", reason, condition)
		return errors.New(message)
	}
	if a.scale.selector == "" {
		return fail("SelectorRequired", "InvalidSelector", "selector is required", "the HPA target's scale is missing a selector")
	}
	selector, err := labels.Parse(a.scale.selector)
	if err != nil {
		message := fmt.Sprintf("couldn't convert selector into a corresponding internal selector object: %v", err)
		return fail("InvalidSelector", "InvalidSelector", message, message)
	}
	a.histories.selectors.Put(a.Name, a.Name.Namespace, selector)
	a.pods = pods.OfAll(a.Cache.Select(kinds.Pod, a.Name.Namespace, selector))
	if names := a.histories.selecting(a.pods); len(names) > 1 {
		message := fmt.Sprintf("pods by selector %v are controlled by multiple HPAs: %v", a.scale.selector, names)
		return fail("AmbiguousSelector", "AmbiguousSelector", message, message)
	}
	a.found = true
	return nil
}

// selecting returns the autoscalers that select one of the Pods, by name.
func (h *histories) selecting(of []pods.Pod) (names []types.NamespacedName) {
	for _, p := range of {
		names = append(names, h.selectors.Matching(p.Unstructured)...)
	}
	return sorted(names)
}

// sorted returns names of one namespace once each, in order.
func sorted(names []types.NamespacedName) []types.NamespacedName {
	slices.SortFunc(names, func(a, b types.NamespacedName) int { return cmp.Compare(a.Name, b.Name) })
	return slices.Compact(names)
}
