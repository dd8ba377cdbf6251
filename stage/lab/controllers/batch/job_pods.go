package batch

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/lists"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/pods"
)

// manage changes the number of active Pods to the number that the Job asks for.
func (r *jobRun) manage() error {
	want := r.wantActive()
	if n := int64(len(r.active)) - want; n > 0 || r.duplicates() > 0 {
		return r.deletePods(int(max(n, 0)))
	}
	if r.spec.replaceFailedOnly {
		want -= r.terminating
	}
	if want <= int64(len(r.active)) {
		return nil
	}
	if wait := r.backoff.left(r.Now); wait > 0 && r.spec.indexBackoff < 0 { // else each index has one separately
		r.requeueAfter = control.Sooner(r.requeueAfter, wait)
		return nil
	}
	return r.createPods(want - int64(len(r.active)))
}

func (r *jobRun) wantActive() int64 {
	switch {
	case r.spec.suspended:
		return 0
	case r.spec.completions >= 0:
		return max(0, min(r.spec.parallelism, r.spec.completions-r.succeeded))
	case r.succeeded > 0:
		return int64(len(r.active)) // no more Pods are created; Pods that run may end
	}
	return r.spec.parallelism
}

// deletePods deletes n Pods, and the Pods with a wrong index. They do not count as failed.
func (r *jobRun) deletePods(n int) error {
	gone, left := r.splitDuplicates()
	if n > len(gone) {
		for _, more := range pods.ToDelete(pods.Candidates(left), nil, n-len(gone), r.Now) {
			gone = append(gone, more.Pod)
		}
	}
	for _, p := range gone {
		if err := removeFinalizer(r.Call, p); err != nil {
			return err
		}
		if err := r.DeletePod(r.job, p.Unstructured); err != nil {
			return err
		}
		r.active = slices.DeleteFunc(r.active, func(a pods.Pod) bool { return a.GetUID() == p.GetUID() })
		r.pods = slices.DeleteFunc(r.pods, func(a pods.Pod) bool { return a.GetUID() == p.GetUID() })
		r.terminating++
	}
	return nil
}

func (r *jobRun) duplicates() int {
	gone, _ := r.splitDuplicates()
	return len(gone)
}

// splitDuplicates finds the Pods of an indexed Job whose index is out of range, or is the index of
// another Pod.
func (r *jobRun) splitDuplicates() (gone, left []pods.Pod) {
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

// backoffLeft returns what is left of the backoff. It takes the number of failures and the last
// failure.
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

// createPods creates n Pods, or fewer if an indexed Job has fewer indexes left. One reconcile creates
// at most [control.AtMost] Pods.
func (r *jobRun) createPods(n int64) error {
	n = min(n, control.AtMost)
	room := control.Room(int64(len(r.pods)), lists.Count(r.pods, pods.Pod.IsWaiting))
	if err := r.createSome(min(int(n), room)); err != nil || int(n) <= room {
		return err
	}
	return r.NoRoom(r.job)
}

func (r *jobRun) createSome(n int) error {
	indexes := make([]int64, n)
	if r.spec.indexed {
		indexes = r.pendingIndexes(n)
	}
	return r.SlowStart(len(indexes), func(i int) error {
		created, err := r.CreatePod(r.job, r.newPod(indexes[i]).Unstructured)
		if err != nil {
			return err
		}
		r.active = append(r.active, pods.Of(created))
		return nil
	})
}

func (r *jobRun) newPod(index int64) pods.Pod {
	p := pods.FromTemplate(r.job, fields.Map(r.job.Object, "spec", "template"))
	metadata := control.Metadata(p.Unstructured)
	labels := jobLabels(r.job)
	maps.Copy(labels, fields.Map(metadata, "labels"))
	metadata["labels"] = labels
	if !isTracked(p) {
		metadata["finalizers"] = append(slices.Clip(fields.Slice(metadata, "finalizers")), jobFinalizer)
	}
	if r.spec.indexed {
		r.setIndex(p, index)
	}
	return p
}

// setIndex gives a Pod its index: in a label, an annotation, its name, its host name and the
// environment of its containers.
func (r *jobRun) setIndex(p pods.Pod, index int64) {
	text := strconv.FormatInt(index, 10)
	metadata, spec := control.Metadata(p.Unstructured), fields.Map(p.Object, "spec")
	fields.Map(metadata, "labels")[indexKey] = text
	annotations := fields.CloneMap(metadata, "annotations")
	annotations[indexKey] = text
	r.countFailures(annotations, index)
	metadata["annotations"] = annotations
	metadata["generateName"] = fmt.Sprintf("%s-%d-", r.job.GetName(), index)
	if spec == nil {
		return
	}
	spec["hostname"] = fmt.Sprintf("%s-%d", r.job.GetName(), index)
	for _, field := range []string{"initContainers", "containers"} {
		for _, c := range fields.Maps(spec, field) {
			addIndexVariable(c)
		}
	}
}

func addIndexVariable(container map[string]any) {
	const name = "JOB_COMPLETION_INDEX"
	for _, variable := range fields.Maps(container, "env") {
		if fields.String(variable, "name") == name {
			return
		}
	}
	container["env"] = append(slices.Clip(fields.Slice(container, "env")), map[string]any{
		"name": name,
		"valueFrom": map[string]any{"fieldRef": map[string]any{
			"fieldPath": "metadata.labels['" + indexKey + "']",
		}},
	})
}
