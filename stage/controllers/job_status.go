package controllers

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// A tally is the status of a Job.
type tally struct {
	start, completion string // times
	conditions        conditions
	succeeded, failed int64
	uncounted         uncounted
	done, lost        indexes       // that have succeeded, and failed for good
	failures          map[int64]int // of the Pods that are there, by index
	leaving           int64         // Pods that are terminating
}

// uncounted are the uids of Pods that have ended and that succeeded and failed do not count yet: they get there when their finalizer is
// gone, so that no Pod is counted twice or never, whatever fails in between.
type uncounted struct{ succeeded, failed []string }

func (u uncounted) has(uid string) bool {
	return slices.Contains(u.succeeded, uid) || slices.Contains(u.failed, uid)
}

func (u uncounted) empty() bool { return len(u.succeeded)+len(u.failed) == 0 }

func readTally(job *unstructured.Unstructured) tally {
	status := tree(job.Object, "status")
	t := tally{
		start:      text(status, "startTime"),
		completion: text(status, "completionTime"),
		conditions: conditionsOf(job),
		succeeded:  number(status, 0, "succeeded"),
		failed:     number(status, 0, "failed"),
	}
	limit := number(job.Object, 0, "spec", "completions")
	t.done, t.lost = parseIndexes(text(status, "completedIndexes"), limit), parseIndexes(text(status, "failedIndexes"), limit)
	t.uncounted.succeeded, _ = object.Strings(status, "uncountedTerminatedPods", "succeeded")
	t.uncounted.failed, _ = object.Strings(status, "uncountedTerminatedPods", "failed")
	return t
}

// status returns the status of the Job.
func (r *jobRun) status() counts {
	status := counts{"ready": count(r.active, pod.ready), "terminating": r.leaving, "uncountedTerminatedPods": r.uncounted.plain()}
	r.conditions.into(status)
	if r.start != "" {
		status["startTime"] = r.start
	}
	if r.completion != "" {
		status["completionTime"] = r.completion
	}
	status.add("active", int64(len(r.active)))
	status.add("succeeded", r.tally.succeeded)
	status.add("failed", r.tally.failed)
	if r.spec.indexed && len(r.done) > 0 {
		status["completedIndexes"] = r.done.String()
	}
	if r.spec.indexed && r.spec.indexBackoff >= 0 {
		status["failedIndexes"] = r.lost.String()
	}
	return status
}

func (u uncounted) plain() map[string]any {
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

// track counts the Pods that have ended: it writes down which, takes their finalizers away, and adds them to the numbers.
func (r *jobRun) track() error {
	r.settleUncounted()
	ended := r.collect()
	r.announce()
	if r.spec.indexed {
		r.tally.succeeded = int64(len(r.done))
	}
	if err := r.flush(); err != nil {
		return err
	}
	for _, p := range ended {
		if err := r.untrack(p); err != nil {
			return err
		}
	}
	r.settleUncounted()
	r.end()
	return r.flush()
}

func (r *jobRun) flush() error {
	job := r.Cache.Get(jobs, r.Name)
	if job == nil {
		return nil
	}
	return r.writeStatus(job, r.status())
}

// settleUncounted counts the Pods whose finalizer is gone.
func (r *jobRun) settleUncounted() {
	tracked := map[string]bool{}
	for _, p := range r.Cache.Owned(pods, r.job.GetUID()) {
		if (pod{p}).tracked() {
			tracked[string(p.GetUID())] = true
		}
	}
	settle := func(uids *[]string, n *int64) {
		left := keep(*uids, func(uid string) bool { return tracked[uid] })
		*n += int64(len(*uids) - len(left))
		*uids = left
	}
	settle(&r.uncounted.succeeded, &r.tally.succeeded)
	settle(&r.uncounted.failed, &r.tally.failed)
}

// collect returns the Pods that have ended and are still tracked, and notes how. When a Job fails, all of its Pods have.
func (r *jobRun) collect() (ended []pod) {
	failing := r.verdict != nil && r.verdict.field("type") != "SuccessCriteriaMet"
	for _, p := range r.pods {
		failed := r.hasFailed(p)
		if !p.tracked() || !failed && p.phase() != "Succeeded" && r.verdict == nil && !isTerminating(r.job) {
			continue
		}
		ended = append(ended, p)
		uid, inRange := string(p.GetUID()), !r.spec.indexed || indexOf(p) >= 0 && indexOf(p) < r.spec.completions
		switch {
		case r.uncounted.has(uid) || !inRange:
		case p.phase() == "Succeeded" && !r.spec.indexed:
			r.uncounted.succeeded = append(r.uncounted.succeeded, uid)
		case p.phase() != "Succeeded" && (failed || failing) && !r.ignored(p):
			r.uncounted.failed = append(r.uncounted.failed, uid)
		}
	}
	return ended
}

// announce says that the Job is about to end.
func (r *jobRun) announce() {
	if kind := r.verdict.field("type"); (kind == "FailureTarget" || kind == "SuccessCriteriaMet") && r.conditions.find(kind) == nil {
		r.conditions = r.conditions.swap(r.verdict)
	}
}

// end ends the Job when all of its Pods have ended and are counted.
func (r *jobRun) end() {
	if r.verdict == nil || !r.uncounted.empty() || r.leaving > 0 {
		return
	}
	kind := "Failed"
	if r.verdict.field("type") == "SuccessCriteriaMet" {
		kind = "Complete"
		r.completion = r.now()
	}
	r.conditions = r.conditions.swap(r.condition(kind, r.verdict.field("reason"), r.verdict.field("message")))
}
