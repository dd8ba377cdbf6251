package kstatustest

import (
	"fmt"
	"strings"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

func claimBound(d *draft) {
	d.status["phase"] = "Bound"
	if modes, ok := object.Slice(d.fields, "spec", "accessModes"); ok {
		d.status["accessModes"] = object.DeepCopy(modes)
	}
	if size, ok := object.Get(d.fields, "spec", "resources", "requests", "storage"); ok {
		d.section(d.status, "capacity")["storage"] = size
	}
}

// volumeReady makes a volume that is bound if it has a claim.
func volumeReady(d *draft) {
	d.drop("reason", "message")
	d.status["phase"] = "Available"
	if _, claimed := object.Map(d.fields, "spec", "claimRef"); claimed {
		d.status["phase"] = "Bound"
	}
	d.keep("lastPhaseTransitionTime", d.now())
}

func volumeFailed(d *draft) {
	d.status["phase"], d.status["reason"] = "Failed", "VolumeFailedDelete"
	d.status["message"] = d.message("the volume could not be deleted")
}

// serviceReady makes a Service with a cluster address and, for a load balancer, an external one.
func serviceReady(d *draft) {
	kind := d.text("spec", "type")
	if spec := d.section(d.fields, "spec"); kind != "ExternalName" && d.text("spec", "clusterIP") == "" {
		spec["clusterIP"], spec["clusterIPs"] = "10.96.0.10", []any{"10.96.0.10"}
	}
	if kind == "LoadBalancer" {
		addressed(d)
		return
	}
	d.keep("loadBalancer", map[string]any{})
}

func serviceWithoutAddress(d *draft) { d.status["loadBalancer"] = map[string]any{} }

func addressed(d *draft) {
	balancer := d.section(d.status, "loadBalancer")
	if list, _ := object.ToSlice(balancer["ingress"]); len(list) > 0 {
		return
	}
	address := map[string]any{"ip": "203.0.113.1"}
	if d.text("kind") == "Service" {
		address["ipMode"] = "VIP"
	}
	balancer["ingress"] = []any{address}
}

var nodeTimes = []string{"lastHeartbeatTime"}

func nodeReady(d *draft) {
	d.keep("addresses", []any{map[string]any{"type": "InternalIP", "address": "192.0.2.1"}, map[string]any{"type": "Hostname", "address": d.name()}})
	for _, name := range []string{"capacity", "allocatable"} {
		d.keep(name, map[string]any{"cpu": "8", "memory": "32Gi", "ephemeral-storage": "100Gi", "pods": "110"})
	}
	d.conditions(nodeTimes,
		condition{"MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"},
		condition{"DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"},
		condition{"PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"},
		condition{"Ready", "True", "KubeletReady", "kubelet is posting ready status"})
}

// nodeLost makes a node whose kubelet does not report.
func nodeLost(d *draft) {
	var list []condition
	for _, kind := range []string{"MemoryPressure", "DiskPressure", "PIDPressure", "Ready"} {
		list = append(list, condition{kind, "Unknown", "NodeStatusUnknown", d.message("Kubelet stopped posting node status.")})
	}
	d.conditions(nodeTimes, list...)
}

func quotaInForce(d *draft) {
	hard, _ := object.Map(d.fields, "spec", "hard")
	used := d.section(d.status, "used")
	for name := range hard {
		if _, counted := used[name]; !counted {
			used[name] = "0"
		}
	}
	d.status["hard"] = object.CopyMap(hard)
}

func budgetMet(d *draft) {
	d.observe()
	wanted := d.int(1, "spec", "minAvailable")
	d.status["desiredHealthy"], d.status["currentHealthy"], d.status["expectedPods"] = wanted, wanted+1, wanted+1
	d.status["disruptionsAllowed"] = int64(1)
	d.budgetCondition(condition{"DisruptionAllowed", "True", "SufficientPods", ""})
}

func budgetFailed(d *draft) {
	d.observe()
	for _, name := range []string{"desiredHealthy", "currentHealthy", "expectedPods", "disruptionsAllowed"} {
		d.status[name] = int64(0)
	}
	d.budgetCondition(condition{"DisruptionAllowed", "False", "SyncFailed", d.message("found no controllers for pod")})
}

// budgetCondition returns a condition in the form of metav1.Condition, with a generation.
func (d *draft) budgetCondition(c condition) {
	d.conditions(nil, c)
	m := d.status["conditions"].([]any)[0].(map[string]any)
	m["observedGeneration"], m["message"] = d.status["observedGeneration"], c.message
}

func autoscaling(d *draft) {
	d.observe()
	n := d.int(1, "spec", "minReplicas")
	d.status["currentReplicas"], d.status["desiredReplicas"] = n, n
	d.keep("currentMetrics", nil)
	d.conditions(nil,
		condition{"AbleToScale", "True", "ReadyForNewScale", "recommended size matches current size"},
		condition{"ScalingActive", "True", "ValidMetricFound", "the HPA was able to successfully calculate a replica count"},
		condition{"ScalingLimited", "False", "DesiredWithinRange", "the desired count is within the acceptable range"})
}

func autoscalingFailed(d *draft) {
	d.observe()
	d.status["desiredReplicas"] = int64(0)
	d.conditions(nil, condition{"AbleToScale", "False", "FailedGetScale", d.message("the HPA controller was unable to get the target's current scale")})
}

func established(d *draft) {
	d.status["acceptedNames"] = d.names()
	d.status["storedVersions"] = d.storedVersions()
	d.conditions(nil,
		condition{"NamesAccepted", "True", "NoConflicts", "no conflicts found"},
		condition{"Established", "True", "InitialNamesAccepted", "the initial names have been accepted"})
}

func namesTaken(d *draft) {
	d.status["acceptedNames"] = map[string]any{"plural": "", "kind": ""}
	d.status["storedVersions"] = d.storedVersions()
	d.conditions(nil,
		condition{"NamesAccepted", "False", "PluralConflict", d.message(fmt.Sprintf("%q is already in use", d.text("spec", "names", "plural")))},
		condition{"Established", "False", "NotAccepted", "not all names are accepted"})
}

// names returns the names of the definition, with the ones that an API server adds.
func (d *draft) names() map[string]any {
	spec, _ := object.Map(d.fields, "spec", "names")
	names := object.CopyMap(spec)
	if names == nil {
		names = map[string]any{}
	}
	kind := d.text("spec", "names", "kind")
	for name, value := range map[string]string{"listKind": kind + "List", "singular": strings.ToLower(kind)} {
		if names[name] == nil {
			names[name] = value
		}
	}
	return names
}

func (d *draft) storedVersions() []any {
	versions, _ := object.Slice(d.fields, "spec", "versions")
	stored := find(versions, "storage", true)
	return []any{stored["name"]}
}

func apiAvailable(d *draft) {
	d.conditions(nil, condition{"Available", "True", "Passed", "all checks passed"})
}

func apiUnavailable(d *draft) {
	d.conditions(nil, condition{"Available", "False", "FailedDiscoveryCheck", d.message("failing or missing response from the service")})
}
