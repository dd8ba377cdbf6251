package nodes_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/clustertest"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/nodes"
)

const stopped = `{metadata: {annotations: {stagecraft-go.github.io/kubelet: %s}}}`

// podsOn returns the names of the Pods on a Node.
func podsOn(c *clustertest.Cluster, node string) (names []string) {
	for _, pod := range c.List("Pod", "") {
		if n, _ := pod.Object["spec"].(map[string]any)["nodeName"].(string); n == node {
			names = append(names, pod.GetName())
		}
	}
	return names
}

func TestAKubeletStops(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{Nodes: 3})
	c.Load(clustertest.Manifest("deployment"))
	c.Settle()
	before := podsOn(c, "node-000")
	require.Len(t, before, 1)
	h := record(t, c)
	c.Patch("Node", "node-000", fmt.Sprintf(stopped, nodes.Stopped))
	c.Advance(time.Hour)
	pod := before[0]
	require.Equal(t, []string{
		"55.0 Node node-000: Unknown",
		"55.0 Node node-000: Unknown unreachable:NoSchedule",
		"55.1 Node node-000: Unknown unreachable:NoSchedule unreachable:NoExecute",
	}, h.of("Node"))
	require.Equal(t, []string{
		"55.0 Pod " + pod + ": Running False",
		"355.1 Pod " + pod + ": Running False DeletionByTaintManager",
		"355.1 Pod " + pod + ": Running False DeletionByTaintManager terminating",
	}, h.of(pod), "nobody removes it: the kubelet does nothing")
	all, ready := c.CountPods()
	require.Equal(t, []int{3, 3}, []int{all, ready}, "it was replaced")
	require.EqualValues(t, 3, c.Field("Deployment", "web", "status", "readyReplicas"))
	require.Equal(t, "Taint manager: deleting due to NoExecute taint", c.Message("Pod", pod, "DisruptionTarget"))
	require.Equal(t, "Unknown NodeStatusUnknown", c.Reason("Node", "node-000", "MemoryPressure"))
	require.Equal(t, "Kubelet stopped posting node status.", c.Message("Node", "node-000", "Ready"))

	c.Patch("Node", "node-000", fmt.Sprintf(stopped, "null"))
	c.Advance(time.Minute)
	require.Equal(t, []string{"3600.0 Node node-000: True"}, h.of("Node")[len(h.of("Node"))-1:])
	require.Equal(t, "3600.0 Pod "+pod+": gone", h.of(pod)[3])
	require.Empty(t, c.Errors)
}

func TestAKubeletThatIsBackMakesItsPodsReady(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{Nodes: 2})
	c.Load(clustertest.Manifest("deployment"))
	c.Settle()
	h := record(t, c)
	c.Patch("Node", "node-000", fmt.Sprintf(stopped, nodes.Stopped))
	c.Advance(2 * time.Minute)
	_, ready := c.CountPods()
	require.Less(t, ready, 3)
	c.Patch("Node", "node-000", fmt.Sprintf(stopped, "null"))
	c.Advance(time.Hour)
	all, ready := c.CountPods()
	require.Equal(t, []int{3, 3}, []int{all, ready})
	require.Empty(t, h.of("terminating"), "nobody was evicted")
	require.NotContains(t, h.state["Node node-000"], "unreachable")
}

func TestAStatefulSetWaitsForAPodOnAnUnreachableNode(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{Nodes: 2})
	c.Load(clustertest.Manifest("storageclass", "statefulset"))
	c.Settle()
	before := podsOn(c, "node-000")
	h := record(t, c)
	c.Patch("Node", "node-000", fmt.Sprintf(stopped, nodes.Stopped))
	c.Advance(time.Hour)
	require.ElementsMatch(t, before, podsOn(c, "node-000"), "they are not replaced")
	for _, name := range before {
		require.NotNil(t, c.Get("Pod", name).GetDeletionTimestamp())
	}
	c.Delete("Node", "node-000")
	c.Advance(time.Hour)
	require.Empty(t, podsOn(c, "node-000"))
	_, ready := c.CountPods()
	require.Equal(t, len(h.of("gone"))-1, len(before))
	require.EqualValues(t, ready, c.Field("StatefulSet", "db", "status", "readyReplicas"))
	require.Contains(t, h.of(before[0] + ":")[3], "3640.0 Pod "+before[0]+": Failed False DeletionByPodGC")
}

