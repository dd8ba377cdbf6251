package batch

import (
	"fmt"
	"strconv"
	"time"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/conditions"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/pods"
)

// indexOf returns the completion index of a Pod, or -1.
func indexOf(p pods.Pod) int64 {
	n, err := strconv.ParseInt(fields.Annotation(p.Unstructured, indexKey), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// countIndexes adds the indexes of the Pods that succeeded or failed to the indexes in the status.
// A Pod without the finalizer was counted before.
func (r *jobRun) countIndexes() {
	var succeeded, failed []int64
	for _, p := range r.pods {
		i := indexOf(p)
		switch {
		case i < 0 || i >= r.spec.completions || !isTracked(p):
		case p.Phase() == "Succeeded":
			succeeded = append(succeeded, i)
		case r.spec.indexBackoff >= 0 && r.hasFailed(p):
			action, _ := r.matchFailurePolicy(p)
			if action == "FailIndex" || !r.isIgnored(p) && failuresBefore(p, indexFailsKey) >= r.spec.indexBackoff {
				failed = append(failed, i)
			}
		}
	}
	r.succeededIndexes, r.failedIndexes = r.succeededIndexes.with(succeeded), r.failedIndexes.with(failed)
	r.findLastFailed()
}

// failuresBefore returns the number of earlier failures of the Pods of an index, from the
// annotation of a Pod.
func failuresBefore(p pods.Pod, annotation string) int64 {
	n, _ := strconv.ParseInt(fields.Annotation(p.Unstructured, annotation), 10, 64)
	return n
}

// findLastFailed finds the last failed Pod of each index that the Job must try again. This Pod
// keeps its finalizer until it is replaced, because it records how often the index has failed.
func (r *jobRun) findLastFailed() {
	r.lastFailed = map[int64]pods.Pod{}
	active := map[int64]bool{}
	for _, p := range r.active {
		active[indexOf(p)] = true
	}
	total := func(p pods.Pod) int64 { return failuresBefore(p, indexFailsKey) + failuresBefore(p, indexIgnoredKey) }
	for _, p := range r.pods {
		i := indexOf(p)
		if r.spec.indexBackoff < 0 || !isTracked(p) || !r.hasFailed(p) || i < 0 || i >= r.spec.completions || active[i] || r.succeededIndexes.has(i) || r.failedIndexes.has(i) {
			continue
		}
		if last, ok := r.lastFailed[i]; !ok || total(last) <= total(p) && !p.FinishedAt().Before(last.FinishedAt()) {
			r.lastFailed[i] = p
		}
	}
}

// isLastFailed reports whether a Pod waits for being replaced within its index.
func (r *jobRun) isLastFailed(p pods.Pod) bool {
	last, ok := r.lastFailed[indexOf(p)]
	return ok && last.GetUID() == p.GetUID()
}

// indexBackoff returns the time after which the Pod of an index can be replaced, if each index has
// its own backoff.
func (r *jobRun) indexBackoff(index int64) time.Duration {
	last, ok := r.lastFailed[index]
	if !ok {
		return 0
	}
	failures := failuresBefore(last, indexFailsKey) + failuresBefore(last, indexIgnoredKey) + 1
	return backoffLeft(int(failures), last.FinishedAt(), r.Now)
}

// countFailures annotates a new Pod with how often its index has failed.
func (r *jobRun) countFailures(annotations map[string]any, index int64) {
	if r.spec.indexBackoff < 0 {
		return
	}
	var failed, ignored int64
	if last, ok := r.lastFailed[index]; ok {
		failed, ignored = failuresBefore(last, indexFailsKey), failuresBefore(last, indexIgnoredKey)
		if r.isIgnored(last) {
			ignored++
		} else {
			failed++
		}
	}
	annotations[indexFailsKey] = strconv.FormatInt(failed, 10)
	if ignored > 0 {
		annotations[indexIgnoredKey] = strconv.FormatInt(ignored, 10)
	}
}

// pendingIndexes looks at the first n indexes. It returns the indexes without an active Pod that
// have neither succeeded nor failed for good, and that may be tried now.
func (r *jobRun) pendingIndexes(n int) (pending []int64) {
	busy := map[int64]bool{}
	for _, p := range r.pods {
		if p.IsActive() || r.spec.replaceFailedOnly && p.IsTerminating() && !p.IsTerminal() {
			busy[indexOf(p)] = true
		}
	}
	var soonest time.Duration
	for i := int64(0); i < r.spec.completions && n > 0; i++ {
		if done, is := r.ended(i); busy[i] || is {
			i = max(i, done.last)
			continue
		}
		n--
		if wait := r.indexBackoff(i); wait > 0 {
			soonest = control.Sooner(soonest, wait)
			continue
		}
		pending = append(pending, i)
	}
	if len(pending) == 0 {
		r.requeueAfter = control.Sooner(r.requeueAfter, soonest)
	}
	return pending
}

// ended returns the span of indexes around one that have succeeded, or have failed for good. It
// returns false if this index has done neither.
func (r *jobRun) ended(index int64) (span, bool) {
	if s, found := r.succeededIndexes.spanOf(index); found {
		return s, true
	}
	return r.failedIndexes.spanOf(index)
}

// byIndexes returns how a Job ends that counts failures by index, or nil if it continues.
func (r *jobRun) byIndexes() conditions.Condition {
	lost := r.failedIndexes.count()
	switch {
	case !r.spec.indexed || r.spec.indexBackoff < 0 || lost == 0:
	case lost > r.spec.maxFailedIndexes:
		return r.failure("MaxFailedIndexesExceeded", "Job has exceeded the specified maximal number of failed indexes")
	case lost+r.succeededIndexes.count() >= r.spec.completions:
		return r.failure("FailedIndexes", "Job has failed indexes")
	}
	return nil
}

// bySuccessPolicy returns how a Job ends when its success policy is met, or nil if the Job
// continues.
func (r *jobRun) bySuccessPolicy() conditions.Condition {
	if !r.spec.indexed || len(r.succeededIndexes) == 0 {
		return nil
	}
	for i, rule := range r.spec.successPolicy {
		n, all := r.succeededIndexes.count(), int64(0)
		if wanted := fields.String(rule, "succeededIndexes"); wanted != "" {
			set := parseIndexes(wanted, r.spec.completions)
			n, all = set.countIn(r.succeededIndexes), set.count()
		}
		enough := fields.Int64(rule, all, "succeededCount")
		if enough > 0 && n >= enough {
			return r.condition("SuccessCriteriaMet", "SuccessPolicy", fmt.Sprintf("Matched rules at index %d", i))
		}
	}
	return nil
}
