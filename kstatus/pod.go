package kstatus

import (
	"time"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// scheduleWindow is how long a Pod may be unschedulable before it counts as failed.
const scheduleWindow = 15 * time.Second

func pod(o *Object, verdict *Result) {
	phase, _ := o.seen("phase").(string)
	switch phase {
	case "Succeeded":
		*verdict = Current.Because("", "Pod has completed successfully").At("status.phase")
	case "Failed":
		*verdict = Current.Because("", "Pod has completed, but not successfully").At("status.phase")
	case "Running":
		runningPod(o, verdict)
	case "Pending":
		*verdict = pendingPod(o)
	case "":
		*verdict = InProgress.Because("PodNotObserved", "Pod phase not available").At("status.phase")
	default:
		*verdict = Unknown.because("UnknownPhase", named("unknown phase %s", phase)).At("status.phase")
	}
}

var podReady = Current.Because("", "Pod is Ready").in("status.conditions", "Ready")

func runningPod(o *Object, verdict *Result) {
	if o.holds(isReady) {
		*verdict = podReady
		return
	}
	if names, some := crashLooping(o); some {
		*verdict = Failed.because("ContainerCrashLooping", named("Containers in CrashLoop state: %s", names)).At("status.containerStatuses")
		return
	}
	*verdict = InProgress.Because("PodRunningNotReady", "Pod is running but is not Ready").At("status.conditions")
}

// crashLooping are the names of the containers that wait in CrashLoopBackOff, joined by commas.
func crashLooping(o *Object) (names string, some bool) {
	for _, item := range o.List("status", "containerStatuses") {
		container, _ := object.ToMap(item)
		name, called := object.String(container, "name")
		reason, _ := object.String(container, "state", "waiting", "reason")
		if !called || reason != "CrashLoopBackOff" {
			continue
		}
		if some {
			names += ","
		}
		names, some = names+name, true
	}
	return names, some
}

func pendingPod(o *Object) Result {
	c, unscheduled := o.glimpse("PodScheduled", "False", "")
	if !unscheduled || c.reason() != "Unschedulable" {
		return InProgress.Because("PodPending", "Pod is in the Pending phase").At("status.phase")
	}
	if left := o.created().Add(scheduleWindow).Sub(o.now); left > 0 {
		r := InProgress.Because("PodNotScheduled", "Pod has not been scheduled").on(c)
		r.RecheckAfter = left
		return r
	}
	return Failed.Because("PodUnschedulable", "Pod could not be scheduled").on(c)
}
