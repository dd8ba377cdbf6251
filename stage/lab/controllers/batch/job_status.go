package batch

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/conditions"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/lists"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/pods"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
)

// A jobStatus is the status of a Job.
type jobStatus struct {
	start, completion               string // times
	conditions                      conditions.List
	succeeded, failed               int64
	uncounted                       uncounted
	succeededIndexes, failedIndexes indexes            // Pods that have succeeded, and Pods that have failed for good
	lastFailed                      map[int64]pods.Pod // of the indexes that the Job must try again
	terminating                     int64              // Pods that are being deleted and not terminal
}

// uncounted are the uids of terminal Pods that succeeded and failed do not count yet. They are
// counted when their finalizer is removed, so that no Pod is counted twice or never, whatever fails
// in between.
type uncounted struct{ succeeded, failed []string }

func (u uncounted) has(uid string) bool {
	return slices.Contains(u.succeeded, uid) || slices.Contains(u.failed, uid)
}

func (u uncounted) empty() bool { return len(u.succeeded)+len(u.failed) == 0 }

func readStatus(job *unstructured.Unstructured) jobStatus {
	status := fields.Map(job.Object, "status")
	t := jobStatus{
		start:      fields.String(status, "startTime"),
		completion: fields.String(status, "completionTime"),
		conditions: conditions.Of(job),
		succeeded:  fields.Int64(status, 0, "succeeded"),
		failed:     fields.Int64(status, 0, "failed"),
	}
	limit := fields.Int64(job.Object, 0, "spec", "completions")
	t.succeededIndexes, t.failedIndexes = parseIndexes(fields.String(status, "completedIndexes"), limit), parseIndexes(fields.String(status, "failedIndexes"), limit)
	t.uncounted.succeeded, _ = object.Strings(status, "uncountedTerminatedPods", "succeeded")
	t.uncounted.failed, _ = object.Strings(status, "uncountedTerminatedPods", "failed")
	return t
}

// status returns the status of the Job.
func (r *jobRun) status() control.Status {
	status := control.Status{
		"ready": lists.Count(r.active, pods.Pod.IsReady), "terminating": r.terminating, "uncountedTerminatedPods": r.uncounted.object(),
	}
	r.conditions.WriteTo(status)
	if r.start != "" {
		status["startTime"] = r.start
	}
	if r.completion != "" {
		status["completionTime"] = r.completion
	}
	status.SetNonZero("active", int64(len(r.active)))
	status.SetNonZero("succeeded", r.jobStatus.succeeded)
	status.SetNonZero("failed", r.jobStatus.failed)
	if r.spec.indexed && len(r.succeededIndexes) > 0 {
		status["completedIndexes"] = r.succeededIndexes.String()
	}
	if r.spec.indexed && r.spec.indexBackoff >= 0 {
		status["failedIndexes"] = r.failedIndexes.String()
	}
	return status
}

func (u uncounted) object() map[string]any {
	m := map[string]any{}
	for name, uids := range map[string][]string{"succeeded": u.succeeded, "failed": u.failed} {
		var texts []any
		for _, uid := range uids {
			texts = append(texts, uid)
		}
		if len(texts) > 0 {
			m[name] = texts
		}
	}
	return m
}

// trackPods counts the terminal Pods: it writes their uids into the status, removes their
// finalizers, and adds them to the numbers.
func (r *jobRun) trackPods() error {
	r.flushUncounted()
	ended := r.addUncounted()
	r.announceEnd()
	if r.spec.indexed {
		r.jobStatus.succeeded = r.succeededIndexes.count()
	}
	if err := r.writeStatus(); err != nil {
		return err
	}
	r.backoffs[r.Name] = r.backoff
	for _, p := range ended {
		if err := removeFinalizer(r.Call, p); err != nil {
			return err
		}
	}
	r.flushUncounted()
	r.finish()
	if err := r.writeStatus(); err != nil {
		return err
	}
	r.recordEnd()
	return nil
}

// recordEnd records that the Job is finished.
func (r *jobRun) recordEnd() {
	switch end := finishedCondition(r.conditions); end.Field("type") {
	case "Complete":
		if n := r.spec.completions; n >= 0 && r.jobStatus.succeeded > n {
			r.Record(r.job, "Warning", "TooManySucceededPods", "Too many succeeded pods running after completion count reached")
		}
		r.Record(r.job, "Normal", "Completed", "Job completed")
	case "Failed":
		r.Record(r.job, "Warning", end.Field("reason"), end.Field("message"))
	}
}

func (r *jobRun) writeStatus() error {
	job := r.Cache.Get(kinds.Job, r.Name)
	if job == nil {
		return nil
	}
	return r.WriteStatus(job, r.status())
}

// flushUncounted counts the Pods whose finalizer is removed.
func (r *jobRun) flushUncounted() {
	tracked := map[string]bool{}
	for _, p := range r.Cache.Owned(kinds.Pod, r.job.GetUID()) {
		if isTracked(pods.Of(p)) {
			tracked[string(p.GetUID())] = true
		}
	}
	flush := func(uids *[]string, n *int64) {
		left := lists.Filter(*uids, func(uid string) bool { return tracked[uid] })
		*n += int64(len(*uids) - len(left))
		*uids = left
	}
	flush(&r.uncounted.succeeded, &r.jobStatus.succeeded)
	flush(&r.uncounted.failed, &r.jobStatus.failed)
}

// addUncounted adds the uids of terminal Pods that still have the finalizer to the uncounted uids,
// and returns these Pods. When a Job fails, all of its Pods count as failed.
func (r *jobRun) addUncounted() (ended []pods.Pod) {
	failing := r.ending != nil && r.ending.Field("type") != "SuccessCriteriaMet"
	for _, p := range r.pods {
		failed := r.hasFailed(p)
		if !isTracked(p) || !failed && p.Phase() != "Succeeded" && r.ending == nil && !fields.IsTerminating(r.job) {
			continue
		}
		if failed && r.ending == nil && !fields.IsTerminating(r.job) && r.isLastFailed(p) {
			continue
		}
		ended = append(ended, p)
		uid, inRange := string(p.GetUID()), !r.spec.indexed || indexOf(p) >= 0 && indexOf(p) < r.spec.completions
		switch {
		case r.uncounted.has(uid) || !inRange:
		case p.Phase() == "Succeeded" && !r.spec.indexed:
			r.uncounted.succeeded = append(r.uncounted.succeeded, uid)
		case p.Phase() != "Succeeded" && (failed || failing) && !r.isIgnored(p):
			r.uncounted.failed = append(r.uncounted.failed, uid)
		}
	}
	return ended
}

// announceEnd adds the condition SuccessCriteriaMet or FailureTarget.
func (r *jobRun) announceEnd() {
	if kind := r.ending.Field("type"); (kind == "FailureTarget" || kind == "SuccessCriteriaMet") && r.conditions.Find(kind) == nil {
		r.conditions = r.conditions.Replace(r.ending)
	}
}

// finish adds the condition Complete or Failed when all Pods have ended and are counted.
func (r *jobRun) finish() {
	if r.ending == nil || !r.uncounted.empty() || r.terminating > 0 {
		return
	}
	kind := "Failed"
	if r.ending.Field("type") == "SuccessCriteriaMet" {
		kind = "Complete"
		r.completion = r.Timestamp()
	}
	r.conditions = r.conditions.Replace(r.condition(kind, r.ending.Field("reason"), r.ending.Field("message")))
}
