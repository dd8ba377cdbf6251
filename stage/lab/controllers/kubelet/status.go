package kubelet

import (
	"crypto/sha256"
	"fmt"
	"hash/fnv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/conditions"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
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

// judge is the phase that the containers have brought the Pod to, as getPhase of the kubelet says it.
func (k *kubelet) judge() string {
	n := k.countStates()
	switch {
	case k.deadline || n.failedInits > 0:
		return "Failed"
	case n.pendingInits > 0 || n.pendingSidecars > 0 && !k.initialized() || n.waiting > 0:
		return "Pending"
	case n.running > 0 || len(k.mains) == 0: // a Pod without containers, which an API server refuses, runs
		return "Running"
	case n.restartable > 0 && !fields.IsTerminating(k.pod):
		return "Running"
	case n.stopped > n.succeeded:
		return "Failed"
	}
	return "Succeeded"
}

// states count containers: the first three are of init containers, running is also of sidecars, the
// others are of neither.
type states struct{ failedInits, pendingInits, pendingSidecars, running, waiting, stopped, succeeded, restartable int }

func (k *kubelet) countStates() (n states) {
	for _, c := range k.inits {
		switch last := c.lastEnd(); {
		case c.sidecar:
			n.addSidecar(c)
		case last == nil || c.running():
			n.pendingInits++
		case last.code != 0 && k.restartPolicy() == "Never":
			n.failedInits++
		}
	}
	for _, c := range k.mains {
		switch last := c.lastEnd(); {
		case c.running():
			n.running++
		case last == nil:
			n.waiting++
		default:
			n.stopped++
			n.succeeded += count(c.ended != nil && last.code == 0)
			n.restartable += count(k.restartsAfter(c, last.code))
		}
	}
	return n
}

func (n *states) addSidecar(c *container) {
	switch {
	case c.running():
		n.running++
		n.pendingSidecars += count(!c.begun)
	case c.lastEnd() == nil:
		n.pendingSidecars++
		n.waiting++
	}
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// lastEnd is how the container ended the last time, nil if it has not.
func (c *container) lastEnd() *end {
	if c.ended != nil {
		return c.ended
	}
	return c.last
}

func isTerminal(phase string) bool { return phase == "Succeeded" || phase == "Failed" }

// incomplete returns the init containers that the others wait for.
func (k *kubelet) incomplete() (names []string) {
	if k.initialized() {
		return nil
	}
	for _, c := range k.inits {
		if !c.isPassed() {
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
			if c.init && !c.sidecar {
				c.ready = c.ended != nil && c.ended.code == 0
			}
			statuses = append(statuses, c.status())
		}
		if len(list) > 0 {
			k.status[statusField(list[0].init)] = statuses
		}
	}
	observe(k.pod, k.status)
	k.writeConditions()
	k.writeAddresses()
}

// observe writes the generation of a Pod into its status or a condition.
func observe(pod *unstructured.Unstructured, what map[string]any) {
	if n := pod.GetGeneration(); n > 0 {
		what["observedGeneration"] = n
	}
}

func (k *kubelet) writeConditions() {
	now := fields.FormatTime(k.now)
	set := func(kind, reason, message string) {
		c := conditions.Condition{"type": kind, "status": "True", "lastTransitionTime": now}
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
	k.setCondition(conditions.Condition{"type": "PodReadyToStartContainers", "status": upper(k.runsAny() || !isTerminal(k.verdict)), "lastTransitionTime": now})
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
	k.setCondition(conditions.Condition{"type": "PodScheduled", "status": "True", "lastTransitionTime": now})
}

func upper(b bool) string {
	if b {
		return "True"
	}
	return "False"
}

// setCondition keeps the time of transition of a condition whose status does not change.
func (k *kubelet) setCondition(c conditions.Condition) {
	observe(k.pod, c)
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

// writeAddresses gives the Pod the address of its node, and an address that depends on its uid.
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

// containerID is the ID for the next start of a container, in 64 digits like containerd's.
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
