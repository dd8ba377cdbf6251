package batch

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/conditions"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/lists"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/pods"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/selectors"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// Jobs returns the controller that runs Pods until enough of them have succeeded. Run
// [OrphanedPods] with it if Jobs are deleted, and [FinishedJobs] if Jobs have a time to live.
//
// The controller keeps state. Create a separate controller for each loop.
func Jobs() reconcile.Controller {
	b := backoffs{}
	return reconcile.Controller{
		Name: "job", Component: "job-controller", For: kinds.Job, Watches: control.WatchOwned(kinds.Pod, kinds.Job),
		RetryAfter: time.Second, MaxRetryAfter: time.Minute,
		Reconcile: func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
			job := r.Cache.Get(kinds.Job, r.Name)
			if job == nil {
				delete(b, r.Name)
				return reconcile.Result{}, nil
			}
			return reconcileJob(control.NewCall(ctx, r), job, b)
		},
	}
}

const (
	jobFinalizer    = "batch.kubernetes.io/job-tracking"
	indexKey        = "batch.kubernetes.io/job-completion-index"
	indexIgnoredKey = "batch.kubernetes.io/job-index-ignored-failure-count"
	indexFailsKey   = "batch.kubernetes.io/job-index-failure-count"
	jobController   = "kubernetes.io/job-controller"
	firstBackoff    = 10 * time.Second
	longestBackoff  = 10 * time.Minute
)

// jobLabels returns the labels of a Job's Pods, which on a cluster the API server puts into the
// template.
func jobLabels(job *unstructured.Unstructured) map[string]any {
	uid, name := string(job.GetUID()), job.GetName()
	return map[string]any{
		"batch.kubernetes.io/controller-uid": uid, "controller-uid": uid,
		"batch.kubernetes.io/job-name": name, "job-name": name,
	}
}

// A jobSpec is the spec of a Job, with the defaults of the API server.
type jobSpec struct {
	parallelism, completions   int64 // completions is -1 if any success will do
	backoffLimit, indexBackoff int64 // indexBackoff is -1 if failures are not counted by index
	maxFailedIndexes           int64
	deadline                   int64 // seconds; -1 for none
	indexed, suspended         bool
	replaceFailedOnly          bool
	failurePolicy              []map[string]any
	successPolicy              []map[string]any
}

func readJob(job *unstructured.Unstructured) jobSpec {
	spec := fields.Map(job.Object, "spec")
	s := jobSpec{
		parallelism:      fields.Int64(spec, 1, "parallelism"),
		completions:      fields.Int64(spec, -1, "completions"),
		indexBackoff:     fields.Int64(spec, -1, "backoffLimitPerIndex"),
		maxFailedIndexes: fields.Int64(spec, math.MaxInt32, "maxFailedIndexes"),
		deadline:         fields.Int64(spec, -1, "activeDeadlineSeconds"),
		indexed:          fields.String(spec, "completionMode") == "Indexed",
		suspended:        fields.Bool(spec, "suspend"),
		failurePolicy:    fields.Maps(spec, "podFailurePolicy", "rules"),
		successPolicy:    fields.Maps(spec, "successPolicy", "rules"),
	}
	s.backoffLimit = fields.Int64(spec, s.defaultBackoffLimit(), "backoffLimit")
	s.replaceFailedOnly = fields.String(spec, "podReplacementPolicy") == "Failed" || len(s.failurePolicy) > 0
	if _, given := object.Get(spec, "parallelism"); !given && s.completions < 0 {
		s.completions = 1
	}
	return s
}

func (s jobSpec) defaultBackoffLimit() int64 {
	if s.indexBackoff >= 0 {
		return math.MaxInt32
	}
	return 6
}

// A jobRun is one reconcile of a Job.
type jobRun struct {
	control.Call
	job    *unstructured.Unstructured
	spec   jobSpec
	pods   []pods.Pod // all that the Job owns
	active []pods.Pod

	jobStatus
	succeeded, failed int64                // Pods, including Pods that the status does not count yet
	ending            conditions.Condition // why the Job ends, nil if it continues; its type is SuccessCriteriaMet, FailureTarget or Failed
	requeueAfter      time.Duration
	backoffs          backoffs
	backoff           backoff // with the Pods that have ended now
}

