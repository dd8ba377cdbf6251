package kstatustest

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// A containerState writes the status of a container: of the one that fails, or of all.
type containerState struct {
	ready    bool
	restarts int64
	state    map[string]any
	last     map[string]any
}

func podReady(d *draft) {
	d.started("Running")
	d.containers(d.allRunning())
	d.podConditions("True", "True", "", "")
}

func podSucceeded(d *draft) {
	d.started("Succeeded")
	d.containers(func(string) containerState { return containerState{state: d.terminated(0, "Completed")} })
	d.podConditions("True", "False", "PodCompleted", "")
}

func podFailed(d *draft) {
	d.started("Failed")
	d.containers(d.oneOf(containerState{state: d.terminated(1, "Error")}, containerState{state: d.terminated(0, "Completed")}))
	d.podConditions("True", "False", "PodFailed", "")
}

func podPending(d *draft) {
	d.started("Pending")
	waiting := containerState{state: waitingFor("ContainerCreating", "")}
	d.containers(func(string) containerState { return waiting })
	d.podConditions("True", "False", "ContainersNotReady", d.unready())
}

func podCrashLooping(d *draft) { d.loops(d.terminated(1, "Error")) }

// podOutOfMemory makes a Pod whose container is restarted or, if the restart policy forbids that, a
// failed one.
func podOutOfMemory(d *draft) {
	if d.text("spec", "restartPolicy") != "Never" {
		d.loops(d.terminated(137, "OOMKilled"))
		return
	}
	d.started("Failed")
	d.containers(d.oneOf(containerState{state: d.terminated(137, "OOMKilled")}, containerState{state: d.terminated(0, "Completed")}))
	d.podConditions("True", "False", "PodFailed", "")
}

// loops makes a Pod with a container that ended several times and waits for a restart.
func (d *draft) loops(last map[string]any) {
	d.started("Running")
	uid := d.text("metadata", "uid")
	message := fmt.Sprintf("back-off 5m0s restarting failed container=%s pod=%s_%s(%s)", d.chosen(), d.name(), d.text("metadata", "namespace"), uid)
	looping := containerState{restarts: 6, state: waitingFor("CrashLoopBackOff", d.message(message)), last: last}
	d.containers(d.oneOf(looping, d.allRunning()("")))
	d.podConditions("True", "False", "ContainersNotReady", d.unready())
}

func podImagePullBackOff(d *draft) {
	d.started("Pending")
	message := fmt.Sprintf("Back-off pulling image %q", d.image(d.chosen()))
	d.containers(d.oneOf(containerState{state: waitingFor("ImagePullBackOff", d.message(message))}, d.allRunning()("")))
	d.podConditions("True", "False", "ContainersNotReady", d.unready())
}

func podEvicted(d *draft) {
	d.started("Failed")
	d.status["reason"], d.status["message"] = "Evicted", d.message("The node was low on resource: memory.")
	d.containers(func(string) containerState { return containerState{state: d.terminated(137, "Error")} })
	d.podConditions("True", "False", "PodFailed", "")
}

func podUnschedulable(d *draft) {
	d.drop("startTime", "hostIP", "hostIPs", "podIP", "podIPs", "containerStatuses", "initContainerStatuses", "reason", "message")
	d.status["phase"] = "Pending"
	d.keep("qosClass", d.qualityOfService())
	message := d.message("0/1 nodes are available: 1 Insufficient cpu.")
	d.unprobed(condition{"PodScheduled", "False", "Unschedulable", message})
}

// started writes the fields of every Pod that a kubelet has seen.
func (d *draft) started(phase string) {
	d.drop("reason", "message")
	d.status["phase"] = phase
	d.keep("startTime", d.now())
	d.keep("hostIP", "192.0.2.1")
	d.keep("hostIPs", []any{map[string]any{"ip": d.status["hostIP"]}})
	if phase != "Pending" {
		d.keep("podIP", "198.51.100.1")
		d.keep("podIPs", []any{map[string]any{"ip": d.status["podIP"]}})
	}
	d.keep("qosClass", d.qualityOfService())
}

// podConditions writes the conditions of a kubelet, and those of the readiness gates.
func (d *draft) podConditions(initialized, ready, reason, message string) {
	sandbox := "True"
	if d.status["phase"] == "Succeeded" || d.status["phase"] == "Failed" {
		sandbox = "False"
	}
	list := []condition{
		{kind: "PodReadyToStartContainers", status: sandbox},
		{kind: "Initialized", status: initialized},
		{"Ready", ready, reason, message},
		{"ContainersReady", ready, reason, message},
		{kind: "PodScheduled", status: "True"},
	}
	gates, _ := object.Slice(d.fields, "spec", "readinessGates")
	for _, g := range gates {
		gate, _ := object.ToMap(g)
		if kind, ok := gate["conditionType"].(string); ok {
			list = append(list, condition{kind: kind, status: ready})
		}
	}
	d.unprobed(list...)
}

