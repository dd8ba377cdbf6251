package scheduling

import (
	"cmp"
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/conditions"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

func newCall(ctx context.Context, r reconcile.Request) control.Call {
	c := control.NewCall(ctx, r)
	c.Manager = control.Scheduler
	return c
}

// Bind gives a Pod its Node: it writes spec.nodeName, and the condition PodScheduled=True with the
// time of the request, and records the Event Scheduled. A missing Pod is not an error. A Pod that
// has changed since it was read is a conflict, and the request is tried again.
//
// stage/memory takes this; an API server wants a Binding instead.
func Bind(ctx context.Context, r reconcile.Request, pod *unstructured.Unstructured, node string) error {
	c := newCall(ctx, r)
	bound, err := c.MergePatch(pod, map[string]any{"spec": map[string]any{"nodeName": node}})
	if err != nil {
		return control.IgnoreNotFound(err)
	}
	c.Record(bound, "Normal", "Scheduled", fmt.Sprintf("Successfully assigned %s/%s to %s", pod.GetNamespace(), pod.GetName(), node))
	c.Request = r.AtOnce() // an API server does it with the binding
	if fields.String(bound.Object, "status", "nominatedNodeName") != "" {
		if bound, err = patchStatus(c, bound, map[string]any{"nominatedNodeName": nil}); err != nil {
			return control.IgnoreNotFound(err)
		}
	}
	return control.IgnoreNotFound(setPodScheduled(c, bound, conditions.Condition{
		"type": podScheduled, "status": "True", "lastProbeTime": nil, "lastTransitionTime": c.Timestamp(),
	}))
}

const podScheduled = "PodScheduled"

// longestNote is the longest message of an Event, in bytes.
const longestNote = 1024

// A failure is why a Pod is not scheduled.
type failure struct {
	reason, message string
	nominated       *string // its new status.nominatedNodeName, nil to leave it
}

// report records an Event and writes into a Pod why it is not scheduled, unless the Pod already
// says so.
func report(c control.Call, pod *unstructured.Unstructured, f failure) error {
	note := f.message
	if len(note) > longestNote {
		note = note[:longestNote-len(" ...")] + " ..."
	}
	c.Record(pod, "Warning", "FailedScheduling", note)
	if f.nominated != nil && *f.nominated != nominatedNode(pod) {
		patched, err := patchStatus(c, pod, map[string]any{"nominatedNodeName": nameOrNil(*f.nominated)})
		if err != nil {
			return control.IgnoreNotFound(err)
		}
		pod = patched
	}
	return control.IgnoreNotFound(setPodScheduled(c, pod, conditions.Condition{
		"type": podScheduled, "status": "False", "reason": f.reason, "message": f.message,
		"observedGeneration": pod.GetGeneration(), "lastProbeTime": nil, "lastTransitionTime": c.Timestamp(),
	}))
}

func nameOrNil(name string) any {
	if name == "" {
		return nil
	}
	return name
}

// preempt deletes a Pod to make room for another one.
func preempt(c control.Call, victim, preemptor *unstructured.Unstructured, node string) error {
	scheduler := cmp.Or(fields.String(preemptor.Object, "spec", "schedulerName"), defaultSchedulerName)
	target := conditions.New("DisruptionTarget", "True", preemptedByScheduler,
		scheduler+": preempting to accommodate a higher priority pod", c.Timestamp())
	target["observedGeneration"] = victim.GetGeneration()
	if _, err := patchStatus(c, victim, map[string]any{"conditions": []any{map[string]any(target)}}); err != nil {
		return control.IgnoreNotFound(err)
	}
	if err := c.Delete(victim); err != nil {
		return err
	}
	c.Record(victim, "Normal", "Preempted", fmt.Sprintf("Preempted by pod %s on node %s", preemptor.GetUID(), node))
	return nil
}

// patchStatus changes the status of a Pod by a strategic merge patch.
func patchStatus(c control.Call, pod *unstructured.Unstructured, status map[string]any) (*unstructured.Unstructured, error) {
	data, err := object.AppendJSON(nil, map[string]any{"status": status})
	if err != nil {
		return nil, err
	}
	o := metav1.PatchOptions{FieldManager: control.Scheduler}
	return c.Client.Patch(c.Context, kinds.Pod, control.NameOf(pod), types.StrategicMergePatchType, data, o, "status")
}

// setPodScheduled sets the condition PodScheduled in its place among the others.
func setPodScheduled(c control.Call, pod *unstructured.Unstructured, next conditions.Condition) error {
	old := conditions.Of(pod).Find(podScheduled)
	if old != nil && old.Field("status") == next.Field("status") {
		if old.Field("message") == next.Field("message") {
			return nil
		}
		next["lastTransitionTime"] = old["lastTransitionTime"]
	}
	for field := range old {
		if _, ok := next[field]; !ok {
			next[field] = nil // a merge would keep it
		}
	}
	_, err := patchStatus(c, pod, map[string]any{"conditions": []any{map[string]any(next)}})
	return err
}

// SchedulingGates returns the controller that gives Pods with scheduling gates the condition that
// says why they are not scheduled. On a cluster the API server does that as it creates them.
func SchedulingGates() reconcile.Controller {
	return reconcile.Controller{
		Name: "schedulinggates", For: kinds.Pod,
		When:      func(ch reconcile.Change) bool { return ch.Old == nil && hasSchedulingGates(ch.New) },
		Reconcile: control.OnExisting(kinds.Pod, reportSchedulingGates),
	}
}

func hasSchedulingGates(pod *unstructured.Unstructured) bool {
	return len(fields.Slice(pod.Object, "spec", "schedulingGates")) > 0
}

func reportSchedulingGates(c control.Call, pod *unstructured.Unstructured) (reconcile.Result, error) {
	if !hasSchedulingGates(pod) || conditions.Of(pod).Find(podScheduled) != nil {
		return reconcile.Result{}, nil
	}
	const message = "Scheduling is blocked due to non-empty scheduling gates"
	gated := conditions.New(podScheduled, "False", "SchedulingGated", message, c.Timestamp())
	return reconcile.Result{}, control.IgnoreNotFound(setPodScheduled(c, pod, gated))
}
