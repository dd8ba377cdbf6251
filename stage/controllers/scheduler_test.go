package controllers_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/internal/dev/recording"
)

// pod is one with a spec.
func podWith(name, spec string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: Pod, metadata: {name: %s}, spec: {%s}}", name, spec)
}

const small = `containers: [{name: c, image: i, resources: {requests: {cpu: "1", memory: 1Gi}}}]`

func TestAPodThatFitsNowhereSaysWhy(t *testing.T) {
	for name, tc := range map[string]struct{ spec, want string }{
		"resources": {
			`containers: [{name: c, image: i, resources: {requests: {cpu: 20, memory: 1Gi}}}, {name: d, image: i, resources: {requests: {cpu: 20}}}]`,
			"0/3 nodes are available: 3 Insufficient cpu. no new claims to deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.",
		},
		"limits stand for requests": {
			`containers: [{name: c, image: i, resources: {limits: {memory: 200Gi}}}]`,
			"0/3 nodes are available: 3 Insufficient memory. no new claims to deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.",
		},
		"an init container that needs more": {
			`initContainers: [{name: a, image: i, resources: {requests: {cpu: 33}}}], ` + small,
			"0/3 nodes are available: 3 Insufficient cpu. no new claims to deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.",
		},
		"a sidecar adds": {
			`initContainers: [{name: a, image: i, restartPolicy: Always, resources: {requests: {cpu: "31.5"}}}], ` + small,
			"0/3 nodes are available: 3 Insufficient cpu. no new claims to deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.",
		},
		"extended resources": {
			`containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 1}}}]`,
			"0/3 nodes are available: 3 Insufficient nvidia.com/gpu. no new claims to deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.",
		},
		"what others use": {
			`containers: [{name: c, image: i, resources: {requests: {cpu: 31, memory: 1Gi}}}]`,
			"0/3 nodes are available: 3 Insufficient cpu. no new claims to deallocate, preemption: 0/3 nodes are available: 3 No preemption victims found for incoming pod.",
		},
		"selector": {
			`nodeSelector: {disk: ssd}, ` + small,
			"0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector. no new claims to deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.",
		},
		"a claim that is not there": {
			`volumes: [{name: v, persistentVolumeClaim: {claimName: data}}], ` + small,
			`0/3 nodes are available: persistentvolumeclaim "data" not found. no new claims to deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, setting{nodes: 3})
			for i := range 3 {
				l.load(podWith(fmt.Sprint("taken-", i), `containers: [{name: c, image: i, resources: {requests: {cpu: "2"}}}]`))
			}
			l.load(podWith("p", tc.spec))
			l.settle()
			require.Equal(t, "False Unschedulable", l.reason("Pod", "p", "PodScheduled"))
			require.Equal(t, tc.want, l.message("Pod", "p", "PodScheduled"))
			require.Empty(t, l.fails)
		})
	}
}

func TestNodesKeepPodsAway(t *testing.T) {
	l := newLab(t, setting{nodes: 3})
	l.patch("Node", "node-000", `{spec: {unschedulable: true}}`)
	l.patch("Node", "node-001", `{spec: {taints: [{key: gpu, value: a100, effect: NoSchedule}]}}`)
	l.patch("Node", "node-002", `{metadata: {labels: {zone: b}}, spec: {taints: [{key: soft, effect: PreferNoSchedule}]}}`)
	l.load(podWith("p", `nodeSelector: {zone: a}, `+small))
	l.load(podWith("tolerant", `tolerations: [{key: gpu, operator: Equal, value: a100}], nodeSelector: {zone: a}, `+small))
	l.load(podWith("affine", `affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [
		{matchExpressions: [{key: zone, operator: In, values: [c]}]}, {matchExpressions: [{key: zone, operator: Exists}, {key: zone, operator: NotIn, values: [c]}]}]}}}, `+small))
	l.settle()
	require.Equal(t, "0/3 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 1 node(s) had untolerated taint(s), "+
		"1 node(s) were unschedulable. no new claims to deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.", l.message("Pod", "p", "PodScheduled"))
	require.Equal(t, "node-002", l.field("Pod", "affine", "spec", "nodeName"))

	l.patch("Node", "node-001", `{metadata: {labels: {zone: a}}}`)
	l.settle()
	require.Equal(t, "node-001", l.field("Pod", "tolerant", "spec", "nodeName"), "tried again when a node changes")
	require.Nil(t, l.field("Pod", "p", "spec", "nodeName"))
	l.patch("Node", "node-001", `{spec: {taints: null}}`)
	l.settle()
	require.Equal(t, "node-001", l.field("Pod", "p", "spec", "nodeName"))
	l.requireCurrent("Pod", "p")
}

func TestPodsSpread(t *testing.T) {
	l := newLab(t, setting{nodes: 5})
	l.load(fleet(1))
	l.patch("Deployment", "web-0000", `{spec: {replicas: 20}}`)
	l.settle()
	on := map[any]int{}
	for _, p := range l.list("Pod", "") {
		on[l.field("Pod", p.GetName(), "spec", "nodeName")]++
	}
	require.Equal(t, map[any]int{"node-000": 4, "node-001": 4, "node-002": 4, "node-003": 4, "node-004": 4}, on)
}

func TestPodsWaitForRoomInOrder(t *testing.T) {
	l := newLab(t, setting{nodes: 1})
	whole := `containers: [{name: c, image: i, resources: {requests: {cpu: "32"}}}]`
	l.load(podWith("first", whole))
	l.settle()
	for _, name := range []string{"second", "third"} {
		l.load(podWith(name, whole))
	}
	l.load(podWith("urgent", `priority: 1000, `+whole))
	l.settle()
	for _, name := range []string{"urgent", "second", "third"} {
		require.Nil(t, l.field("Pod", name, "spec", "nodeName"))
		l.delete("Pod", map[string]string{"urgent": "first", "second": "urgent", "third": "second"}[name])
		l.settle()
		require.Equal(t, "node-000", l.field("Pod", name, "spec", "nodeName"))
	}
	require.Empty(t, l.fails)
}

func TestPodsWaitForNodes(t *testing.T) {
	l := newLab(t, setting{})
	l.load(podWith("p", small))
	l.load(podWith("foreign", `schedulerName: other, `+small))
	l.advance(time.Minute)
	require.Contains(t, l.status("Pod", "p"), "no nodes available to schedule pods")
	l.load(`{apiVersion: v1, kind: Node, metadata: {name: late}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}`)
	l.settle()
	l.requireCurrent("Pod", "p")
	require.Nil(t, l.field("Pod", "foreign", "spec", "nodeName"))
}

func TestAGatedPodWaitsUntilItsGatesAreOpen(t *testing.T) {
	l := newLab(t, setting{nodes: 1})
	l.load(`{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {schedulingGates: [{name: example.com/gate}], containers: [{name: c, image: i}]}}`)
	l.settle()
	require.Equal(t, "False SchedulingGated", l.reason("Pod", "p", "PodScheduled"))
	l.patch("Pod", "p", `{spec: {schedulingGates: null}}`)
	l.settle()
	require.Equal(t, "Running", l.field("Pod", "p", "status", "phase"))
}

// TestABoundPodDoesNotSayWhyItWaited: the condition is a new one.
func TestABoundPodDoesNotSayWhyItWaited(t *testing.T) {
	l := newLab(t, setting{pods: recording.Kubelet})
	l.load(`{apiVersion: v1, kind: Node, metadata: {name: small}, status: {allocatable: {cpu: "1", pods: "9"}}}`)
	l.load(`{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "2"}}}]}}`)
	l.settle()
	require.Equal(t, "False Unschedulable", l.reason("Pod", "p", "PodScheduled"))
	l.load(`{apiVersion: v1, kind: Node, metadata: {name: large}, status: {allocatable: {cpu: "8", pods: "9"}}}`)
	l.settle()
	bound := l.condition("Pod", "p", "PodScheduled")
	delete(bound, "lastTransitionTime")
	require.Equal(t, map[string]any{"type": "PodScheduled", "status": "True"}, bound)
}
