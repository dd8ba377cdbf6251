package controllers_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/kubelet"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

var nodeKind = schema.GroupVersionKind{Version: "v1", Kind: "Node"}

const aNode = `
apiVersion: v1
kind: Node
metadata: {name: %s}
status: {conditions: [{type: Ready, status: "True"}], allocatable: {cpu: "4", memory: 8Gi, pods: "110"}}
---
`

const aJob = `
apiVersion: batch/v1
kind: Job
metadata: {name: j}
spec: {completions: 2, parallelism: 1, template: {spec: {restartPolicy: Never, containers: [{name: c, image: busybox, command: [sleep, "90"]}]}}}
`

// withKubelets returns all controllers, and kubelets that run the Pods.
func withKubelets() []reconcile.Controller {
	return append(controllers.All(controllers.Options{}), kubelet.Pods(kubelet.Options{}, nil))
}

func notPods(obj *unstructured.Unstructured) bool { return obj.GetKind() != "Pod" }

// TestKubeletsRunPods: PodFast would end the Pods of a Job at once.
func TestKubeletsRunPods(t *testing.T) {
	sim, err := simulation.New(stage.MustCompile(presets.NodeFast(), presets.PodFast()), simulation.Options{
		Filter: notPods, Controllers: withKubelets(),
	})
	require.NoError(t, err)
	require.NoError(t, sim.Cluster().Load(t.Context(), fmt.Appendf(nil, aNode+aJob, "node-1")))
	succeeded := func() any {
		job, err := sim.Cluster().Get(t.Context(), schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}, types.NamespacedName{Namespace: "default", Name: "j"})
		require.NoError(t, err)
		n, _, _ := unstructured.NestedFieldNoCopy(job.Object, "status", "succeeded")
		return n
	}
	for _, want := range []any{nil, int64(1), int64(2)} { // one after another
		require.Equal(t, want, succeeded())
		require.NoError(t, sim.Advance(t.Context(), 95*time.Second))
	}
}

const aDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {a: b}}
  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: nginx}], tolerations: [
    {key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 300}]}}
`

// A kubelet that says that its Node is not ready, for example without a network, still runs Pods:
// node-lifecycle marks them once, and the kubelet writes again that they are ready. They are evicted
// after five minutes, and the kubelet stops them.
func TestANodeIsNotReadyAndItsKubeletRuns(t *testing.T) {
	sim, err := simulation.New(stage.MustCompile(presets.NodeFast()), simulation.Options{
		Filter: func(*unstructured.Unstructured) bool { return false }, Controllers: withKubelets(),
	})
	require.NoError(t, err)
	require.NoError(t, sim.Cluster().Load(t.Context(), fmt.Appendf(nil, aNode+aNode+aDeployment, "node-1", "node-2")))
	count := func() (ready int, on []string) { // and on which Nodes
		list, err := sim.Cluster().List(t.Context(), schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, "default", metav1.ListOptions{})
		require.NoError(t, err)
		for _, pod := range list.Items {
			node, _, _ := unstructured.NestedString(pod.Object, "spec", "nodeName")
			on = append(on, node)
			list, _, _ := unstructured.NestedSlice(pod.Object, "status", "conditions")
			for _, c := range list {
				if c, _ := c.(map[string]any); c["type"] == "Ready" && c["status"] == "True" {
					ready++
				}
			}
		}
		slices.Sort(on)
		return ready, on
	}
	require.NoError(t, sim.Advance(t.Context(), time.Minute))
	ready, on := count()
	require.Equal(t, 2, ready)
	require.Equal(t, []string{"node-1", "node-2"}, on)

	notReady := `{"status": {"conditions": [{"type": "Ready", "status": "False", "reason": "KubeletNotReady", "message": "no network"}]}}`
	_, err = sim.Cluster().Patch(t.Context(), nodeKind, types.NamespacedName{Name: "node-1"}, types.StrategicMergePatchType, []byte(notReady), metav1.PatchOptions{}, "status")
	require.NoError(t, err)
	require.NoError(t, sim.Advance(t.Context(), time.Minute))
	node, err := sim.Cluster().Get(t.Context(), nodeKind, types.NamespacedName{Name: "node-1"})
	require.NoError(t, err)
	require.Contains(t, fmt.Sprint(node.Object["spec"]), "node.kubernetes.io/not-ready")
	ready, on = count()
	require.Equal(t, 2, ready)
	require.Equal(t, []string{"node-1", "node-2"}, on)

	require.NoError(t, sim.Advance(t.Context(), 5*time.Minute))
	ready, on = count()
	require.Equal(t, 2, ready)
	require.Equal(t, []string{"node-2", "node-2"}, on)
}