func reconcileJob(c control.Call, job *unstructured.Unstructured, b backoffs) (reconcile.Result, error) {
	if by := fields.String(job.Object, "spec", "managedBy"); by != "" && by != jobController {
		return reconcile.Result{}, nil
	}
	r := &jobRun{Call: c, job: job, spec: readJob(job), jobStatus: readStatus(job), backoffs: b}
	if finishedCondition(r.conditions) != nil {
		return reconcile.Result{}, nil
	}
	if err := checkJob(job); err != nil {
		return reconcile.Result{}, err
	}
	objs, err := c.Claim(kinds.Pod, job, jobSelector(job))
	if err != nil {
		return reconcile.Result{}, err
	}
	r.pods = pods.OfAll(objs)
	r.active = lists.Filter(r.pods, pods.Pod.IsActive)
	r.countTerminal()
	r.checkFinished()
	failed := r.act()
	if c.Cache.Get(kinds.Job, c.Name) == nil {
		return reconcile.Result{}, failed
	}
	err = r.trackPods()
	return reconcile.Result{After: r.requeueAfter}, errors.Join(failed, err)
}

func jobSelector(job *unstructured.Unstructured) selectors.Selector {
	if s := selectors.Of(job); !s.IsEmpty() {
		return s
	}
	return selectors.Selector{MatchLabels: map[string]any{"batch.kubernetes.io/controller-uid": string(job.GetUID())}}
}

// checkJob refuses a selector that does not match the Pods of the Job.
func checkJob(job *unstructured.Unstructured) error {
	labels := jobLabels(job)
	maps.Copy(labels, fields.Map(job.Object, "spec", "template", "metadata", "labels"))
	return selectors.ValidateLabels(jobSelector(job), labels)
}

// finishedCondition returns the condition of a Job that is finished, nil if it continues.
func finishedCondition(l conditions.List) conditions.Condition {
	for _, kind := range []string{"Complete", "Failed"} {
		if c := l.Find(kind); c.IsTrue() {
			return c
		}
	}
	return nil
}

// countTerminal counts the Pods that are terminal, including Pods that the status does not count
// yet.
func (r *jobRun) countTerminal() {
	r.succeeded, r.failed = r.jobStatus.succeeded, r.jobStatus.failed
	r.terminating = lists.Count(r.pods, func(p pods.Pod) bool { return p.IsTerminating() && !p.IsTerminal() })
	var succeeded, failed []pods.Pod
	for _, p := range r.pods {
		switch {
		case r.uncounted.has(string(p.GetUID())) || !isTracked(p):
		case p.Phase() == "Succeeded":
			succeeded = append(succeeded, p)
		case r.hasFailed(p):
			failed = append(failed, p)
		}
	}
	r.backoff = r.backoffs.of(r.Name, r.job.GetUID()).after(succeeded, failed)
	r.succeeded += int64(len(succeeded))
	r.failed += lists.Count(failed, func(p pods.Pod) bool { return !r.isIgnored(p) })
	r.succeeded += int64(len(r.uncounted.succeeded))
	r.failed += int64(len(r.uncounted.failed))
	if r.spec.indexed {
		r.countIndexes()
		r.succeeded = r.succeededIndexes.count()
	}
	if r.start == "" && !r.spec.suspended {
		r.start = r.Timestamp()
	}
}

// hasFailed reports whether a Pod counts as failed. A Pod that is being deleted does, unless
// podReplacementPolicy is Failed.
func (r *jobRun) hasFailed(p pods.Pod) bool {
	return p.Phase() == "Failed" || !r.spec.replaceFailedOnly && p.IsTerminating() && p.Phase() != "Succeeded"
}

// isTracked reports whether a Pod has the finalizer that it keeps until the status counts it.
func isTracked(p pods.Pod) bool { return slices.Contains(p.GetFinalizers(), jobFinalizer) }

// checkFinished finds out whether the Job ends.
func (r *jobRun) checkFinished() {
	for _, by := range []func() conditions.Condition{r.byConditions, r.byFailurePolicy, r.byLimits, r.byIndexes, r.bySuccessPolicy} {
		if r.ending = by(); r.ending != nil {
			return
		}
	}
}

func (r *jobRun) condition(kind, reason, message string) conditions.Condition {
	c := conditions.New(kind, "True", reason, message, r.Timestamp())
	c["lastProbeTime"] = r.Timestamp()
	return c
}

func (r *jobRun) failure(reason, message string) conditions.Condition {
	return r.condition("FailureTarget", reason, message)
}

