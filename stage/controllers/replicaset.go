package controllers

import (
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// ReplicaSets returns the controller that keeps the number of Pods that a ReplicaSet asks for.
//
// The controller has a state. Give each loop one of its own.
func ReplicaSets() reconcile.Controller { return replicas("replicaset", replicaSets, replicaSetKind{}) }

// ReplicationControllers returns the controller that keeps the number of Pods that a ReplicationController asks for.
//
// The controller has a state. Give each loop one of its own.
func ReplicationControllers() reconcile.Controller {
	return replicas("replicationcontroller", replicationControllers, replicationControllerKind{})
}

// A replicaKind is in what ReplicaSets and ReplicationControllers differ.
type replicaKind interface {
	// finish adds to a status what only this kind has.
	finish(status counts, terminating int64)
}

type (
	replicaSetKind            struct{}
	replicationControllerKind struct{}
)

func (replicaSetKind) finish(status counts, terminating int64) {
	status["terminatingReplicas"] = terminating
}

func (replicationControllerKind) finish(counts, int64) {}

func replicas(name string, kind schema.GroupVersionKind, k replicaKind) reconcile.Controller {
	b := books{}
	return reconcile.Controller{
		Name: name, For: kind, When: besidesOwnStatus(name), Watches: append(b.watches(kind), claims(pods, kind)...),
		Reconcile: on(kind, func(c call, rs *unstructured.Unstructured) (reconcile.Result, error) {
			return reconcileReplicas(c, rs, k, b)
		}),
	}
}

// reconcileReplicas tells of the Pods that were there before it makes or deletes some, as kube-controller-manager does; these bring it back.
func reconcileReplicas(c call, rs *unstructured.Unstructured, k replicaKind, b books) (reconcile.Result, error) {
	n, err := b.of(c, rs)
	if err != nil {
		return reconcile.Result{}, err
	}
	available, next := c.availableReplicas(rs, n)
	failed := c.scaleReplicas(rs, n.active, b)
	if current := c.Cache.Get(rs.GroupVersionKind(), c.Name); current == nil {
		return reconcile.Result{}, failed
	}
	status := replicasStatus(rs, n, available)
	replicasConditions(rs, n.active, failed, c.Now).into(status)
	k.finish(status, n.terminating)
	return reconcile.Result{After: next}, errors.Join(failed, c.writeStatus(rs, status))
}

// scaleReplicas makes the Pods that are missing and deletes those that are too many.
func (c call) scaleReplicas(rs *unstructured.Unstructured, active int64, b books) error {
	if isTerminating(rs) {
		return nil
	}
	diff := wanted(rs) - active
	for ; diff > 0; diff-- {
		if _, err := c.create(newPod(rs, tree(rs.Object, "spec", "template"))); err != nil {
			return err
		}
	}
	if diff == 0 {
		return nil
	}
	for _, r := range victims(b.ranks(rs), b.onNodes(c.siblings(rs)), int(-diff), c.Now) {
		if err := c.delete(r.obj.Unstructured); err != nil {
			return err
		}
	}
	return nil
}

// siblings are the ReplicaSets that have the same controller, or this one alone.
func (c call) siblings(rs *unstructured.Unstructured) []*unstructured.Unstructured {
	if uid := controllerUID(rs); uid != "" {
		return c.Cache.Owned(rs.GroupVersionKind(), uid)
	}
	return []*unstructured.Unstructured{rs}
}

// availableReplicas returns how many Pods have been ready for long enough, and how long it takes until there are more.
func (c call) availableReplicas(rs *unstructured.Unstructured, n census) (available int64, next time.Duration) {
	minReady := number(rs.Object, 0, "spec", "minReadySeconds")
	if minReady == 0 || n.ready == 0 {
		return n.ready, 0
	}
	for _, p := range keep(podsOf(c.Cache.Owned(pods, rs.GetUID())), pod.active) {
		is, left := p.available(minReady, c.Now)
		available += int64(truth(is))
		next = sooner(next, left)
	}
	return available, next
}

// replicasStatus returns the status of a ReplicaSet or ReplicationController, without its conditions.
func replicasStatus(rs *unstructured.Unstructured, n census, available int64) counts {
	status := counts{"replicas": n.active}
	status.add("fullyLabeledReplicas", n.labelled)
	status.add("readyReplicas", n.ready)
	status.add("availableReplicas", available)
	status.add("observedGeneration", rs.GetGeneration())
	return status
}

// replicasConditions has ReplicaFailure while Pods cannot be made or deleted.
func replicasConditions(rs *unstructured.Unstructured, active int64, failed error, now time.Time) conditions {
	cs := conditionsOf(rs)
	if failed == nil {
		return cs.without("ReplicaFailure")
	}
	if cs.find("ReplicaFailure") != nil {
		return cs
	}
	reason := "FailedCreate"
	if active > wanted(rs) {
		reason = "FailedDelete"
	}
	return cs.put(newCondition("ReplicaFailure", "True", reason, failed.Error(), stamp(now)))
}

// sooner returns the shorter of two times to wait, of which 0 means none.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
