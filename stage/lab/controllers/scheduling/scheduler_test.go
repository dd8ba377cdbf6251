package scheduling_test

import (
	"bytes"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/dev/recording"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/clustertest"
)

// What follows the reasons in the message of an unschedulable Pod, on three Nodes.
const (
	notHelpful = " no new claims to deallocate, preemption: 0/3 nodes are available: " +
		"3 Preemption is not helpful for scheduling."
	noVictims = " no new claims to deallocate, preemption: 0/3 nodes are available: " +
		"3 No preemption victims found for incoming pod."
)

func TestAPodThatFitsNowhereSaysWhy(t *testing.T) {
	for name, tc := range map[string]struct{ spec, want string }{
		"resources": {
			`containers: [{name: c, image: i, resources: {requests: {cpu: 20, memory: 1Gi}}}, {name: d, image: i, resources: {requests: {cpu: 20}}}]`,
			"0/3 nodes are available: 3 Insufficient cpu." + notHelpful,
		},
		"limits stand for requests": {
			`containers: [{name: c, image: i, resources: {limits: {memory: 200Gi}}}]`,
			"0/3 nodes are available: 3 Insufficient memory." + notHelpful,
		},
		"an init container that needs more": {
			`initContainers: [{name: a, image: i, resources: {requests: {cpu: 33}}}], ` + clustertest.SmallPod,
			"0/3 nodes are available: 3 Insufficient cpu." + notHelpful,
		},
		"a sidecar adds": {
			`initContainers: [{name: a, image: i, restartPolicy: Always, resources: {requests: {cpu: "31.5"}}}], ` + clustertest.SmallPod,
			"0/3 nodes are available: 3 Insufficient cpu." + notHelpful,
		},
		"extended resources": {
			`containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 1}}}]`,
			"0/3 nodes are available: 3 Insufficient nvidia.com/gpu." + notHelpful,
		},
		"what others use": {
			`containers: [{name: c, image: i, resources: {requests: {cpu: 31, memory: 1Gi}}}]`,
			"0/3 nodes are available: 3 Insufficient cpu." + noVictims,
		},
		"selector": {
			`nodeSelector: {disk: ssd}, ` + clustertest.SmallPod,
			"0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector." + notHelpful,
		},
		"a claim that is not there": {
			`volumes: [{name: v, persistentVolumeClaim: {claimName: data}}], ` + clustertest.SmallPod,
			`0/3 nodes are available: persistentvolumeclaim "data" not found. not found`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := clustertest.New(t, clustertest.Options{Nodes: 3})
			for i := range 3 {
				c.Load(clustertest.Pod(fmt.Sprint("taken-", i), `containers: [{name: c, image: i, resources: {requests: {cpu: "2"}}}]`))
			}
			c.Load(clustertest.Pod("p", tc.spec))
			c.Settle()
			require.Equal(t, "False Unschedulable", c.Reason("Pod", "p", "PodScheduled"))
			require.Equal(t, tc.want, c.Message("Pod", "p", "PodScheduled"))
			require.Empty(t, c.Errors)
		})
	}
}

func TestNodesKeepPodsAway(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{Nodes: 3})
	c.Patch("Node", "node-000", `{spec: {unschedulable: true}}`)
	c.Patch("Node", "node-001", `{spec: {taints: [{key: gpu, value: a100, effect: NoSchedule}]}}`)
	c.Patch("Node", "node-002", `{metadata: {labels: {zone: b}}, spec: {taints: [{key: soft, effect: PreferNoSchedule}]}}`)
	c.Load(clustertest.Pod("p", `nodeSelector: {zone: a}, `+clustertest.SmallPod))
	c.Load(clustertest.Pod("tolerant", `tolerations: [{key: gpu, operator: Equal, value: a100}], nodeSelector: {zone: a}, `+clustertest.SmallPod))
	c.Load(clustertest.Pod("affine", `affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [
		{matchExpressions: [{key: zone, operator: In, values: [c]}]},
		{matchExpressions: [{key: zone, operator: Exists}, {key: zone, operator: NotIn, values: [c]}]}]}}}, `+clustertest.SmallPod))
	c.Settle()
	require.Equal(t, "0/3 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 1 node(s) had untolerated taint(s), "+
		"1 node(s) were unschedulable."+notHelpful, c.Message("Pod", "p", "PodScheduled"))
	require.Equal(t, "node-002", c.Field("Pod", "affine", "spec", "nodeName"))

	c.Patch("Node", "node-001", `{metadata: {labels: {zone: a}}}`)
	c.Settle()
	require.Equal(t, "node-001", c.Field("Pod", "tolerant", "spec", "nodeName"), "tried again when a node changes")
	require.Nil(t, c.Field("Pod", "p", "spec", "nodeName"))
	c.Patch("Node", "node-001", `{spec: {taints: null}}`)
	c.Settle()
	require.Equal(t, "node-001", c.Field("Pod", "p", "spec", "nodeName"))
	c.RequireCurrent("Pod", "p")
}

