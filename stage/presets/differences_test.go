package presets_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/internal/dev/conformance/record"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/presets"
)

// TestDifferences pins the table in the package comment, in its order.
func TestDifferences(t *testing.T) {
	for _, tc := range []struct {
		name   string
		preset stage.Source
		object string
		stages string // that can be played
		field  string // of the status in the first patch
		want   any
	}{
		{
			name:   "restart count of the container of the same name is kept",
			preset: presets.PodGeneral(),
			object: `{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {nodeName: node, containers: [{name: a, image: i}, {name: b, image: i}]},
				status: {phase: Pending, podIP: 10.0.0.2, conditions: [{type: Initialized, status: "True"}],
				containerStatuses: [{name: b, restartCount: 3}]}}`,
			stages: "pod-ready", field: "containerStatuses.1.restartCount", want: int64(3),
		},
		{
			name:   "restart count of another container is not taken",
			preset: presets.PodGeneral(),
			object: `{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {nodeName: node, containers: [{name: a, image: i}, {name: b, image: i}]},
				status: {phase: Pending, podIP: 10.0.0.2, conditions: [{type: Initialized, status: "True"}],
				containerStatuses: [{name: b, restartCount: 3}]}}`,
			stages: "pod-ready", field: "containerStatuses.0.restartCount", want: int64(0),
		},
		{
			name:   "start time is kept when a pod gets ready",
			preset: presets.PodFast(),
			object: `{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {nodeName: node, containers: [{name: a, image: i}]},
				status: {phase: Pending, startTime: "2005-05-05T05:05:05Z"}}`,
			stages: "pod-ready", field: "startTime", want: "2005-05-05T05:05:05Z",
		},
		{
			name:   "start time is kept when a pod fails",
			preset: presets.PodChaos(),
			object: `{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {pod-container-running-failed.stage.kwok.x-k8s.io: "true"}},
				spec: {nodeName: node, containers: [{name: a, image: i}]}, status: {phase: Running, startTime: "2005-05-05T05:05:05Z"}}`,
			stages: "pod-container-running-failed", field: "startTime", want: "2005-05-05T05:05:05Z",
		},
		{
			name:   "container start is kept when a pod completes",
			preset: presets.PodFast(),
			object: `{apiVersion: v1, kind: Pod, metadata: {name: p, ownerReferences: [{kind: Job}]}, spec: {nodeName: node, containers: [{name: a, image: i}]},
				status: {phase: Running, containerStatuses: [{name: a, state: {running: {startedAt: "2005-05-05T05:05:05Z"}}}]}}`,
			stages: "pod-complete", field: "containerStatuses.0.state.terminated.startedAt", want: "2005-05-05T05:05:05Z",
		},
		{
			name:   "container start is kept when another container fails",
			preset: presets.PodChaos(),
			object: `{apiVersion: v1, kind: Pod,
				metadata: {name: p, labels: {pod-container-running-failed.stage.kwok.x-k8s.io: "true"},
				annotations: {pod-container-running-failed.stage.kwok.x-k8s.io/container-name: b}},
				spec: {nodeName: node, containers: [{name: a, image: i}, {name: b, image: i}]},
				status: {phase: Running, containerStatuses: [{name: a, state: {running: {startedAt: "2005-05-05T05:05:05Z"}}}]}}`,
			stages: "pod-container-running-failed", field: "containerStatuses.0.state.running.startedAt", want: "2005-05-05T05:05:05Z",
		},
		{
			name:   "ended pod without an address is left alone",
			preset: presets.PodGeneral(),
			object: `{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {nodeName: node}, status: {phase: Failed, reason: Evicted}}`,
		},
		{
			name:   "sidecar goes on when the other init containers complete",
			preset: presets.PodGeneral(),
			object: sidecar("False"),
			stages: "pod-init-container-completed", field: "initContainerStatuses.1.state.running.startedAt", want: "2005-05-05T05:05:05Z",
		},
		{
			name:   "sidecar does not keep a pod from getting ready",
			preset: presets.PodGeneral(),
			object: sidecar("True"),
			stages: "pod-ready", field: "phase", want: "Running",
		},
		{
			name:   "failure text is a string whatever it looks like",
			preset: presets.PodChaos(),
			object: `{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {pod-container-running-failed.stage.kwok.x-k8s.io: "true"},
				annotations: {pod-container-running-failed.stage.kwok.x-k8s.io/message: "137: killed # by hand"}},
				spec: {nodeName: node, containers: [{name: a, image: i}]}, status: {phase: Running}}`,
			stages: "pod-container-running-failed", field: "containerStatuses.0.state.terminated.message", want: "137: killed # by hand",
		},
		{
			name:   "no node is needed to render a pod",
			preset: presets.PodFast(),
			object: `{apiVersion: v1, kind: Pod, metadata: {name: p, uid: u}, spec: {containers: [{name: a, image: i}]}, status: {phase: Pending}}`,
			stages: "pod-ready", field: "podIP", want: "10.0.0.2",
		},
		{
			name:   "condition time stays while the status does",
			preset: presets.NodeHeartbeat(),
			object: running(`conditions: [{type: Ready, status: "True", lastTransitionTime: "2005-05-05T05:05:05Z"}]`),
			stages: "node-heartbeat", field: "conditions.0.lastTransitionTime", want: "2005-05-05T05:05:05Z",
		},
		{
			name:   "condition time changes with the status",
			preset: presets.NodeChaos(),
			object: running(`conditions: [{type: Ready, status: "True", lastTransitionTime: "2005-05-05T05:05:05Z"}]`),
			stages: "node-not-ready", field: "conditions.0.lastTransitionTime", want: "2006-01-02T15:04:05Z",
		},
		{
			name:   "condition time of a new node is its creation",
			preset: presets.NodeFast(),
			object: `{apiVersion: v1, kind: Node, metadata: {name: node, creationTimestamp: "2004-04-04T04:04:04Z"}}`,
			stages: "node-initialize", field: "conditions.0.lastTransitionTime", want: "2004-04-04T04:04:04Z",
		},
		{
			name:   "allocatable is the capacity if only that is given",
			preset: presets.NodeFast(),
			object: `{apiVersion: v1, kind: Node, metadata: {name: node}, status: {capacity: {cpu: "4"}}}`,
			stages: "node-initialize", field: "allocatable", want: map[string]any{"cpu": "4"},
		},
		{
			name:   "node info is text",
			preset: presets.NodeFast(),
			object: `{apiVersion: v1, kind: Node, metadata: {name: node}, status: {nodeInfo: {kubeletVersion: "1.30"}}}`,
			stages: "node-initialize", field: "nodeInfo.kubeletVersion", want: "1.30",
		},
		{
			name:   "addresses have the name of the node if the simulator has none",
			preset: presets.NodeFast(),
			object: `{apiVersion: v1, kind: Node, metadata: {name: node}, status: {addresses: [{type: InternalIP, address: 10.1.1.1}]}}`,
			stages: "node-initialize", field: "addresses", want: []any{map[string]any{"type": "Hostname", "address": "node"}},
		},
		{
			name:   "addresses are not sent if none is missing",
			preset: presets.NodeFast(),
			object: `{apiVersion: v1, kind: Node, metadata: {name: node},
				status: {addresses: [{type: InternalIP, address: 10.1.1.1}, {type: Hostname, address: h}]}}`,
			stages: "node-initialize", field: "addresses", want: nil,
		},
		{
			name:   "no class is not the class of the preset",
			preset: presets.Volumes(),
			object: `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c, namespace: ns, uid: u}, spec: {}}`,
		},
		{
			name:   "no phase means pending for a claim",
			preset: presets.Volumes(),
			object: `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c, namespace: ns, uid: u},
				spec: {storageClassName: kwok-volume, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`,
			stages: "pvc-provision",
		},
		{
			name:   "no phase means pending for a volume",
			preset: presets.Volumes(),
			object: `{apiVersion: v1, kind: PersistentVolume, metadata: {name: v}, spec: {storageClassName: kwok-volume, claimRef: {name: c}}}`,
			stages: "pv-bind", field: "phase", want: "Bound",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			stages, status := play(t, tc.preset, tc.object)
			require.Equal(t, tc.stages, stages)
			if tc.field != "" {
				require.Equal(t, tc.want, at(status, tc.field))
			}
		})
	}
}

