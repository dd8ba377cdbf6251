package controllers

import (
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// ReplicaSets returns the controller that keeps the number of Pods that a ReplicaSet asks for.
func ReplicaSets() reconcile.Controller { return replicas("replicaset", replicaSets, replicaSetKind{}) }

// ReplicationControllers returns the controller that keeps the number of Pods that a ReplicationController asks for.
func ReplicationControllers() reconcile.Controller {
	return replicas("replicationcontroller", replicationControllers, replicationControllerKind{})
}

// A replicaKind is in what ReplicaSets and ReplicationControllers differ.
type replicaKind interface {
	selector(*unstructured.Unstructured) selector
	// finish adds to a status what only this kind has.
	finish(status counts, terminating int64)
}

type (
	replicaSetKind            struct{}
	replicationControllerKind struct{}
)

func (replicaSetKind) selector(obj *unstructured.Unstructured) selector {
	return selectorAt(obj)
}

func (replicaSetKind) finish(status counts, terminating int64) {
	status["terminatingReplicas"] = terminating
}

func (replicationControllerKind) selector(obj *unstructured.Unstructured) selector {
	return selector{plain: tree(obj.Object, "spec", "selector")}
}

func (replicationControllerKind) finish(counts, int64) {}

func replicas(name string, kind schema.GroupVersionKind, k replicaKind) reconcile.Controller {
	return reconcile.Controller{
		Name: name, For: kind, When: besidesOwnStatus(name), Watches: claims(pods, kind),
		Reconcile: on(kind, func(c call, rs *unstructured.Unstructured) (reconcile.Result, error) {
			return reconcileReplicas(c, rs, k)
		}),
	}
}

// reconcileReplicas tells of the Pods that were there before it makes or deletes some, as kube-controller-manager does; these bring it back.
func reconcileReplicas(c call, rs *unstructured.Unstructured, k replicaKind) (reconcile.Result, error) {
	all, err := c.claimPods(rs, k.selector(rs))
	if err != nil {
		return reconcile.Result{}, err
	}
	active := keep(all, pod.active)
	terminating := count(all, func(p pod) bool { return p.terminating() && !p.ended() })
	failed := scaleReplicas(c, rs, active)
	if current := c.Cache.Get(rs.GroupVersionKind(), c.Name); current == nil {
		return reconcile.Result{}, failed
	}
	status, next := replicasStatus(rs, active, failed, c.Now)
	k.finish(status, terminating)
	return reconcile.Result{After: next}, errors.Join(failed, c.writeStatus(rs, status))
}

// scaleReplicas makes the Pods that are missing and deletes those that are too many.
func scaleReplicas(c call, rs *unstructured.Unstructured, active []pod) error {
	if isTerminating(rs) {
		return nil
	}
	diff := int(number(rs.Object, 1, "spec", "replicas")) - len(active)
	for ; diff > 0; diff-- {
		if _, err := c.create(newPod(rs, tree(rs.Object, "spec", "template"))); err != nil {
			return err
		}
	}
	if diff == 0 {
		return nil
	}
	for _, p := range victims(active, c.related(rs), -diff, c.Now) {
		if err := c.delete(p.Unstructured); err != nil {
			return err
		}
	}
	return nil
}

// related returns the Pods of all ReplicaSets that have the same controller.
func (c call) related(rs *unstructured.Unstructured) []pod {
	siblings := []*unstructured.Unstructured{rs}
	for _, ref := range trees(rs.Object, "metadata", "ownerReferences") {
		if flag(ref, "controller") {
			siblings = c.Cache.Owned(rs.GroupVersionKind(), uidOf(ref))
		}
	}
	var found []pod
	for _, sibling := range siblings {
		found = append(found, podsOf(c.Cache.Owned(pods, sibling.GetUID()))...)
	}
	return found
}

// replicasStatus returns the status of a ReplicaSet or ReplicationController, and how long it takes until a Pod that is ready counts as available.
func replicasStatus(rs *unstructured.Unstructured, active []pod, failed error, now time.Time) (status counts, next time.Duration) {
	labels, minReady := tree(rs.Object, "spec", "template", "metadata", "labels"), number(rs.Object, 0, "spec", "minReadySeconds")
	var labelled, ready, available int64
	for _, p := range active {
		labelled += int64(truth(contains(tree(p.Object, "metadata", "labels"), labels)))
		if !p.ready() {
			continue
		}
		ready++
		left := p.unavailableFor(minReady, now)
		available += int64(truth(left == 0))
		next = sooner(next, left)
	}
	status = counts{"replicas": int64(len(active))}
	status.add("fullyLabeledReplicas", labelled)
	status.add("readyReplicas", ready)
	status.add("availableReplicas", available)
	status.add("observedGeneration", rs.GetGeneration())
	replicasConditions(rs, active, failed, now).into(status)
	return status, next
}

// replicasConditions has ReplicaFailure while Pods cannot be made or deleted.
func replicasConditions(rs *unstructured.Unstructured, active []pod, failed error, now time.Time) conditions {
	cs := conditionsOf(rs)
	if failed == nil {
		return cs.without("ReplicaFailure")
	}
	if cs.find("ReplicaFailure") != nil {
		return cs
	}
	reason := "FailedCreate"
	if int64(len(active)) > number(rs.Object, 1, "spec", "replicas") {
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
