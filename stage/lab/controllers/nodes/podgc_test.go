package nodes_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/clustertest"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/nodes"
)

func TestPodsOfADeletedNode(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{Nodes: 2})
	c.Load(clustertest.Manifest("deployment"))
	c.Settle()
	pod := podsOn(c, "node-000")[0]
	c.Advance(7 * time.Second)
	h := record(t, c)
	c.Delete("Node", "node-000")
	c.Advance(time.Hour)
	require.Equal(t, []string{
		"53.0 Pod " + pod + ": Failed True DeletionByPodGC",
		"53.0 Pod " + pod + ": Failed True DeletionByPodGC terminating",
		"53.0 Pod " + pod + ": gone",
	}, h.of(pod), "seen after 13 s, and 40 s of quarantine")
	all, ready := c.CountPods()
	require.Equal(t, []int{3, 3}, []int{all, ready})
}

func TestANodeThatComesBackKeepsItsPods(t *testing.T) {
	h := recordWith(t, nodes.Options{}, aNode("a", "z"), aPod("p", "a", ""))
	require.NoError(t, h.sim.Cluster().Delete(t.Context(), clustertest.Kind("Node"), nodeName("a"), deleteNow))
	h.advance(30 * time.Second)
	h.load(aNode("a", "z"))
	h.advance(time.Hour)
	require.Equal(t, "Running True", h.state["Pod p"])
	require.True(t, h.settled())
}

func TestTerminatedPodsAboveTheThreshold(t *testing.T) {
	h := recordWith(t, nodes.Options{TerminatedPods: 3}, aNode("a", "z"))
	for i := range 6 {
		h.load(aPod(fmt.Sprint("p", i), "a", ""))
		h.patch("Pod", fmt.Sprint("p", i), "{status: {phase: Succeeded}}", "status")
		if i == 4 {
			h.patch("Pod", "p4", "{status: {phase: Failed, reason: Evicted}}", "status")
		}
		h.advance(time.Second)
	}
	h.advance(time.Hour)
	require.Equal(t, []string{"20.0 Pod p4: gone", "20.0 Pod p0: gone", "20.0 Pod p1: gone"}, h.of("gone"))
	require.True(t, h.settled())
}

func TestPodsOfANodeThatIsOutOfService(t *testing.T) {
	h := recordWith(t, nodes.Options{}, aNode("a", "z"), aNode("b", "z"), aPod("p", "a", ""))
	h.patch("Node", "a", `{metadata: {annotations: {stagecraft-go.github.io/kubelet: stopped}}}`)
	h.advance(10 * time.Minute)
	require.Equal(t, "Running False DeletionByTaintManager terminating", h.state["Pod p"])
	h.patch("Node", "a", "{spec: {taints: [{key: node.kubernetes.io/out-of-service, value: nodeshutdown, effect: NoExecute}]}}")
	h.advance(20 * time.Second)
	require.Equal(t, "gone", h.state["Pod p"])
}

func TestPodsThatAreDeletedWithoutANode(t *testing.T) {
	h := recordWith(t, nodes.Options{}, aNode("a", "z"))
	h.load(`{apiVersion: v1, kind: Pod, metadata: {name: p, finalizers: [example.com/x]}, spec: {schedulingGates: [{name: g}], containers: [{name: c, image: i}]}}`)
	require.NoError(t, h.sim.Cluster().Delete(t.Context(), clustertest.Kind("Pod"), podName("p"), deleteNow))
	h.advance(time.Minute)
	require.Equal(t, "Failed  terminating", h.state["Pod p"])
}

var deleteNow = metav1.DeleteOptions{}

func nodeName(name string) types.NamespacedName { return types.NamespacedName{Name: name} }

func podName(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "default", Name: name}
}
