package scheduling

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/conditions"
	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/pods"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// Bind gives a Pod its Node: it writes spec.nodeName, and the condition PodScheduled=True with the
// time of the request. A Pod that is gone is no error; one that has changed since it was read is a
// conflict, after which the request is tried again.
//
// stage/memory takes this; an API server wants a Binding instead.
func Bind(ctx context.Context, r reconcile.Request, pod *unstructured.Unstructured, node string) error {
	c := control.NewCall(ctx, r)
	bound, err := c.MergePatch(pod, map[string]any{"spec": map[string]any{"nodeName": node}})
	if err != nil {
		return control.IgnoreNotFound(err)
	}
	c.Request = r.AtOnce() // an API server does it with the binding
	return control.IgnoreNotFound(setPodScheduled(c, bound, conditions.Condition{
		"type": podScheduled, "status": "True", "lastProbeTime": nil, "lastTransitionTime": c.Timestamp(),
	}))
}

const podScheduled = "PodScheduled"

// reportUnschedulable writes into the Pods of a class why they are not scheduled, unless they say
// so already.
func reportUnschedulable(c control.Call, class *podClass, message string) error {
	waiting := class.unreported
	if class.message != message {
		waiting = slices.Clone(class.waiting)
	}
	class.message, class.unreported = message, nil
	for _, queued := range waiting {
		pod := c.Cache.Get(kinds.Pod, queued.name)
		if pod == nil || pods.Of(pod).NodeName() != "" {
			continue
		}
		err := setPodScheduled(c, pod, conditions.Condition{
			"type": podScheduled, "status": "False", "reason": "Unschedulable", "message": message,
			"observedGeneration": pod.GetGeneration(), "lastProbeTime": nil, "lastTransitionTime": c.Timestamp(),
		})
		if control.IgnoreNotFound(err) != nil {
			class.message = "" // report it to all again
			return err
		}
	}
	return nil
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
	change := map[string]any{"status": map[string]any{"conditions": []any{map[string]any(next)}}}
	data, err := object.AppendJSON(nil, change)
	if err != nil {
		return err
	}
	o := metav1.PatchOptions{FieldManager: "kube-scheduler"}
	_, err = c.Client.Patch(c.Context, kinds.Pod, control.NameOf(pod), types.StrategicMergePatchType, data, o, "status")
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
