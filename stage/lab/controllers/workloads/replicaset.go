package workloads

import (
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/conditions"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/lists"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/pods"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// ReplicaSets returns the controller that keeps as many Pods as a ReplicaSet asks for.
//
// The controller keeps state. Create a separate controller for each loop.
func ReplicaSets() reconcile.Controller {
	return replicas("replicaset", "replicaset-controller", kinds.ReplicaSet)
}

// ReplicationControllers returns the controller that keeps as many Pods as a ReplicationController
// asks for.
//
// The controller keeps state. Create a separate controller for each loop.
func ReplicationControllers() reconcile.Controller {
	return replicas("replicationcontroller", "replication-controller", kinds.ReplicationController)
}

func replicas(name, component string, kind schema.GroupVersionKind) reconcile.Controller {
	t := tracker[*replicaPods]{}
	return reconcile.Controller{
		Name: name, Component: component, For: kind, When: control.IgnoreOwnStatus(name),
		Watches: append(t.watches(name, kind), control.WatchOwned(kinds.Pod, kind)...),
		Reconcile: control.OnExisting(kind, func(c control.Call, rs *unstructured.Unstructured) (reconcile.Result, error) {
			return reconcileReplicas(c, rs, t)
		}),
	}
}

// reconcileReplicas counts the Pods for the status before it creates or deletes Pods, as
// kube-controller-manager does. The changes of the Pods bring the key back.
func reconcileReplicas(c control.Call, rs *unstructured.Unstructured, t tracker[*replicaPods]) (reconcile.Result, error) {
	n, err := count(c, rs, t)
	if err != nil {
		return reconcile.Result{}, err
	}
	available, next := availableReplicas(c, rs, n)
	failed := scaleReplicas(c, rs, n, t)
	if current := c.Cache.Get(rs.GroupVersionKind(), c.Name); current == nil {
		return reconcile.Result{}, failed
	}
	status := replicasStatus(rs, n, available)
	replicasConditions(rs, n.active, failed, c.Now).WriteTo(status)
	return reconcile.Result{After: next}, errors.Join(failed, c.WriteStatus(rs, status))
}

// scaleReplicas creates missing Pods and deletes surplus Pods.
func scaleReplicas(c control.Call, rs *unstructured.Unstructured, n podCounts, t tracker[*replicaPods]) error {
	if fields.IsTerminating(rs) {
		return nil
	}
	diff := min(specReplicas(rs)-n.active, control.AtMost)
	if diff >= 0 {
		return createReplicas(c, rs, int(diff), control.Room(n.active+n.terminating, n.waiting))
	}
	gone := pods.ToDelete(candidatesOf(rs, t), onNodes(siblings(c, rs), t), min(int(-diff), control.AtMost), c.Now)
	return c.Each(len(gone), func(i int) error { return c.DeletePod(rs, gone[i].Pod.Unstructured) })
}

// createReplicas creates Pods, as many as there is room for.
func createReplicas(c control.Call, rs *unstructured.Unstructured, missing, room int) error {
	err := c.SlowStart(min(missing, room), func(int) error {
		_, err := c.CreatePod(rs, pods.FromTemplate(rs, podTemplate(rs)).Unstructured)
		return err
	})
	if err == nil && missing > room {
		return c.NoRoom(rs)
	}
	return err
}

func podTemplate(owner *unstructured.Unstructured) map[string]any {
	return fields.Map(owner.Object, "spec", "template")
}

// siblings are the ReplicaSets that have the same controller. A ReplicaSet without a controller has
// no siblings, not even itself. Then it does not matter how many of its Pods a Node has.
func siblings(c control.Call, rs *unstructured.Unstructured) []*unstructured.Unstructured {
	if uid := control.ControllerUID(rs); uid != "" {
		return c.Cache.Owned(rs.GroupVersionKind(), uid)
	}
	return nil
}

// availableReplicas returns how many Pods have been ready for minReadySeconds, and after which time
// there will be more.
func availableReplicas(c control.Call, rs *unstructured.Unstructured, n podCounts) (available int64, next time.Duration) {
	minReadySeconds := fields.Int64(rs.Object, 0, "spec", "minReadySeconds")
	if minReadySeconds == 0 || n.ready == 0 {
		return n.ready, 0
	}
	for _, p := range lists.Filter(pods.OfAll(c.Cache.Owned(kinds.Pod, rs.GetUID())), pods.Pod.IsActive) {
		is, left := p.Available(minReadySeconds, c.Now)
		available += one(is)
		next = control.Sooner(next, left)
	}
	return available, next
}

// replicasStatus returns the status of a ReplicaSet or ReplicationController, without its
// conditions.
func replicasStatus(rs *unstructured.Unstructured, n podCounts, available int64) control.Status {
	status := control.Status{"replicas": n.active}
	status.SetNonZero("fullyLabeledReplicas", n.labelled)
	status.SetNonZero("readyReplicas", n.ready)
	status.SetNonZero("availableReplicas", available)
	status.SetNonZero("observedGeneration", rs.GetGeneration())
	if rs.GetKind() == kinds.ReplicaSet.Kind {
		status["terminatingReplicas"] = n.terminating
	}
	return status
}

// replicasConditions returns the conditions, with ReplicaFailure while Pods cannot be created or
// deleted.
func replicasConditions(rs *unstructured.Unstructured, active int64, failed error, now time.Time) conditions.List {
	l := conditions.Of(rs)
	if failed == nil {
		return l.Without("ReplicaFailure")
	}
	if l.Find("ReplicaFailure") != nil {
		return l
	}
	reason := "FailedCreate"
	if active > specReplicas(rs) {
		reason = "FailedDelete"
	}
	return l.Set(conditions.New("ReplicaFailure", "True", reason, failed.Error(), fields.FormatTime(now)))
}

// one counts a condition: 1 if it holds, else 0.
func one(holds bool) int64 {
	if holds {
		return 1
	}
	return 0
}
