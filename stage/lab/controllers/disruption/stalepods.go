package disruption

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/conditions"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/pods"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// staleTimeout is how long a Pod that is not deleted keeps the condition DisruptionTarget.
const staleTimeout = 2 * time.Minute

// StalePods returns the controller that sets the condition DisruptionTarget of a Pod to False that
// has not been deleted two minutes after the condition became True.
func StalePods() reconcile.Controller {
	return reconcile.Controller{
		Name: "stale-pod-disruption", For: kinds.Pod,
		When:      func(ch reconcile.Change) bool { return ch.New != nil && isTarget(pods.Of(ch.New)) },
		Reconcile: control.OnExisting(kinds.Pod, clearTarget),
	}
}

// isTarget reports whether a running Pod has the condition DisruptionTarget, set by another program
// than its kubelet.
func isTarget(p pods.Pod) bool {
	if !p.IsActive() {
		return false
	}
	target := p.Condition("DisruptionTarget")
	return target.IsTrue() && target.Field("reason") != "TerminationByKubelet"
}

func clearTarget(c control.Call, pod *unstructured.Unstructured) (reconcile.Result, error) {
	if !isTarget(pods.Of(pod)) {
		return reconcile.Result{}, nil
	}
	list := conditions.Of(pod)
	since, _ := fields.Time(list.Find("DisruptionTarget"), "lastTransitionTime")
	if left := since.Add(staleTimeout).Sub(c.Now); left > 0 {
		return reconcile.Result{After: left}, nil
	}
	cleared := conditions.Condition{"type": "DisruptionTarget", "status": "False", "lastProbeTime": nil, "lastTransitionTime": c.Timestamp()}
	if generation := pod.GetGeneration(); generation != 0 {
		cleared["observedGeneration"] = generation
	}
	status := control.Status(fields.CloneMap(pod.Object, "status"))
	list.Replace(cleared).WriteTo(status)
	return reconcile.Result{}, c.WriteStatus(pod, status)
}
