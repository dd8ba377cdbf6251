package kubelet

import (
	"crypto/sha256"
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/conditions"
	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/fields"
)

const deadlineExceeded = "Pod was active on the node longer than the specified deadline"

// setPhase sets the phase of the Pod from its containers. As long as one runs, it does not end.
func (k *kubelet) setPhase() {
	before := k.phase
	if k.verdict = k.judge(); isTerminal(k.verdict) && k.runsAny() {
		k.phase = before
	} else if k.phase = k.verdict; k.deadline {
		k.status["reason"], k.status["message"] = "DeadlineExceeded", deadlineExceeded
	}
	if k.phase == "" {
		k.phase = "Pending"
	}
	k.status["phase"] = k.phase
}

// judge is the phase that the containers have brought the Pod to.
func (k *kubelet) judge() string {
	switch {
	case k.deadline:
		return "Failed"
	case k.isOver():
		for _, c := range k.all() {
			if !c.sidecar && c.ended != nil && c.ended.code != 0 {
				return "Failed"
			}
		}
		return "Succeeded"
	case len(k.incomplete()) > 0 || k.isCreating():
		return "Pending"
	}
	return "Running"
}

func isTerminal(phase string) bool { return phase == "Succeeded" || phase == "Failed" }

// isCreating reports whether a container has never run.
func (k *kubelet) isCreating() bool {
	for _, c := range k.mains {
		if !c.running() && c.ended == nil && c.last == nil {
			return true
		}
	}
	return false
}

// incomplete returns the init containers that the others wait for.
func (k *kubelet) incomplete() (names []string) {
	if k.initialized() {
		return nil
	}
	for _, c := range k.inits {
		if !c.isPassed() && !(c.sidecar && k.isOver()) {
			names = append(names, c.name)
		}
	}
	return names
}

// write puts all but the phase into the status.
func (k *kubelet) write() {
	for _, list := range [][]*container{k.inits, k.mains} {
		var statuses []any
		for _, c := range list {
			if c.ended != nil && c.init && !c.sidecar {
				c.ready = c.ended.code == 0
			}
			statuses = append(statuses, c.status())
		}
		if len(list) > 0 {
			k.status[statusField(list[0].init)] = statuses
		}
	}
	k.writeConditions()
	k.writeAddresses()
}

func (k *kubelet) writeConditions() {
	set := func(kind, reason, message string) {
		c := conditions.Condition{"type": kind, "status": "True", "lastTransitionTime": fields.FormatTime(k.now)}
		if reason != "" {
			c["reason"] = reason
		}
		if message != "" || isTerminal(k.verdict) && reason != "" && kind != "Initialized" {
			c["status"] = "False"
		}
		if message != "" {
			c["message"] = message
		}
		k.setCondition(c)
	}
	k.setCondition(conditions.Condition{"type": "PodReadyToStartContainers", "status": upper(k.runsAny() || !isTerminal(k.verdict)), "lastTransitionTime": fields.FormatTime(k.now)})
	switch names := k.incomplete(); {
	case k.verdict == "Succeeded":
		set("Initialized", "PodCompleted", "")
	case len(names) > 0:
		set("Initialized", "ContainersNotInitialized", fmt.Sprintf("containers with incomplete status: %s", names))
	default:
		set("Initialized", "", "")
	}
	reason, message := k.unready()
	gates := k.unreadyGates()
	set("ContainersReady", reason, message)
	if reason == "" && gates != "" {
		reason, message = "ReadinessGatesNotReady", gates
	}
	set("Ready", reason, message)
}

func upper(b bool) string {
	if b {
		return "True"
	}
	return "False"
}

// setCondition keeps the time of transition of a condition whose status does not change.
func (k *kubelet) setCondition(c conditions.Condition) {
	list := conditions.List(fields.Slice(k.status, "conditions"))
	if old := list.Find(c.Field("type")); old != nil && old.Field("status") == c.Field("status") {
		c["lastTransitionTime"] = old["lastTransitionTime"]
	}
	list.Replace(c).WriteTo(k.status)
}

// unready says why the containers are not ready, "" if they are.
func (k *kubelet) unready() (reason, message string) {
	if isTerminal(k.verdict) {
		return map[string]string{"Succeeded": "PodCompleted", "Failed": "PodFailed"}[k.verdict], ""
	}
	var names []string
	for _, c := range k.all() {
		if !c.ready && (!c.init || c.sidecar) {
			names = append(names, c.name)
		}
	}
	if names == nil {
		return "", ""
	}
	return "ContainersNotReady", fmt.Sprintf("containers with unready status: %s", names)
}

// unreadyGates says which readiness gates are not True.
func (k *kubelet) unreadyGates() string {
	var messages []string
	for _, gate := range fields.Maps(k.pod.Object, "spec", "readinessGates") {
		kind := fields.String(gate, "conditionType")
		switch c := conditions.Of(k.pod).Find(kind); {
		case c == nil:
			messages = append(messages, fmt.Sprintf("corresponding condition of pod readiness gate %q does not exist.", kind))
		case !c.IsTrue():
			messages = append(messages, fmt.Sprintf("the status of pod readiness gate %q is not \"True\", but %s", kind, c.Field("status")))
		}
	}
	return strings.Join(messages, ", ")
}

// writeAddresses gives the Pod the address of its node, and one that its uid decides.
func (k *kubelet) writeAddresses() {
	if k.options.HostIP != nil && fields.String(k.status, "hostIP") == "" {
		if ip := k.options.HostIP(fields.String(k.pod.Object, "spec", "nodeName")); ip != "" {
			k.status["hostIP"], k.status["hostIPs"] = ip, []any{map[string]any{"ip": ip}}
		}
	}
	if fields.String(k.status, "podIP") != "" {
		return
	}
	ip := k.address()
	if fields.Bool(k.pod.Object, "spec", "hostNetwork") {
		ip = fields.String(k.status, "hostIP")
	}
	if ip != "" {
		k.status["podIP"], k.status["podIPs"] = ip, []any{map[string]any{"ip": ip}}
	}
}

// containerID is what the next start of a container is named, in 64 digits as containerd's.
func (k *kubelet) containerID(c *container) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s/%d", k.pod.GetUID(), c.name, c.restarts))
	return fmt.Sprintf("containerd://%x", sum)
}

// address is one of 10.128.0.0/9 that ends with 1 to 254.
func (k *kubelet) address() string {
	h := fnv.New32a()
	h.Write([]byte(k.pod.GetUID()))
	n := h.Sum32()
	return fmt.Sprintf("10.%d.%d.%d", 128+n>>24&127, n>>16&255, 1+n%254)
}
