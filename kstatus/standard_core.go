package kstatus

import (
	"time"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// Upstream's rules for ConfigMaps, Secrets, Services, PersistentVolumeClaims, Pods and
// CustomResourceDefinitions.

var alwaysReady = Current.Because("", "Resource is always ready")

func service(o *Object) Result {
	if o.Text("spec", "type") == "LoadBalancer" && o.Text("spec", "clusterIP") == "" {
		return inProgress("NoIPAssigned", text("ClusterIP not set. Service type: LoadBalancer"), "spec.clusterIP")
	}
	return Current.Because("", "Service is ready")
}

func persistentVolumeClaim(o *Object) Result {
	phase, ok := o.Value("status", "phase").(string)
	if !ok {
		phase = "unknown"
	}
	if phase != "Bound" {
		return inProgress("NotBound", withWords("PVC is not Bound. phase: %s", phase), "status.phase")
	}
	return Current.Because("", "PVC is Bound").At("status.phase")
}

// scheduleWindow is how long a Pod may be unschedulable before it counts as failed.
const scheduleWindow = 15 * time.Second

func pod(o *Object) Result {
	phase, _ := o.statusField("phase").(string)
	switch phase {
	case "Succeeded":
		return Current.Because("", "Pod has completed successfully").At("status.phase")
	case "Failed":
		return Current.Because("", "Pod has completed, but not successfully").At("status.phase")
	case "Running":
		return runningPod(o)
	case "Pending":
		return pendingPod(o)
	case "":
		return inProgress("PodNotObserved", text("Pod phase not available"), "status.phase")
	}
	return Unknown.because("UnknownPhase", withWords("unknown phase %s", phase)).At("status.phase")
}

func runningPod(o *Object) Result {
	if _, ready := o.findView("Ready", "True", ""); ready {
		return Current.Because("", "Pod is Ready").onCondition("Ready")
	}
	if names, some := crashLooping(o); some {
		m := withWords("Containers in CrashLoop state: %s", names)
		return Failed.because("ContainerCrashLooping", m).At("status.containerStatuses")
	}
	return inProgress("PodRunningNotReady", text("Pod is running but is not Ready"), "status.conditions")
}

// crashLooping returns the names of the containers that wait in CrashLoopBackOff, joined by commas,
// or false without any.
func crashLooping(o *Object) (names string, some bool) {
	for _, item := range o.List("status", "containerStatuses") {
		container, _ := object.ToMap(item)
		name, named := object.String(container, "name")
		reason, _ := object.String(container, "state", "waiting", "reason")
		if !named || reason != "CrashLoopBackOff" {
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
	c, unscheduled := o.findView("PodScheduled", "False", "")
	if !unscheduled || c.reason() != "Unschedulable" {
		return inProgress("PodPending", text("Pod is in the Pending phase"), "status.phase")
	}
	if left := o.created().Add(scheduleWindow).Sub(o.now); left > 0 {
		r := InProgress.Because("PodNotScheduled", "Pod has not been scheduled").onCondition(c.kind)
		r.RecheckAfter = left
		return r
	}
	return Failed.Because("PodUnschedulable", "Pod could not be scheduled").onCondition(c.kind)
}

func customResourceDefinition(o *Object) Result {
	for _, item := range o.conditions {
		c, _ := viewOf(item)
		switch {
		case c.is("NamesAccepted", "False", ""), c.is("Established", "False", "") && c.reason() != "Installing":
			return Failed.From(c.condition())
		case c.is("Established", "True", ""):
			return Current.Because("", "CRD is established").onCondition(c.kind)
		}
	}
	return inProgress("Installing", text("Install in progress"), "status.conditions")
}