// sidecar is a Pod with an ordinary init container and a sidecar, both running.
func sidecar(initialized string) string {
	return `{apiVersion: v1, kind: Pod, metadata: {name: p},
		spec: {nodeName: node, containers: [{name: a, image: i}], initContainers: [{name: init, image: i}, {name: side, image: i, restartPolicy: Always}]},
		status: {phase: Pending, podIP: 10.0.0.2, conditions: [{type: Initialized, status: "` + initialized + `"}],
		initContainerStatuses: [{name: init, state: {terminated: {}}}, {name: side, state: {running: {startedAt: "2005-05-05T05:05:05Z"}}}],
		containerStatuses: [{name: a, state: {waiting: {reason: ContainerCreating}}}]}}`
}

// running is a Node that chaos may strike.
func running(status string) string {
	return `{apiVersion: v1, kind: Node, metadata: {name: node, creationTimestamp: "2004-04-04T04:04:04Z",
		labels: {node-not-ready.stage.kwok.x-k8s.io: "true"}}, status: {phase: Running, ` + status + `}}`
}

// play returns the names of the Stages that match the object, and the status that the first patch
// of any sets.
func play(t *testing.T, preset stage.Source, text string) (stages string, status any) {
	set, err := stage.Compile(stage.Options{}, preset)
	require.NoError(t, err)
	obj := &unstructured.Unstructured{Object: object(t, text)}
	var names []string
	for _, c := range set.Candidates(obj, record.Now) {
		names = append(names, c.Stage)
		effects, err := c.Transition(0).Effects(obj, record.Now)
		require.NoError(t, err)
		for _, e := range effects {
			if p, ok := e.(stage.Patch); ok && status == nil {
				status = at(p.Data, "status")
			}
		}
	}
	return strings.Join(names, " "), status
}

// at returns the value at a path of keys and indexes; nil without a value.
func at(v any, path string) any {
	for step := range strings.SplitSeq(path, ".") {
		switch parent := v.(type) {
		case map[string]any:
			v = parent[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(parent) {
				return nil
			}
			v = parent[i]
		default:
			return nil
		}
	}
	return v
}
