package controllers

import (
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// Jobs returns the controller that runs Pods until enough of them have succeeded, and deletes finished Jobs when their time to live is over.
func Jobs() reconcile.Controller {
	return reconcile.Controller{Name: "job", For: jobs, Watches: claims(pods, jobs), Reconcile: on(jobs, reconcileJob)}
}

const (
	jobFinalizer   = "batch.kubernetes.io/job-tracking"
	indexKey       = "batch.kubernetes.io/job-completion-index"
	indexFailsKey  = "batch.kubernetes.io/job-index-failure-count"
	jobController  = "kubernetes.io/job-controller"
	firstBackoff   = 10 * time.Second
	longestBackoff = 10 * time.Minute
)

// jobLabels are those of a Job's Pods. The API server puts them into the template.
func jobLabels(job *unstructured.Unstructured) map[string]any {
	uid, name := string(job.GetUID()), job.GetName()
	return map[string]any{
		"batch.kubernetes.io/controller-uid": uid, "controller-uid": uid,
		"batch.kubernetes.io/job-name": name, "job-name": name,
	}
}

// A jobSpec is what a Job asks for, with the defaults of the API server.
type jobSpec struct {
	parallelism, completions   int64 // completions is -1 if any success will do
	backoffLimit, indexBackoff int64 // indexBackoff is -1 if failures are not counted by index
	maxFailedIndexes           int64
	deadline, ttl              int64 // seconds; -1 for none
	indexed, suspended         bool
	replaceFailedOnly          bool
	failurePolicy              []map[string]any
	successPolicy              []map[string]any
}

func readJob(job *unstructured.Unstructured) jobSpec {
	spec := tree(job.Object, "spec")
	s := jobSpec{
		parallelism:      number(spec, 1, "parallelism"),
		completions:      number(spec, -1, "completions"),
		indexBackoff:     number(spec, -1, "backoffLimitPerIndex"),
		maxFailedIndexes: number(spec, math.MaxInt32, "maxFailedIndexes"),
		deadline:         number(spec, -1, "activeDeadlineSeconds"),
		ttl:              number(spec, -1, "ttlSecondsAfterFinished"),
		indexed:          text(spec, "completionMode") == "Indexed",
		suspended:        flag(spec, "suspend"),
		failurePolicy:    trees(spec, "podFailurePolicy", "rules"),
		successPolicy:    trees(spec, "successPolicy", "rules"),
	}
	s.backoffLimit = number(spec, s.defaultBackoffLimit(), "backoffLimit")
	s.replaceFailedOnly = text(spec, "podReplacementPolicy") == "Failed" || len(s.failurePolicy) > 0
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

// A jobRun is one look at a Job.
type jobRun struct {
	call
	job    *unstructured.Unstructured
	spec   jobSpec
	pods   []pod // all that the Job controls
	active []pod

	tally
	succeeded, failed int64     // those in the tally and those that are new
	verdict           condition // how the Job ends, if it does; its type is SuccessCriteriaMet, FailureTarget or Failed
	again             time.Duration
}

func reconcileJob(c call, job *unstructured.Unstructured) (reconcile.Result, error) {
	if by := text(job.Object, "spec", "managedBy"); by != "" && by != jobController {
		return reconcile.Result{}, nil
	}
	r := &jobRun{call: c, job: job, spec: readJob(job), tally: readTally(job)}
	if end := r.conditions.finished(); end != nil {
		return r.expire(end)
	}
	if err := checkJob(job); err != nil {
		return reconcile.Result{}, err
	}
	objs, err := c.claim(pods, job, jobSelector(job))
	if err != nil {
		return reconcile.Result{}, err
	}
	r.pods = podsOf(objs)
	r.active = keep(r.pods, pod.active)
	r.count()
	r.judge()
	failed := r.act()
	if c.Cache.Get(jobs, c.Name) == nil {
		return reconcile.Result{}, failed
	}
	err = r.track()
	return reconcile.Result{After: r.again}, errors.Join(failed, err)
}

func jobSelector(job *unstructured.Unstructured) selector {
	if s := selectorAt(job); !s.isEmpty() {
		return s
	}
	return selector{plain: map[string]any{"batch.kubernetes.io/controller-uid": string(job.GetUID())}}
}

// checkJob refuses a selector that does not match the Pods of the Job.
func checkJob(job *unstructured.Unstructured) error {
	labels := jobLabels(job)
	maps.Copy(labels, tree(job.Object, "spec", "template", "metadata", "labels"))
	return checkLabels(jobSelector(job), labels)
}

// finished returns the condition that ended the Job, nil if it goes on.
func (cs conditions) finished() condition {
	for _, kind := range []string{"Complete", "Failed"} {
		if c := cs.find(kind); c.is() {
			return c
		}
	}
	return nil
}

// expire deletes a finished Job at the end of its time to live.
func (r *jobRun) expire(end condition) (reconcile.Result, error) {
	at, ok := timeAt(end, "lastTransitionTime")
	if r.spec.ttl < 0 || !ok || isTerminating(r.job) {
		return reconcile.Result{}, nil
	}
	if left := at.Add(seconds(r.spec.ttl)).Sub(r.Now); left > 0 {
		return reconcile.Result{After: left}, nil
	}
	return reconcile.Result{}, r.delete(r.job)
}

// count counts the Pods that have ended, those included that the status does not tell of yet.
func (r *jobRun) count() {
	r.succeeded, r.failed = r.tally.succeeded, r.tally.failed
	r.leaving = count(r.pods, func(p pod) bool { return p.terminating() && !p.ended() })
	for _, p := range r.pods {
		uid := string(p.GetUID())
		switch {
		case r.uncounted.has(uid) || !p.tracked():
		case p.phase() == "Succeeded":
			r.succeeded++
		case r.hasFailed(p) && !r.ignored(p):
			r.failed++
		}
	}
	r.succeeded += int64(len(r.uncounted.succeeded))
	r.failed += int64(len(r.uncounted.failed))
	if r.spec.indexed {
		r.countIndexes()
		r.succeeded = int64(len(r.done))
	}
	if r.start == "" && !r.spec.suspended {
		r.start = r.now()
	}
}

// hasFailed reports whether a Pod counts as failed: unless only failed ones are to be replaced, one that somebody deletes does.
func (r *jobRun) hasFailed(p pod) bool {
	return p.phase() == "Failed" || !r.spec.replaceFailedOnly && p.terminating() && p.phase() != "Succeeded"
}

// tracked Pods have not been counted for good.
func (p pod) tracked() bool { return slices.Contains(p.GetFinalizers(), jobFinalizer) }

// judge finds out whether the Job has ended.
func (r *jobRun) judge() {
	for _, by := range []func() condition{r.decidedBefore, r.byFailurePolicy, r.byLimits, r.byIndexes, r.bySuccessPolicy} {
		if r.verdict = by(); r.verdict != nil {
			return
		}
	}
}

func (r *jobRun) condition(kind, reason, message string) condition {
	c := newCondition(kind, "True", reason, message, r.now())
	c["lastProbeTime"] = r.now()
	return c
}

func (r *jobRun) failure(reason, message string) condition {
	return r.condition("FailureTarget", reason, message)
}

func (r *jobRun) decidedBefore() condition {
	if c := r.conditions.find("SuccessCriteriaMet"); c.is() {
		return c
	}
	if c := r.conditions.find("FailureTarget"); c.is() {
		return r.condition("Failed", c.field("reason"), c.field("message"))
	}
	return nil
}

func (r *jobRun) byLimits() condition {
	switch {
	case r.failed > r.spec.backoffLimit || r.restartedTooOften():
		return r.failure("BackoffLimitExceeded", "Job has reached the specified backoff limit")
	case r.pastDeadline():
		return r.failure("DeadlineExceeded", "Job was active longer than specified deadline")
	}
	return nil
}

// restartedTooOften counts the restarts of containers, if it is these that are retried.
func (r *jobRun) restartedTooOften() bool {
	if text(r.job.Object, "spec", "template", "spec", "restartPolicy") != "OnFailure" {
		return false
	}
	var n int64
	for _, p := range r.pods {
		if p.phase() != "Running" && p.phase() != "Pending" {
			continue
		}
		for _, field := range []string{"initContainerStatuses", "containerStatuses"} {
			for _, c := range trees(p.Object, "status", field) {
				n += number(c, 0, "restartCount")
			}
		}
	}
	return n > 0 && n >= r.spec.backoffLimit
}

// pastDeadline also notes when the deadline is.
func (r *jobRun) pastDeadline() bool {
	start, err := time.Parse(time.RFC3339, r.start)
	if r.spec.deadline < 0 || err != nil || r.spec.suspended {
		return false
	}
	left := start.Add(seconds(r.spec.deadline)).Sub(r.Now)
	r.again = sooner(r.again, max(left, 0))
	return left <= 0
}

// act makes and deletes Pods.
func (r *jobRun) act() error {
	if r.verdict != nil {
		return r.stop()
	}
	if isTerminating(r.job) {
		return nil
	}
	failed := r.manage()
	if failed == nil && len(r.active) == 0 && r.enough() {
		r.verdict = r.condition("SuccessCriteriaMet", "CompletionsReached", "Reached expected number of succeeded pods")
		return nil
	}
	r.noteSuspension(failed)
	return failed
}

func (r *jobRun) enough() bool {
	return r.succeeded > 0 && r.spec.completions < 0 || r.spec.completions >= 0 && r.succeeded >= r.spec.completions
}

// stop deletes the Pods that still run when the Job has ended.
func (r *jobRun) stop() error {
	for _, p := range r.active {
		if err := r.delete(p.Unstructured); err != nil {
			r.verdict = nil // the next look will try again
			return err
		}
	}
	r.leaving += int64(len(r.active))
	r.active = nil
	return nil
}

// noteSuspension says that the Job was suspended or goes on. One that never was does not say so.
func (r *jobRun) noteSuspension(failed error) {
	old := r.conditions.find("Suspended")
	if old.is() == r.spec.suspended || failed != nil {
		return
	}
	if r.spec.suspended {
		r.conditions = r.conditions.swap(r.condition("Suspended", "JobSuspended", "Job suspended"))
		r.start = ""
		return
	}
	c := r.condition("Suspended", "JobResumed", "Job resumed")
	c["status"] = "False"
	r.conditions = r.conditions.swap(c)
	r.start = r.now()
}

// swap sets a condition in its place.
func (cs conditions) swap(c condition) conditions {
	i := slices.IndexFunc(cs, func(v any) bool {
		old, _ := object.ToMap(v)
		return text(old, "type") == c.field("type")
	})
	if i < 0 {
		return append(slices.Clip(cs), map[string]any(c))
	}
	cs = slices.Clone(cs)
	cs[i] = map[string]any(c)
	return cs
}

// untrack takes the finalizer off a Pod as it is now. One that is gone needs no more.
func (c call) untrack(p pod) error {
	obj := c.Cache.Get(pods, nameOf(p.Unstructured))
	if obj == nil || obj.GetUID() != p.GetUID() || !(pod{obj}).tracked() {
		return nil
	}
	left := slices.DeleteFunc(slices.Clone(list(obj.Object, "metadata", "finalizers")), func(f any) bool { return f == jobFinalizer })
	_, err := c.merge(obj, map[string]any{"metadata": map[string]any{"finalizers": left}})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
