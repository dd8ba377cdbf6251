package nodes_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/clustertest"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/nodes"
)

// events returns the Events about Nodes and about their Pods, in the order of their times.
func (h *history) events() (lines []string) {
	h.t.Helper()
	list, err := h.sim.Cluster().List(h.t.Context(), schema.GroupVersionKind{Version: "v1", Kind: "Event"}, "", metav1.ListOptions{})
	require.NoError(h.t, err)
	slices.SortStableFunc(list.Items, func(a, b unstructured.Unstructured) int {
		return cmp.Compare(fmt.Sprint(a.Object["firstTimestamp"]), fmt.Sprint(b.Object["firstTimestamp"]))
	})
	for _, e := range list.Items {
		at, err := time.Parse(time.RFC3339, e.Object["lastTimestamp"].(string))
		require.NoError(h.t, err)
		source := e.Object["source"].(map[string]any)["component"]
		if source != "node-controller" && source != "taint-eviction-controller" {
			continue
		}
		lines = append(lines, fmt.Sprintf("%v %v %v: %v ×%v", at.Sub(h.start).Seconds(), e.Object["type"], e.Object["reason"], e.Object["message"], e.Object["count"]))
	}
	return lines
}

func (h *history) remove(kind string, name types.NamespacedName) {
	h.t.Helper()
	require.NoError(h.t, h.sim.Cluster().Delete(h.t.Context(), clustertest.Kind(kind), name, metav1.DeleteOptions{}))
}

func TestEventsOfNodesThatFail(t *testing.T) {
	h := recordWith(t, nodes.Options{}, aNode("a", "z"), aNode("b", "z"), aPod("p", "a", "{operator: Exists}"), aPod("kept", "a", ""),
		aPod("gone", "b", "{key: x, operator: Exists, tolerationSeconds: 9}"), aPod("other", "b", "{operator: Exists}"))
	registered := []string{"0 Normal RegisteredNode: Node a event: Registered Node a in Controller ×1", "0 Normal RegisteredNode: Node b event: Registered Node b in Controller ×1"}
	require.Equal(t, registered, h.events())

	h.patch("Node", "a", "{metadata: {annotations: {stagecraft-go.github.io/kubelet: stopped}}}")
	h.advance(2 * time.Minute)
	lost := []string{"55 Normal NodeNotReady: Node a status is now: NodeNotReady ×1", "55 Warning NodeNotReady: Node is not ready ×1", "55 Warning NodeNotReady: Node is not ready ×1"}
	require.Equal(t, append(registered, lost...), h.events())

	h.patch("Node", "a", "{metadata: {annotations: {stagecraft-go.github.io/kubelet: null}}}")
	h.setReady("True", "a")
	h.advance(time.Minute)
	require.Equal(t, []string{"120 Normal TaintManagerEviction: Cancelling deletion of Pod default/kept ×1"}, h.events()[5:], "it was to be deleted after 300 s")

	h.patch("Node", "b", "{spec: {taints: [{key: x, effect: NoExecute}]}}")
	h.advance(time.Minute)
	require.Equal(t, []string{"189 Normal TaintManagerEviction: Marking for deletion Pod default/gone ×1"}, h.events()[6:])

	h.remove("Node", types.NamespacedName{Name: "b"})
	h.advance(time.Minute)
	require.Equal(t, []string{"240 Normal RemovingNode: Node b event: Removing Node b from Controller ×1"}, h.events()[7:])
}

// TestAPodThatIsGoneIsKept checks the Event of such a Pod: kube-controller-manager cancels the
// deletion.
func TestAPodThatIsGoneIsKept(t *testing.T) {
	h := recordWith(t, nodes.Options{}, aNode("a", "z"), aNode("b", "z"), aPod("p", "a", "{key: x, operator: Exists, tolerationSeconds: 50}"))
	h.patch("Node", "a", "{spec: {taints: [{key: x, effect: NoExecute}]}}")
	h.advance(10 * time.Second)
	h.remove("Pod", types.NamespacedName{Namespace: "default", Name: "p"})
	h.advance(time.Minute)
	require.Equal(t, []string{"10 Normal TaintManagerEviction: Cancelling deletion of Pod default/p ×1"}, h.events()[2:])
}
