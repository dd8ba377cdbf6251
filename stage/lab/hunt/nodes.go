package hunt

import (
	"cmp"
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/fault"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
)

// nodeFaults are faults of the Node of a Pod.
var nodeFaults = map[string]fault.Fault{StopNode: fault.StopKubelet(), RemoveNode: fault.Remove()}

// strikesNode has the Node of a Pod fail, for a while, unless it has failed.
func (r *Run) strikesNode(f Fault) error {
	pod, err := r.shared.Get(context.Background(), pods, f.At.Key)
	if err != nil || f.At.Kind != pods.Kind {
		return errNothing
	}
	name, _ := object.String(pod.Object, "spec", "nodeName")
	node, err := r.shared.Get(context.Background(), schema.GroupVersionKind{Version: "v1", Kind: "Node"}, types.NamespacedName{Name: name})
	back := "node " + name // what ends the fault that it has
	if err != nil || slices.ContainsFunc(r.users, func(a pendingAction) bool { return a.name == back }) {
		return errNothing
	}
	strikes, lasts := nodeFaults[f.Do], cmp.Or(f.For, 10*time.Minute)
	target := func() fault.Target { return fault.Target{Cluster: r.sim.Cluster(), Object: node, Now: r.sim.Now()} }
	if err := strikes.Begin(context.Background(), target()); err != nil {
		return err
	}
	end := r.sim.Now().Add(lasts)
	r.disturbed = latest(r.disturbed, end)
	r.tell("node", "%s: %s", name, f.Do)
	r.users = append(r.users, pendingAction{at: end, end: end, name: back, do: func(*User) error {
		r.tell("node", "%s is back", name)
		return strikes.End(context.Background(), target())
	}})
	return nil
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

var pods = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}

// failPod has a Pod fail, as one that its kubelet evicts.
func (r *Run) failPod(f Fault) error {
	pod, err := r.shared.Get(context.Background(), pods, f.At.Key)
	if err != nil || f.At.Kind != pods.Kind || isOver(pod) {
		return errNothing
	}
	status := map[string]any{"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."}
	conditions, _ := object.Slice(pod.Object, "status", "conditions")
	if len(conditions) > 0 {
		status["conditions"] = unready(conditions, r.sim.Now())
	}
	data, err := object.AppendJSON(nil, map[string]any{"status": status})
	if err != nil {
		return err
	}
	_, err = r.sim.Cluster().Patch(context.Background(), pods, f.At.Key, types.MergePatchType, data, metav1.PatchOptions{FieldManager: "kubelet"}, "status")
	r.tell("node", "Pod %s fails: Evicted", f.At.Key)
	return err
}

func isOver(pod *unstructured.Unstructured) bool {
	phase, _ := object.String(pod.Object, "status", "phase")
	return phase == "Failed" || phase == "Succeeded" || pod.GetDeletionTimestamp() != nil
}

// unready returns conditions of a Pod that is no longer ready.
func unready(conditions []any, now time.Time) []any {
	conditions = slices.Clone(conditions)
	for i, v := range conditions {
		c, _ := v.(map[string]any)
		if c["type"] == "Ready" || c["type"] == "ContainersReady" {
			c = object.CopyMap(c)
			c["status"], c["reason"], c["lastTransitionTime"] = "False", "PodFailed", now.UTC().Format(time.RFC3339)
			conditions[i] = c
		}
	}
	return conditions
}
