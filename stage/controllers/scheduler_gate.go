package controllers

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// SchedulingGates returns the controller that tells Pods with scheduling gates why they are not scheduled. An API server does that as it creates them.
func SchedulingGates() reconcile.Controller {
	return reconcile.Controller{
		Name: "schedulinggates", For: pods,
		When:      func(ch reconcile.Change) bool { return ch.Old == nil && isGated(ch.New) },
		Reconcile: on(pods, tellGated),
	}
}

func isGated(obj *unstructured.Unstructured) bool {
	return len(list(obj.Object, "spec", "schedulingGates")) > 0
}

func tellGated(c call, obj *unstructured.Unstructured) (reconcile.Result, error) {
	if !isGated(obj) || (pod{obj}).condition("PodScheduled") != nil {
		return reconcile.Result{}, nil
	}
	gated := newCondition("PodScheduled", "False", "SchedulingGated", "Scheduling is blocked due to non-empty scheduling gates", c.now())
	err := c.setPodScheduled(obj, gated)
	if apierrors.IsNotFound(err) {
		err = nil
	}
	return reconcile.Result{}, err
}
