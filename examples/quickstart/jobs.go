package main

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// tracking is the finalizer that keeps a Pod until its Job has counted it.
const tracking = "batch.kubernetes.io/job-tracking"

// batch is the time for which the Job controller of Kubernetes collects changes of Pods.
const batch = time.Second

// mostFailures is the default backoffLimit of a Job.
const mostFailures = 6

// A job has the fields of a Job that the controller reads, and the status that it writes.
type job struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Parallelism             int            `json:"parallelism"`
		Completions             int            `json:"completions"`
		TTLSecondsAfterFinished *int           `json:"ttlSecondsAfterFinished"`
		Template                map[string]any `json:"template"`
	} `json:"spec"`
	Status jobStatus `json:"status"`
}

type jobStatus struct {
	StartTime      *metav1.Time `json:"startTime,omitempty"`
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	Active         int          `json:"active"`
	Succeeded      int          `json:"succeeded"`
	Failed         int          `json:"failed"`
	Conditions     []condition  `json:"conditions,omitempty"`
}

// startJob starts a new Job.
func (c *cluster) startJob(ctx context.Context, event watch.EventType, obj *unstructured.Unstructured) error {
	j, err := decode[job](obj)
	if err != nil || event != watch.Added {
		return err
	}
	j.Status.StartTime = c.timestamp()
	return c.syncJob(ctx, &j)
}

// trackPod schedules the count of a Pod that has ended or is being deleted.
func (c *cluster) trackPod(_ context.Context, _ watch.EventType, obj *unstructured.Unstructured) error {
	phase := phaseOf(obj)
	over := phase == "Succeeded" || phase == "Failed" || obj.GetDeletionTimestamp() != nil
	if name := nameOf(obj); over && isTracked(obj) {
		c.sim.At(c.sim.Now().Add(batch), func(ctx context.Context) error { return c.countPod(ctx, name) })
	}
	return nil
}

// countPod removes the finalizer of a Pod and counts it, unless that has been done since.
func (c *cluster) countPod(ctx context.Context, name types.NamespacedName) error {
	pod, err := c.Get(ctx, podKind, name)
	if err != nil || !isTracked(pod) {
		return ignoreNotFound(err)
	}
	untrack(pod)
	if _, err := c.Update(ctx, pod, metav1.UpdateOptions{}); err != nil {
		return err
	}
	owner := types.NamespacedName{Namespace: name.Namespace, Name: metav1.GetControllerOf(pod).Name}
	obj, err := c.Get(ctx, jobKind, owner)
	if err != nil {
		return ignoreNotFound(err)
	}
	j, err := decode[job](obj)
	if err != nil {
		return err
	}
	j.Status.count(phaseOf(pod))
	return c.syncJob(ctx, &j)
}

func (s *jobStatus) count(phase string) {
	s.Active--
	if phase == "Succeeded" {
		s.Succeeded++
	} else {
		s.Failed++
	}
}

// syncJob creates the Pods that a Job lacks, or ends the Job, and writes its status. The real
// controller also waits longer after each failure.
func (c *cluster) syncJob(ctx context.Context, j *job) error {
	switch {
	case j.DeletionTimestamp != nil || len(j.Status.Conditions) > 0:
	case j.Status.Succeeded >= j.Spec.Completions:
		j.Status.CompletionTime = c.timestamp()
		j.Status.Conditions = []condition{{Type: "Complete", Status: "True", Reason: "CompletionsReached"}}
	case j.Status.Failed > mostFailures:
		j.Status.Conditions = []condition{{Type: "Failed", Status: "True", Reason: "BackoffLimitExceeded"}}
	default:
		if err := c.createPods(ctx, j); err != nil {
			return err
		}
	}
	status, err := json.Marshal(map[string]any{"status": j.Status})
	if err != nil {
		return err
	}
	_, err = c.Patch(ctx, jobKind, nameOf(j), types.MergePatchType, status, metav1.PatchOptions{}, "status")
	return ignoreNotFound(err)
}

func (c *cluster) createPods(ctx context.Context, j *job) error {
	for j.Status.Active < min(j.Spec.Parallelism, j.Spec.Completions-j.Status.Succeeded) {
		if _, err := c.Create(ctx, j.newPod(), metav1.CreateOptions{}); err != nil {
			return err
		}
		j.Status.Active++
	}
	return nil
}

// newPod makes a Pod from the template. The API server generates its name.
func (j *job) newPod() *unstructured.Unstructured {
	p := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(j.Spec.Template)}
	p.SetGroupVersionKind(podKind)
	p.SetNamespace(j.Namespace)
	p.SetGenerateName(j.Name + "-")
	p.SetFinalizers([]string{tracking})
	p.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(j, jobKind)})
	p.SetLabels(map[string]string{
		"batch.kubernetes.io/job-name":       j.Name,
		"batch.kubernetes.io/controller-uid": string(j.UID),
		"job-name":                           j.Name,
		"controller-uid":                     string(j.UID),
	})
	return p
}

// expireJob deletes a finished Job, and its Pods with it, after ttlSecondsAfterFinished.
func (c *cluster) expireJob(_ context.Context, _ watch.EventType, obj *unstructured.Unstructured) error {
	j, err := decode[job](obj)
	if err != nil || len(j.Status.Conditions) == 0 || j.Spec.TTLSecondsAfterFinished == nil || j.DeletionTimestamp != nil {
		return err
	}
	ttl := time.Duration(*j.Spec.TTLSecondsAfterFinished) * time.Second
	policy := metav1.DeletePropagationForeground
	c.sim.At(c.sim.Now().Add(ttl), func(ctx context.Context) error {
		return ignoreNotFound(c.Delete(ctx, jobKind, nameOf(&j), metav1.DeleteOptions{PropagationPolicy: &policy}))
	})
	return nil
}

// untrack removes the finalizer.
func untrack(pod *unstructured.Unstructured) {
	var left []string
	for _, f := range pod.GetFinalizers() {
		if f != tracking {
			left = append(left, f)
		}
	}
	pod.SetFinalizers(left)
}

func phaseOf(obj *unstructured.Unstructured) string {
	phase, _, _ := unstructured.NestedString(obj.Object, "status", "phase")
	return phase
}

// isTracked reports whether a Pod belongs to a Job that has not counted it yet.
func isTracked(obj *unstructured.Unstructured) bool {
	owner := metav1.GetControllerOf(obj)
	return owner != nil && owner.Kind == jobKind.Kind && slices.Contains(obj.GetFinalizers(), tracking)
}
