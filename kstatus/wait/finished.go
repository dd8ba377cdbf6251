package wait

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/kstatus"
)

// An ending is the verdict on an object that has done its work, well or not, and need not exist any
// longer: it may be deleted after a time to live, as Jobs with ttlSecondsAfterFinished are.
type ending kstatus.Result

// finished returns the ending of an object, nil if it has none.
func finished(obj *unstructured.Unstructured, r kstatus.Result) *ending {
	succeeded := r.Status == kstatus.Current && !r.Suspended
	if !succeeded && !(r.Status == kstatus.Failed && r.Terminal) || !hasEnded(obj) {
		return nil
	}
	end := ending(r)
	return &end
}

// hasEnded reports whether an object says that it does no more: it is a Pod whose containers have
// ended, a failed Job, which has no time of its end, or has the time of its end.
func hasEnded(obj *unstructured.Unstructured) bool {
	status, _ := obj.Object["status"].(map[string]any)
	switch obj.GroupVersionKind().GroupKind() {
	case schema.GroupKind{Kind: "Pod"}:
		return status["phase"] == "Succeeded" || status["phase"] == "Failed"
	case schema.GroupKind{Group: "batch", Kind: "Job"}:
		return isTrue(status, "Complete") || isTrue(status, "Failed")
	}
	return slices.ContainsFunc(endTimes, func(field string) bool { return status[field] != nil })
}

// endTimes are the fields in which controllers write when an object has ended: those of Tekton,
// Kubeflow and Velero, Argo Workflows, and KubeRay.
var endTimes = []string{"completionTime", "completionTimestamp", "finishedAt", "endTime"}

func isTrue(status map[string]any, condition string) bool {
	list, _ := status["conditions"].([]any)
	return slices.ContainsFunc(list, func(item any) bool {
		c, _ := item.(map[string]any)
		return c["type"] == condition && c["status"] == "True"
	})
}

// wasDeleted reports whether an object of a status was deleted, at least as far as its user can.
func wasDeleted(s kstatus.Status) bool { return s == kstatus.NotFound || s == kstatus.Terminating }

// deleted returns the verdict on an object that was deleted after it had finished.
func (e *ending) deleted() kstatus.Result {
	how := "was done"
	if e.Status == kstatus.Failed {
		how = "had failed"
	}
	return kstatus.NotFound.Because("Finished", "Deleted after it "+how+": "+kstatus.Result(*e).Message())
}

// status returns how an object ended, "" if it has not.
func (e *ending) status() kstatus.Status {
	if e == nil {
		return ""
	}
	return e.Status
}
