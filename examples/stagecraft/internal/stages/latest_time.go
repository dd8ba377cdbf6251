package stages

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// defaultTime is the time for objects that contain no times.
var defaultTime = time.Date(2006, 1, 2, 15, 4, 5, 0, time.UTC)

// latestTime is the latest time in the past that the objects contain, so that the output does not
// depend on the day.
func (in Input) latestTime() time.Time {
	last := time.Time{}
	for _, obj := range append(in.Objects[:len(in.Objects):len(in.Objects)], in.Others...) {
		for _, t := range pastTimes(obj) {
			if t.After(last) {
				last = t
			}
		}
	}
	if last.IsZero() {
		return defaultTime
	}
	return last
}

// pastTimes are the times in an object that are in the past: the times of its creation, of the
// request to delete it, of its writes, and of its conditions.
func pastTimes(obj *unstructured.Unstructured) []time.Time {
	times := []time.Time{obj.GetCreationTimestamp().Time}
	if end := obj.GetDeletionTimestamp(); end != nil {
		var grace int64
		if seconds := obj.GetDeletionGracePeriodSeconds(); seconds != nil {
			grace = *seconds
		}
		times = append(times, end.Add(-time.Duration(grace)*time.Second))
	}
	for _, entry := range obj.GetManagedFields() {
		if entry.Time != nil {
			times = append(times, entry.Time.Time)
		}
	}
	conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	for _, c := range conditions {
		times = append(times, conditionTimes(c)...)
	}
	return times
}

// conditionTimes are the times of a condition.
func conditionTimes(condition any) (times []time.Time) {
	fields, _ := condition.(map[string]any)
	for _, name := range []string{"lastHeartbeatTime", "lastProbeTime", "lastTransitionTime", "lastUpdateTime"} {
		text, _ := fields[name].(string)
		if t, err := time.Parse(time.RFC3339, text); err == nil {
			times = append(times, t)
		}
	}
	return times
}
