package batch

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/conditions"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/pods"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// FinishedJobs returns the controller that deletes finished Jobs when their time to live is over.
func FinishedJobs() reconcile.Controller {
	return reconcile.Controller{Name: "ttl-after-finished", For: kinds.Job, Reconcile: control.OnExisting(kinds.Job, deleteAfterTTL)}
}

// deleteAfterTTL deletes a finished Job at the end of its time to live, with its Pods.
func deleteAfterTTL(c control.Call, job *unstructured.Unstructured) (reconcile.Result, error) {
	at, ok := fields.Time(finishedCondition(conditions.Of(job)), "lastTransitionTime")
	ttl := fields.Int64(job.Object, -1, "spec", "ttlSecondsAfterFinished")
	if ttl < 0 || !ok || fields.IsTerminating(job) {
		return reconcile.Result{}, nil
	}
	if left := at.Add(fields.Seconds(ttl)).Sub(c.Now); left > 0 {
		return reconcile.Result{After: left}, nil
	}
	return reconcile.Result{}, c.DeleteInForeground(job)
}

// OrphanedPods returns the controller that removes the finalizer of [Jobs] from Pods that no Job
// counts, so that they can be deleted. The Job of such a Pod is gone, or is finished, or does not
// own the Pod.
func OrphanedPods() reconcile.Controller {
	return reconcile.Controller{
		Name: "job-orphans", For: kinds.Pod,
		When:    func(ch reconcile.Change) bool { return ch.New != nil && isTracked(pods.Of(ch.New)) },
		Watches: []reconcile.Watch{{Kind: kinds.Job, Map: podsOfEnded}},
		Reconcile: control.OnExisting(kinds.Pod, func(c control.Call, pod *unstructured.Unstructured) (reconcile.Result, error) {
			if !isTracked(pods.Of(pod)) || isCounted(c.Cache, pod) {
				return reconcile.Result{}, nil
			}
			return reconcile.Result{}, removeFinalizer(c, pods.Of(pod))
		}),
	}
}

// podsOfEnded returns the Pods of a Job that is gone or finished.
func podsOfEnded(c *reconcile.Cache, ch reconcile.Change) (names []types.NamespacedName) {
	if ch.New != nil && finishedCondition(conditions.Of(ch.New)) == nil {
		return nil
	}
	for _, pod := range c.Owned(kinds.Pod, ch.Object().GetUID()) {
		names = append(names, control.NameOf(pod))
	}
	return names
}

// isCounted reports whether a Pod has a Job that will count it.
func isCounted(c *reconcile.Cache, pod *unstructured.Unstructured) bool {
	for _, ref := range fields.Maps(pod.Object, "metadata", "ownerReferences") {
		if !fields.Bool(ref, "controller") || fields.String(ref, "kind") != kinds.Job.Kind {
			continue
		}
		job := c.Get(kinds.Job, types.NamespacedName{Namespace: pod.GetNamespace(), Name: fields.String(ref, "name")})
		return job != nil && string(job.GetUID()) == fields.String(ref, "uid") && finishedCondition(conditions.Of(job)) == nil
	}
	return false
}
