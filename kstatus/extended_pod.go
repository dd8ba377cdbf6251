package kstatus

import (
	"time"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// podExtended looks at the containers too, and waits for Pods that end.
func podExtended(o Object) (Result, bool) {
	phase := o.Text("status", "phase")
	switch phase {
	case "Failed":
		r := Failed.because("PodFailed", o.phaseMessage("phase", phase)).At("status.phase")
		r.Terminal = true
		return r, true
	case "Pending", "Running":
	default:
		return Result{}, false
	}
	if r, ok := stuckContainer(&o); ok {
		return r, true
	}
	if phase == "Running" && podEnds(&o) {
		return InProgress.Because("PodRunning", "Pod is running to completion").At("spec.restartPolicy"), true
	}
	return Result{}, false
}

// podEnds says whether a Pod is done when its containers have exited.
func podEnds(o *Object) bool {
	switch o.Text("spec", "restartPolicy") {
	case "OnFailure", "Never":
		annotations, _ := object.ToMap(o.metadata["annotations"])
		_, hook := annotations["argocd.argoproj.io/hook"]
		return hook || annotations["argocd.argoproj.io/ignore-restart-policy"] != "true"
	}
	return false
}

// stuckContainer returns the first container, those for initialisation first, that will not come up as it is.
func stuckContainer(o *Object) (Result, bool) {
	for _, list := range containerLists {
		for _, item := range o.List("status", list.field) {
			c, _ := object.ToMap(item)
			if r, ok := o.stuck(c); ok {
				name, _ := c["name"].(string)
				return r.in(list.path, name), true
			}
		}
	}
	return Result{}, false
}

var containerLists = [...]struct{ field, path string }{
	{"initContainerStatuses", "status.initContainerStatuses"},
	{"containerStatuses", "status.containerStatuses"},
}

// restartGrace is how long a container that has crashed before must run to count as started again.
const restartGrace = 10 * time.Second

func (o *Object) stuck(container map[string]any) (Result, bool) {
	if reason, waits := object.String(container, "state", "waiting", "reason"); waits {
		return o.waitingContainer(reason, container)
	}
	restarts, _ := integer(container["restartCount"])
	if restarts == 0 || container["ready"] == true || !o.restartsAlways() {
		return Result{}, false
	}
	if code, exited := object.Int64(container, "state", "terminated", "exitCode"); exited && code != 0 {
		return crashed(container), true
	}
	return o.restarted(container)
}

// restarted keeps a crash loop Failed through the moments in which the container runs.
func (o *Object) restarted(container map[string]any) (Result, bool) {
	code, crashedBefore := object.Int64(container, "lastState", "terminated", "exitCode")
	started, _ := object.String(container, "state", "running", "startedAt")
	at, err := time.Parse(time.RFC3339, started)
	if !crashedBefore || code == 0 || err != nil {
		return Result{}, false
	}
	left := at.Add(restartGrace).Sub(o.now)
	r := crashed(container)
	r.RecheckAfter = left
	return r, left > 0 && left <= restartGrace
}

func crashed(container map[string]any) Result {
	name, _ := container["name"].(string)
	return Failed.because("ContainerCrashLooping", named("Container %s keeps crashing", name))
}

func (o *Object) waitingContainer(reason string, container map[string]any) (Result, bool) {
	terminal, stuck := stuckReasons[reason]
	if !stuck || reason == crashLoop && !o.restartsAlways() {
		return Result{}, false
	}
	name, _ := container["name"].(string)
	r := Failed.because(reason, named("Container %s: %s", name, reason))
	if why, _ := object.String(container, "state", "waiting", "message"); why != "" {
		r.message = named("Container %s: %s", name, why)
	}
	r.Terminal = terminal
	return r, true
}

const crashLoop = "CrashLoopBackOff"

// stuckReasons are why the kubelet does not run a container, and whether it is for good.
var stuckReasons = map[string]bool{
	crashLoop: false, "ImagePullBackOff": false, "ErrImagePull": false, "RegistryUnavailable": false, "ImageInspectError": false,
	"CreateContainerConfigError": false, "CreateContainerError": false, "RunContainerError": false, "PostStartHookError": false,
	"PreCreateHookError": false, "SignatureValidationFailed": false, "InvalidImageName": true, "ErrImageNeverPull": true,
}

func (o *Object) restartsAlways() bool {
	policy := o.Text("spec", "restartPolicy")
	return policy == "" || policy == "Always"
}