func TestAKubeletThatIsNotReadyRemovesEvictedPods(t *testing.T) {
	h := recordWith(t, nodes.Options{}, aNode("a", "z"), aNode("b", "z"), aPod("p", "a", ""))
	h.setReady("False", "a")
	h.advance(time.Hour)
	require.Equal(t, []string{
		"0.0 Node a: False",
		"0.0 Node a: False not-ready:NoSchedule",
		"5.1 Node a: False not-ready:NoSchedule not-ready:NoExecute",
		"305.1 Pod p: Running True DeletionByTaintManager",
		"305.1 Pod p: Running True DeletionByTaintManager terminating",
		"305.1 Pod p: gone",
	}, h.lines)
	h.setReady("True", "a")
	h.advance(time.Hour)
	require.Equal(t, "True", h.state["Node a"])
	require.True(t, h.settled())
}

// settled reports whether nothing more will happen.
func (h *history) settled() bool {
	_, more := h.sim.Next()
	return !more
}

func TestTolerations(t *testing.T) {
	const ours = "key: maintenance, operator: Exists, effect: NoExecute"
	h := recordWith(t, nodes.Options{}, aNode("a", "z"), aNode("b", "z"),
		aPod("none", "a", ""), aPod("for-ever", "a", "{operator: Exists}"), aPod("later", "a", "{"+ours+", tolerationSeconds: 70}"),
		aPod("both", "a", "{"+ours+", tolerationSeconds: 90}, {key: other, operator: Exists, tolerationSeconds: 50}"),
		aPod("equal", "a", "{key: maintenance, value: disk, tolerationSeconds: 20}"), aPod("unequal", "a", "{key: maintenance, value: net}"),
		aPod("negative", "a", "{"+ours+", tolerationSeconds: -1}"))
	h.patch("Node", "a", "{spec: {taints: [{key: maintenance, value: disk, effect: NoExecute}]}}")
	h.advance(time.Minute)
	h.patch("Node", "a", "{spec: {taints: [{key: maintenance, value: disk, effect: NoExecute}, {key: other, effect: NoExecute}]}}")
	h.load(aPod("new", "a", "{"+ours+", tolerationSeconds: 5}, {key: other, operator: Exists}"))
	h.advance(15 * time.Second)
	h.patch("Node", "a", "{spec: {taints: null}}")
	h.advance(time.Hour)
	require.Equal(t, []string{
		"0.0 Pod negative: gone", "0.0 Pod none: gone", "0.0 Pod unequal: gone", "20.0 Pod equal: gone",
		"60.0 Pod later: gone", // it does not tolerate the other taint
		"65.0 Pod new: gone",
	}, h.of("gone"))
	require.Equal(t, "Running True", h.state["Pod both"], "the taints were gone before its time, that of the first taint")
	require.Equal(t, "Running True", h.state["Pod for-ever"])
}

func TestHeartbeats(t *testing.T) {
	h := recordWith(t, nodes.Options{}, aNode("a", "z"), aNode("b", "z"))
	lease := func(name string) string {
		return fmt.Sprintf("{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: %s, namespace: kube-node-lease}, spec: {renewTime: %q}}",
			name, h.sim.Now().UTC().Format("2006-01-02T15:04:05.000000Z"))
	}
	renew := func(name string) { h.apply(lease(name)) }
	h.load("{apiVersion: v1, kind: Namespace, metadata: {name: kube-node-lease}}")
	for i := range 30 {
		renew("b")
		if i <= 6 {
			renew("a")
		}
		h.advance(9 * time.Second)
	}
	require.Equal(t, []string{
		"110.0 Node a: Unknown", "110.0 Node a: Unknown unreachable:NoSchedule", "110.1 Node a: Unknown unreachable:NoSchedule unreachable:NoExecute",
	}, h.lines, "the last renewal at 54 s was seen at 55 s")
}

func TestANodeThatNeverReports(t *testing.T) {
	h := recordWith(t, nodes.Options{}, "{apiVersion: v1, kind: Node, metadata: {name: a}}", aNode("b", "z"))
	h.advance(time.Hour)
	require.Equal(t, "65.0 Node a: Unknown", h.lines[0])
	require.Equal(t, "Unknown unreachable:NoSchedule unreachable:NoExecute", h.state["Node a"])
	quiet := recordWith(t, nodes.Options{RequireHeartbeats: true}, aNode("a", "z"), aNode("b", "z"))
	quiet.advance(time.Hour)
	require.Equal(t, "55.0 Node a: Unknown", quiet.lines[0])
	require.NotContains(t, fmt.Sprint(quiet.state), "NoExecute", "no Node is ready: the control plane is cut off")
}
