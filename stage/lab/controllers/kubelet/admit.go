package kubelet

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/pods"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// refusal returns why a kubelet refuses a Pod that it sees for the first time, or "". It refuses a
// Pod if another Pod of its node has a host port that it wants.
func refusal(cache *reconcile.Cache, pod *unstructured.Unstructured) (reason, message string) {
	ports := pods.HostPorts(fields.Map(pod.Object, "spec"))
	if len(ports) == 0 || isTaken(pod) {
		return "", ""
	}
	for _, other := range cache.By(pods.ByNode, pods.Of(pod).NodeName()) {
		if other.GetUID() == pod.GetUID() || !isTaken(other) || isTerminal(fields.String(other.Object, "status", "phase")) {
			continue
		}
		for _, used := range pods.HostPorts(fields.Map(other.Object, "spec")) {
			if slices.ContainsFunc(ports, used.Conflicts) {
				return "NodePorts", "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"
			}
		}
	}
	return "", ""
}

// isTaken reports whether a kubelet has seen a Pod.
func isTaken(pod *unstructured.Unstructured) bool {
	_, ok := fields.Time(fields.Map(pod.Object, "status"), "startTime")
	return ok
}

// refuseAfter is the least age at which a Pod is refused. Without it, a controller that replaces
// the Pod at once would never end where no time passes.
const refuseAfter = time.Second

// refuse fails a Pod before any of its containers is started.
func refuse(c control.Call, pod *unstructured.Unstructured, reason, message string) (reconcile.Result, error) {
	if early := pod.GetCreationTimestamp().Add(refuseAfter).Sub(c.Now); early > 0 {
		return reconcile.Result{After: early}, nil
	}
	status := fields.CloneMap(pod.Object, "status")
	status["phase"], status["reason"], status["message"] = "Failed", reason, "Pod was rejected: "+message
	status["startTime"] = fields.FormatTime(c.Now)
	observe(pod, status)
	if err := c.WriteStatus(pod, control.Status(status)); err != nil {
		return reconcile.Result{}, control.IgnoreNotFound(err)
	}
	c.Record(pod, "Warning", reason, message)
	return reconcile.Result{}, nil
}
