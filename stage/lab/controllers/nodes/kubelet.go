package nodes

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/conditions"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/pods"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// Kubelet is the annotation of a Node that controls its kubelet. With the value [Stopped] the
// kubelet sends no heartbeats and does nothing for its Pods, as on a machine that is off or cut
// off. Without the annotation the kubelet runs.
const (
	Kubelet = "stagecraft-go.github.io/kubelet"
	Stopped = "stopped"
)

// IsStopped reports whether the annotation of a Node says that its kubelet is stopped.
func IsStopped(node *unstructured.Unstructured) bool {
	return fields.Annotation(node, Kubelet) == Stopped
}

// KubeletRuns reports whether the kubelet of a Node does something for its Pods: the Node exists,
// it is not stopped, and its condition Ready is not Unknown. It is for simulation.Options.Kubelet;
// node is nil if the Node does not exist.
func KubeletRuns(node *unstructured.Unstructured) bool {
	return node != nil && !IsStopped(node) && readyOf(node).Field("status") != "Unknown"
}

// Kubelets returns the controller that makes Pods ready again when their Node is ready again, if
// their containers are ready. A kubelet does this when it reports again.
func Kubelets() reconcile.Controller {
	return reconcile.Controller{
		Name: "kubelet-readiness", For: kinds.Node, When: isReadyAgain, Indexes: []*reconcile.Index{pods.ByNode},
		Reconcile: control.OnExisting(kinds.Node, func(c control.Call, node *unstructured.Unstructured) (reconcile.Result, error) {
			c.Manager = control.Kubelet
			if !readyOf(node).IsTrue() || IsStopped(node) {
				return reconcile.Result{}, nil
			}
			for _, pod := range c.Cache.By(pods.ByNode, node.GetName()) {
				if err := makeReady(c, pods.Of(pod)); err != nil {
					return reconcile.Result{}, err
				}
			}
			return reconcile.Result{}, nil
		}),
	}
}

func isReadyAgain(ch reconcile.Change) bool {
	if ch.Old == nil || ch.New == nil || !readyOf(ch.New).IsTrue() {
		return false
	}
	return !readyOf(ch.Old).IsTrue() || IsStopped(ch.Old) != IsStopped(ch.New)
}

func makeReady(c control.Call, pod pods.Pod) error {
	ready := pod.Condition("Ready")
	if pod.Phase() != "Running" || ready == nil || ready.IsTrue() || !pod.Condition("ContainersReady").IsTrue() {
		return nil
	}
	for _, gate := range fields.Maps(pod.Object, "spec", "readinessGates") {
		if !pod.Condition(fields.String(gate, "conditionType")).IsTrue() {
			return nil
		}
	}
	_, err := setReady(c, pod, "True")
	return err
}

// setReady changes only the status of the condition Ready of a Pod that has this condition. It
// reports whether it changed the condition: the Pod exists, and the old status was different.
func setReady(c control.Call, pod pods.Pod, status string) (changed bool, err error) {
	old := pod.Condition("Ready")
	if old == nil || old.Field("status") == status {
		return false, nil
	}
	next := maps.Clone(old)
	next["status"], next["lastTransitionTime"] = status, c.Timestamp()
	err = c.WriteStatus(pod.Unstructured, withConditions(pod, conditions.Of(pod.Unstructured).Replace(next), ""))
	return err == nil, control.IgnoreNotFound(err)
}

// writeConditions writes the conditions of a Pod, and its phase unless that is "". A missing Pod is
// not an error.
func writeConditions(c control.Call, pod pods.Pod, list conditions.List, phase string) error {
	return control.IgnoreNotFound(c.WriteStatus(pod.Unstructured, withConditions(pod, list, phase)))
}

func withConditions(pod pods.Pod, list conditions.List, phase string) control.Status {
	status := control.Status(fields.CloneMap(pod.Object, "status"))
	list.WriteTo(status)
	if phase != "" {
		status["phase"] = phase
		if generation := pod.GetGeneration(); generation != 0 {
			status["observedGeneration"] = generation
		}
	}
	return status
}
