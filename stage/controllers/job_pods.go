package controllers

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// manage brings the number of active Pods to what the Job asks for. It keeps active up to date.
func (r *jobRun) manage() error {
	want := r.wantActive()
	if n := int64(len(r.active)) - want; n > 0 || r.duplicates() > 0 {
		return r.remove(int(max(n, 0)))
	}
	if r.spec.replaceFailedOnly {
		want -= r.leaving
	}
	if want <= int64(len(r.active)) {
		return nil
	}
	if wait := r.backoff(); wait > 0 {
		r.again = sooner(r.again, wait)
		return nil
	}
	return r.add(int(want) - len(r.active))
}

func (r *jobRun) wantActive() int64 {
	switch {
	case r.spec.suspended:
		return 0
	case r.spec.completions >= 0:
		return max(0, min(r.spec.parallelism, r.spec.completions-r.succeeded))
	case r.succeeded > 0:
		return int64(len(r.active)) // those that run may end; none are added
	}
	return r.spec.parallelism
}

// remove deletes n Pods, and all that have the index of another one. They do not count as failed.
func (r *jobRun) remove(n int) error {
	gone, left := r.splitDuplicates()
	if n > len(gone) {
		for _, more := range victims(ranksOf(left), nil, n-len(gone), r.Now) {
			gone = append(gone, more.obj)
		}
	}
	for _, p := range gone {
		if err := r.untrack(p); err != nil {
			return err
		}
		if err := r.delete(p.Unstructured); err != nil {
			return err
		}
		r.active = slices.DeleteFunc(r.active, func(a pod) bool { return a.GetUID() == p.GetUID() })
		r.pods = slices.DeleteFunc(r.pods, func(a pod) bool { return a.GetUID() == p.GetUID() })
		r.leaving++
	}
	return nil
}

func (r *jobRun) duplicates() int {
	gone, _ := r.splitDuplicates()
	return len(gone)
}

// splitDuplicates finds the Pods of an indexed Job whose index is out of range, or that of an earlier one.
func (r *jobRun) splitDuplicates() (gone, left []pod) {
	if !r.spec.indexed {
		return nil, r.active
	}
	seen := map[int64]bool{}
	for _, p := range r.active {
		i := indexOf(p)
		if seen[i] || i < 0 || i >= r.spec.completions {
			gone = append(gone, p)
		} else {
			left = append(left, p)
		}
		seen[i] = true
	}
	return gone, left
}

// backoff is how long to wait before a Pod is replaced: longer after each failure since the last success.
func (r *jobRun) backoff() time.Duration {
	if r.spec.indexBackoff >= 0 {
		return 0 // each index has its own
	}
	var success, last time.Time
	for _, p := range r.pods {
		if at := p.endedAt(r.Now); p.phase() == "Succeeded" && at.After(success) {
			success = at
		}
	}
	failures := 0
	for _, p := range r.pods {
		if at := p.endedAt(r.Now); r.hasFailed(p) && at.After(success) {
			failures++
			if at.After(last) {
				last = at
			}
		}
	}
	return backoffLeft(failures, last, r.Now)
}

func backoffLeft(failures int, last, now time.Time) time.Duration {
	if failures == 0 {
		return 0
	}
	wait := firstBackoff
	for ; failures > 1 && wait < longestBackoff; failures-- {
		wait *= 2
	}
	return max(0, last.Add(min(wait, longestBackoff)).Sub(now))
}

// endedAt is when the last container of a Pod ended; if no container says so, when the Pod ceased to be ready, or else was deleted.
func (p pod) endedAt(now time.Time) (at time.Time) {
	for _, c := range trees(p.Object, "status", "containerStatuses") {
		if t, ok := timeAt(c, "state", "terminated", "finishedAt"); ok && t.After(at) {
			at = t
		}
	}
	if !at.IsZero() {
		return at
	}
	if t, ok := timeAt(p.condition("Ready"), "lastTransitionTime"); ok {
		return t
	}
	if t, ok := timeAt(p.Object, "metadata", "deletionTimestamp"); ok {
		return t
	}
	return now
}

// add makes n Pods.
func (r *jobRun) add(n int) error {
	indexes := make([]int64, n)
	if r.spec.indexed {
		indexes = r.pendingIndexes(n)
	}
	for _, index := range indexes {
		created, err := r.create(r.newPod(index).Unstructured)
		if err != nil {
			return err
		}
		r.active = append(r.active, pod{created})
	}
	return nil
}

func (r *jobRun) newPod(index int64) pod {
	p := pod{newPod(r.job, tree(r.job.Object, "spec", "template"))}
	metadata := p.Object["metadata"].(map[string]any)
	labels := jobLabels(r.job)
	maps.Copy(labels, tree(metadata, "labels"))
	metadata["labels"] = labels
	if !p.tracked() {
		metadata["finalizers"] = append(slices.Clip(list(metadata, "finalizers")), jobFinalizer)
	}
	if r.spec.indexed {
		r.number(p, index)
	}
	return p
}

// number gives a Pod its index: in a label, an annotation, its name, its host name and the environment of its containers.
func (r *jobRun) number(p pod, index int64) {
	text := strconv.FormatInt(index, 10)
	metadata, spec := p.Object["metadata"].(map[string]any), tree(p.Object, "spec")
	metadata["labels"].(map[string]any)[indexKey] = text
	annotations := maps.Clone(tree(metadata, "annotations"))
	if annotations == nil {
		annotations = map[string]any{}
	}
	annotations[indexKey] = text
	if r.spec.indexBackoff >= 0 {
		annotations[indexFailsKey] = strconv.Itoa(r.failures[index])
	}
	metadata["annotations"] = annotations
	metadata["generateName"] = fmt.Sprintf("%s-%d-", r.job.GetName(), index)
	if spec == nil {
		return
	}
	spec["hostname"] = fmt.Sprintf("%s-%d", r.job.GetName(), index)
	for _, field := range []string{"initContainers", "containers"} {
		for _, c := range trees(spec, field) {
			addIndexVariable(c)
		}
	}
}

func addIndexVariable(container map[string]any) {
	env := list(container, "env")
	if slices.ContainsFunc(env, func(v any) bool { e, _ := object.ToMap(v); return text(e, "name") == "JOB_COMPLETION_INDEX" }) {
		return
	}
	container["env"] = append(slices.Clip(env), map[string]any{
		"name": "JOB_COMPLETION_INDEX",
		"valueFrom": map[string]any{"fieldRef": map[string]any{
			"fieldPath": "metadata.labels['" + indexKey + "']",
		}},
	})
}