func (r *jobRun) byConditions() conditions.Condition {
	if c := r.conditions.Find("SuccessCriteriaMet"); c.IsTrue() {
		return c
	}
	if c := r.conditions.Find("FailureTarget"); c.IsTrue() {
		return r.condition("Failed", c.Field("reason"), c.Field("message"))
	}
	return nil
}

func (r *jobRun) byLimits() conditions.Condition {
	switch {
	case r.failed > r.spec.backoffLimit || r.restartedTooOften():
		return r.failure("BackoffLimitExceeded", "Job has reached the specified backoff limit")
	case r.pastDeadline():
		return r.failure("DeadlineExceeded", "Job was active longer than specified deadline")
	}
	return nil
}

// restartedTooOften counts the restarts of containers if restartPolicy is OnFailure, so that
// containers are retried and not Pods.
func (r *jobRun) restartedTooOften() bool {
	if fields.String(r.job.Object, "spec", "template", "spec", "restartPolicy") != "OnFailure" {
		return false
	}
	var n int64
	for _, p := range r.pods {
		if p.Phase() != "Running" && p.Phase() != "Pending" {
			continue
		}
		for _, field := range []string{"initContainerStatuses", "containerStatuses"} {
			for _, c := range fields.Maps(p.Object, "status", field) {
				n += fields.Int64(c, 0, "restartCount")
			}
		}
	}
	return n > 0 && n >= r.spec.backoffLimit
}

// pastDeadline reports whether activeDeadlineSeconds are over. If not, the key is looked at again
// when they are.
func (r *jobRun) pastDeadline() bool {
	start, err := time.Parse(time.RFC3339, r.start)
	if r.spec.deadline < 0 || err != nil || r.spec.suspended {
		return false
	}
	left := start.Add(fields.Seconds(r.spec.deadline)).Sub(r.Now)
	r.requeueAfter = control.Sooner(r.requeueAfter, max(left, 0))
	return left <= 0
}

// act creates and deletes Pods, unless the Job is being deleted; then the Job can only complete.
// After an error, act still does the other work.
func (r *jobRun) act() (failed error) {
	if r.ending != nil {
		return r.deleteActive()
	}
	managed := !fields.IsTerminating(r.job)
	if managed {
		failed = r.manage()
	}
	switch {
	case len(r.active) == 0 && r.hasEnough():
		r.ending = r.condition("SuccessCriteriaMet", "CompletionsReached", "Reached expected number of succeeded pods")
	case managed:
		r.setSuspended()
	}
	return failed
}

func (r *jobRun) hasEnough() bool {
	return r.succeeded > 0 && r.spec.completions < 0 || r.spec.completions >= 0 && r.succeeded >= r.spec.completions
}

// deleteActive deletes the Pods that still run when the Job ends.
func (r *jobRun) deleteActive() error {
	for _, p := range r.active {
		if err := r.DeletePod(r.job, p.Unstructured); err != nil {
			r.ending = nil // the next reconcile tries again
			return err
		}
	}
	r.terminating += int64(len(r.active))
	r.active = nil
	return nil
}

// setSuspended sets the condition Suspended when the Job is suspended or resumed.
func (r *jobRun) setSuspended() {
	old := r.conditions.Find("Suspended")
	if old.IsTrue() == r.spec.suspended {
		return
	}
	if r.spec.suspended {
		r.Record(r.job, "Normal", "Suspended", "Job suspended")
		r.conditions = r.conditions.Replace(r.condition("Suspended", "JobSuspended", "Job suspended"))
		r.start = ""
		return
	}
	r.Record(r.job, "Normal", "Resumed", "Job resumed")
	c := r.condition("Suspended", "JobResumed", "Job resumed")
	c["status"] = "False"
	r.conditions = r.conditions.Replace(c)
	r.start = r.Timestamp()
}

// removeFinalizer removes the tracking finalizer of a Pod, even if the Pod has changed otherwise. A
// missing Pod is not an error.
func removeFinalizer(c control.Call, p pods.Pod) error {
	obj := c.Cache.Get(kinds.Pod, control.NameOf(p.Unstructured))
	if obj == nil || obj.GetUID() != p.GetUID() || !isTracked(pods.Of(obj)) {
		return nil
	}
	const patch = `{"metadata":{"$deleteFromPrimitiveList/finalizers":["` + jobFinalizer + `"]}}`
	_, err := c.Client.Patch(c.Context, kinds.Pod, control.NameOf(obj), types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