// unprobed writes the conditions of a Pod, with a lastProbeTime of null as in the API.
func (d *draft) unprobed(list ...condition) {
	d.conditions(nil, list...)
	for _, c := range d.status["conditions"].([]any) {
		c.(map[string]any)["lastProbeTime"] = nil
	}
}

// containers writes the statuses of the containers, by their states, and those of the init
// containers, which have ended.
func (d *draft) containers(of func(name string) containerState) {
	d.status["containerStatuses"] = d.statuses("containers", func(c map[string]any) containerState {
		name, _ := c["name"].(string)
		return of(name)
	})
	d.status["initContainerStatuses"] = d.statuses("initContainers", func(c map[string]any) containerState {
		if c["restartPolicy"] == "Always" {
			return d.allRunning()("")
		}
		return containerState{ready: true, state: d.terminated(0, "Completed")}
	})
	if len(d.status["initContainerStatuses"].([]any)) == 0 {
		d.drop("initContainerStatuses")
	}
}

func (d *draft) statuses(field string, of func(map[string]any) containerState) []any {
	list, _ := object.Slice(d.fields, "spec", field)
	out := make([]any, 0, len(list))
	for _, item := range list {
		if c, ok := object.ToMap(item); ok {
			out = append(out, d.containerStatus(c, of(c)))
		}
	}
	return out
}

func (d *draft) containerStatus(c map[string]any, s containerState) map[string]any {
	_, running := s.state["running"]
	status := map[string]any{
		"name": c["name"], "image": c["image"], "ready": s.ready, "started": running,
		"restartCount": s.restarts, "state": s.state, "lastState": map[string]any{}, "imageID": "",
	}
	if s.last != nil {
		status["lastState"] = s.last
	}
	if _, waiting := s.state["waiting"]; !waiting || s.last != nil {
		status["containerID"] = fmt.Sprintf("containerd://%v", c["name"])
		status["imageID"] = c["image"]
	}
	return status
}

func (d *draft) allRunning() func(string) containerState {
	s := containerState{ready: true, state: map[string]any{"running": map[string]any{"startedAt": d.now()}}}
	return func(string) containerState { return s }
}

// oneOf returns one state for the chosen container, and another for the rest.
func (d *draft) oneOf(chosen, rest containerState) func(string) containerState {
	return func(name string) containerState {
		if name == d.chosen() {
			return chosen
		}
		return rest
	}
}

// chosen returns the container that fails.
func (d *draft) chosen() string {
	if d.options.Container != "" {
		return d.options.Container
	}
	if names := d.containerNames(); len(names) > 0 {
		return names[0]
	}
	return ""
}

func (d *draft) containerNames() []string {
	list, _ := object.Slice(d.fields, "spec", "containers")
	names := make([]string, 0, len(list))
	for _, item := range list {
		c, _ := object.ToMap(item)
		name, _ := c["name"].(string)
		names = append(names, name)
	}
	return names
}

func (d *draft) image(container string) string {
	list, _ := object.Slice(d.fields, "spec", "containers")
	image, _ := find(list, "name", container)["image"].(string)
	return image
}

// unready returns the message with which a kubelet names the containers that are not ready.
func (d *draft) unready() string {
	var names []string
	for _, item := range d.status["containerStatuses"].([]any) {
		if c := item.(map[string]any); c["ready"] != true {
			names = append(names, fmt.Sprint(c["name"]))
		}
	}
	return fmt.Sprintf("containers with unready status: [%s]", strings.Join(names, " "))
}

func (d *draft) terminated(code int64, reason string) map[string]any {
	return map[string]any{"terminated": map[string]any{
		"exitCode": code, "reason": reason, "startedAt": d.now(), "finishedAt": d.now(),
	}}
}

func waitingFor(reason, message string) map[string]any {
	waiting := map[string]any{"reason": reason}
	if message != "" {
		waiting["message"] = message
	}
	return map[string]any{"waiting": waiting}
}

// qualityOfService returns the class that an API server derives from the requests and limits of the
// containers for cpu and memory.
func (d *draft) qualityOfService() string {
	asked, guaranteed := false, true
	for _, field := range []string{"initContainers", "containers"} {
		list, _ := object.Slice(d.fields, "spec", field)
		for _, item := range list {
			c, _ := object.ToMap(item)
			for _, name := range []string{"cpu", "memory"} {
				request, limit := quantity(c, "requests", name), quantity(c, "limits", name)
				asked = asked || !request.IsZero() || !limit.IsZero()
				guaranteed = guaranteed && !limit.IsZero() && (request.IsZero() || request.Cmp(limit) == 0)
			}
		}
	}
	switch {
	case !asked:
		return "BestEffort"
	case guaranteed:
		return "Guaranteed"
	}
	return "Burstable"
}

func quantity(container map[string]any, path ...string) resource.Quantity {
	v, _ := object.Get(container, append([]string{"resources"}, path...)...)
	q, err := resource.ParseQuantity(fmt.Sprint(v))
	if err != nil {
		return resource.Quantity{}
	}
	return q
}
