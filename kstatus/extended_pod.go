package kstatus

import (
	"time"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// podExtended also reads the containers, and waits until a Pod that ends has ended.
func podExtended(o Object) (Result, bool) {
	phase := o.Text("status", "phase")
	switch phase {
	case "Failed":
		return failedPod(&o).terminal(), true
	case "Unknown": // the node does not answer, and may again
		return inProgress("PodUnknown", text("The state of the Pod is not known"), "status.phase"), true
	case "Pending", "Running":
	default:
		return Result{}, false
	}
	if r, ok := stuckContainer(&o); ok {
		return r, true
	}
	if phase == "Pending" {
		return unscheduled(&o)
	}
	if podEnds(&o) {
		return inProgress("PodRunning", text("Pod is running to completion"), "spec.restartPolicy"), true
	}
	return Result{}, false
}

// failedPod names the first container that has exited with an error, unless the Pod has a message.
func failedPod(o *Object) Result {
	for _, list := range containerLists {
		for _, item := range o.List("status", list.field) {
			c, _ := object.ToMap(item)
			code, exited := object.Int64(c, "state", "terminated", "exitCode")
			if !exited || code == 0 || o.Text("status", "message") != "" {
				continue
			}
			name, _ := c["name"].(string)
			reason, _ := object.String(c, "state", "terminated", "reason")
			m := message{format: "Container %s exited with code %d", words: [2]string{name, reason}, numbers: [3]int64{code}}
			if reason != "" && reason != "Error" {
				m.format += " (%s)"
			}
			return Failed.because("PodFailed", m).atItem(list.path, name)
		}
	}
	return Failed.because("PodFailed", o.phaseMessage("phase", "Failed")).At("status.phase")
}

// unscheduled says with the words of the scheduler why a Pod has no node. It is in progress: the
// scheduler tries again, and an autoscaler may add a node.
func unscheduled(o *Object) (Result, bool) {
	c, ok := o.findView("PodScheduled", "False", "")
	if !ok || c.message() == "" && c.reason() == "" {
		return Result{}, false
	}
	r := InProgress.From(c.condition())
	if c.message() == "" {
		r.message = text("Pod could not be scheduled")
	}
	return r, true
}

// podEnds reports whether a Pod is done when its containers have exited.
func podEnds(o *Object) bool {
	switch o.Text("spec", "restartPolicy") {
	case "OnFailure", "Never":
		annotations, _ := object.ToMap(o.metadata["annotations"])
		_, hook := annotations["argocd.argoproj.io/hook"]
		return hook || annotations["argocd.argoproj.io/ignore-restart-policy"] != "true"
	}
	return false
}

// stuckContainer returns the verdict on the first container that does not start. Init containers
// are first.
func stuckContainer(o *Object) (Result, bool) {
	for _, list := range containerLists {
		for _, item := range o.List("status", list.field) {
			c, _ := object.ToMap(item)
			if r, ok := containerResult(o, c); ok {
				name, _ := c["name"].(string)
				return r.atItem(list.path, name), true
			}
		}
	}
	return Result{}, false
}

var containerLists = [...]struct{ field, path string }{
	{"initContainerStatuses", "status.initContainerStatuses"},
	{"containerStatuses", "status.containerStatuses"},
}

// restartGrace is how long a container must run after a crash to count as recovered.
const restartGrace = 10 * time.Second

func containerResult(o *Object, container map[string]any) (Result, bool) {
	if reason, waits := object.String(container, "state", "waiting", "reason"); waits {
		return waitingContainer(o, reason, container)
	}
	restarts, _ := integer(container["restartCount"])
	if restarts == 0 || container["ready"] == true || !o.restartsAlways() {
		return Result{}, false
	}
	if code, exited := object.Int64(container, "state", "terminated", "exitCode"); exited && code != 0 {
		return crashed(container), true
	}
	return restartedContainer(o, container)
}

// restartedContainer is Failed while a container runs again for a short time after a crash.
// Otherwise the status would change with every restart of a crash loop.
func restartedContainer(o *Object, container map[string]any) (Result, bool) {
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
	return Failed.because("ContainerCrashLooping", withWords("Container %s keeps crashing", name))
}

func waitingContainer(o *Object, reason string, container map[string]any) (Result, bool) {
	terminal, stuck := stuckReasons[reason]
	if !stuck || reason == crashLoop && !o.restartsAlways() {
		return Result{}, false
	}
	name, _ := container["name"].(string)
	r := Failed.because(reason, withWords("Container %s: %s", name, reason))
	if why, _ := object.String(container, "state", "waiting", "message"); why != "" {
		r.message = withWords("Container %s: %s", name, why)
	}
	r.Terminal = terminal
	return r, true
}

const crashLoop = "CrashLoopBackOff"

// stuckReasons are the reasons for which the kubelet does not run a container. The value says
// whether trying again cannot help.
var stuckReasons = map[string]bool{
	crashLoop:                    false,
	"CreateContainerConfigError": false,
	"CreateContainerError":       false,
	"ErrImagePull":               false,
	"ImageInspectError":          false,
	"ImagePullBackOff":           false,
	"PostStartHookError":         false,
	"PreCreateHookError":         false,
	"RegistryUnavailable":        false,
	"RunContainerError":          false,
	"SignatureValidationFailed":  false,
	"ErrImageNeverPull":          true,
	"InvalidImageName":           true,
}

func (o *Object) restartsAlways() bool {
	policy := o.Text("spec", "restartPolicy")
	return policy == "" || policy == "Always"
}