func TestPodsSpread(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{Nodes: 5})
	c.Load(clustertest.Fleet(1))
	c.Patch("Deployment", "web-0000", `{spec: {replicas: 20}}`)
	c.Settle()
	on := map[any]int{}
	for _, p := range c.List("Pod", "") {
		on[c.Field("Pod", p.GetName(), "spec", "nodeName")]++
	}
	require.Equal(t, map[any]int{"node-000": 4, "node-001": 4, "node-002": 4, "node-003": 4, "node-004": 4}, on)
}

func TestPodsWaitForRoomInOrder(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{Nodes: 1})
	whole := `containers: [{name: c, image: i, resources: {requests: {cpu: "32"}}}]`
	c.Load(clustertest.Pod("first", whole))
	c.Settle()
	for _, name := range []string{"second", "third"} {
		c.Load(clustertest.Pod(name, whole))
	}
	c.Load(clustertest.Pod("urgent", `priority: 1000, preemptionPolicy: Never, `+whole))
	c.Settle()
	for _, name := range []string{"urgent", "second", "third"} {
		require.Nil(t, c.Field("Pod", name, "spec", "nodeName"))
		c.Delete("Pod", map[string]string{"urgent": "first", "second": "urgent", "third": "second"}[name])
		c.Settle()
		require.Equal(t, "node-000", c.Field("Pod", name, "spec", "nodeName"))
	}
	require.Empty(t, c.Errors)
}

func TestPodsWaitForNodes(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{})
	c.Load(clustertest.Pod("p", clustertest.SmallPod))
	c.Load(clustertest.Pod("foreign", `schedulerName: other, `+clustertest.SmallPod))
	c.Advance(time.Minute)
	require.Contains(t, c.Status("Pod", "p"), "no nodes available to schedule pods")
	c.Load(`{apiVersion: v1, kind: Node, metadata: {name: late}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}`)
	c.Settle()
	c.RequireCurrent("Pod", "p")
	require.Nil(t, c.Field("Pod", "foreign", "spec", "nodeName"))
}

func TestAGatedPodWaitsUntilItsGatesAreOpen(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{Nodes: 1})
	c.Load(`{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {schedulingGates: [{name: example.com/gate}], containers: [{name: c, image: i}]}}`)
	c.Settle()
	require.Equal(t, "False SchedulingGated", c.Reason("Pod", "p", "PodScheduled"))
	c.Patch("Pod", "p", `{spec: {schedulingGates: null}}`)
	c.Settle()
	require.Equal(t, "Running", c.Field("Pod", "p", "status", "phase"))
}

// TestABoundPodDoesNotSayWhyItWaited: the condition is a new one.
func TestABoundPodDoesNotSayWhyItWaited(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{Pods: recording.Kubelet})
	c.Load(`{apiVersion: v1, kind: Node, metadata: {name: small}, status: {allocatable: {cpu: "1", pods: "9"}}}`)
	c.Load(`{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "2"}}}]}}`)
	c.Settle()
	require.Equal(t, "False Unschedulable", c.Reason("Pod", "p", "PodScheduled"))
	c.Load(`{apiVersion: v1, kind: Node, metadata: {name: large}, status: {allocatable: {cpu: "8", pods: "9"}}}`)
	c.Settle()
	bound := c.Condition("Pod", "p", "PodScheduled")
	delete(bound, "lastTransitionTime")
	require.Equal(t, map[string]any{"type": "PodScheduled", "status": "True"}, bound)
}

// TestGangsAreAShortScheduler: your own scheduler needs only its filter and its order.
func TestGangsAreAShortScheduler(t *testing.T) {
	text, err := os.ReadFile("example_gang_test.go")
	require.NoError(t, err)
	require.LessOrEqual(t, bytes.Count(text, []byte("\n")), 150)
}
