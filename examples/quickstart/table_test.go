package main

import (
	"bytes"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/yaml"
)

var noon = time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)

func TestPodColumns(t *testing.T) {
	for name, tt := range map[string]struct {
		pod                     string
		ready, status, restarts string
	}{
		"a new Pod has the phase for a status": {`
			spec: {containers: [{name: a}, {name: b}]}
			status: {phase: Pending}`, "0/2", "Pending", "0"},
		"the reason of the Pod goes before its phase": {`
			spec: {containers: [{name: a}]}
			status: {phase: Failed, reason: Evicted}`, "0/1", "Evicted", "0"},
		"a gated Pod says so": {`
			spec: {containers: [{name: a}]}
			status: {phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: SchedulingGated}]}`, "0/1", "SchedulingGated", "0"},
		"a container that waits says why": {`
			spec: {containers: [{name: a}]}
			status: {phase: Pending, containerStatuses: [{name: a, state: {waiting: {reason: ImagePullBackOff}}}]}`, "0/1", "ImagePullBackOff", "0"},
		"a container that waits for no reason does not": {`
			spec: {containers: [{name: a}]}
			status: {phase: Pending, containerStatuses: [{name: a, state: {waiting: {}}}]}`, "0/1", "Pending", "0"},
		"running containers count if they are ready": {`
			spec: {containers: [{name: a}, {name: b}]}
			status: {phase: Running, containerStatuses: [{name: a, ready: true, state: {running: {}}}, {name: b, state: {running: {}}}]}`, "1/2", "Running", "0"},
		"a ready container that does not run does not count": {`
			spec: {containers: [{name: a}]}
			status: {phase: Running, containerStatuses: [{name: a, ready: true}]}`, "0/1", "Running", "0"},
		"a loop of crashes": {`
			spec: {containers: [{name: a}]}
			status: {phase: Running, containerStatuses: [{name: a, restartCount: 7, state: {waiting: {reason: CrashLoopBackOff}},
			  lastState: {terminated: {exitCode: 1, finishedAt: "2025-06-01T11:55:00Z"}}}]}`, "0/1", "CrashLoopBackOff", "7 (5m ago)"},
		"restarts without a time have none": {`
			spec: {containers: [{name: a}]}
			status: {phase: Running, containerStatuses: [{name: a, ready: true, restartCount: 2, state: {running: {}}}]}`, "1/1", "Running", "2"},
		"a time without restarts is not shown": {`
			spec: {containers: [{name: a}]}
			status: {phase: Running, containerStatuses: [{name: a, ready: true, state: {running: {}},
			  lastState: {terminated: {finishedAt: "2025-06-01T11:00:00Z"}}}]}`, "1/1", "Running", "0"},
		"restarts add up and the last one counts": {`
			spec: {containers: [{name: a}, {name: b}]}
			status: {phase: Running, containerStatuses: [
			  {name: a, ready: true, restartCount: 1, state: {running: {}}, lastState: {terminated: {finishedAt: "2025-06-01T11:59:50Z"}}},
			  {name: b, ready: true, restartCount: 2, state: {running: {}}, lastState: {terminated: {finishedAt: "2025-06-01T10:00:00Z"}}}]}`, "2/2", "Running", "3 (10s ago)"},
		"a Pod that has succeeded": {`
			spec: {containers: [{name: a}]}
			status: {phase: Succeeded, containerStatuses: [{name: a, state: {terminated: {exitCode: 0, reason: Completed}}}]}`, "0/1", "Completed", "0"},
		"a container that failed": {`
			spec: {containers: [{name: a}]}
			status: {phase: Failed, containerStatuses: [{name: a, state: {terminated: {exitCode: 1, reason: Error}}}]}`, "0/1", "Error", "0"},
		"a failure without a reason shows the exit code": {`
			spec: {containers: [{name: a}]}
			status: {phase: Failed, containerStatuses: [{name: a, state: {terminated: {exitCode: 3}}}]}`, "0/1", "ExitCode:3", "0"},
		"a signal goes before the exit code": {`
			spec: {containers: [{name: a}]}
			status: {phase: Failed, containerStatuses: [{name: a, state: {terminated: {exitCode: 137, signal: 9}}}]}`, "0/1", "Signal:9", "0"},
		"of several containers the first speaks": {`
			spec: {containers: [{name: a}, {name: b}]}
			status: {phase: Pending, containerStatuses: [{name: a, state: {waiting: {reason: ErrImagePull}}},
			  {name: b, state: {waiting: {reason: ContainerCreating}}}]}`, "0/2", "ErrImagePull", "0"},
		"one container is done and another runs in a ready Pod": {`
			spec: {containers: [{name: a}, {name: b}]}
			status: {phase: Running, conditions: [{type: Ready, status: "True"}],
			  containerStatuses: [{name: a, state: {terminated: {reason: Completed}}}, {name: b, ready: true, state: {running: {}}}]}`, "1/2", "Running", "0"},
		"one container is done and another runs in a Pod that is not ready": {`
			spec: {containers: [{name: a}, {name: b}]}
			status: {phase: Running, conditions: [{type: Ready, status: "False"}],
			  containerStatuses: [{name: a, state: {terminated: {reason: Completed}}}, {name: b, ready: true, state: {running: {}}}]}`, "1/2", "NotReady", "0"},
		"the first init container runs": {`
			spec: {initContainers: [{name: i}, {name: j}], containers: [{name: a}]}
			status: {phase: Pending, initContainerStatuses: [{name: i, state: {running: {}}}, {name: j, state: {waiting: {reason: PodInitializing}}}],
			  containerStatuses: [{name: a, state: {waiting: {reason: PodInitializing}}}]}`, "0/1", "Init:0/2", "0"},
		"the second init container has not begun": {`
			spec: {initContainers: [{name: i}, {name: j}], containers: [{name: a}]}
			status: {phase: Pending, initContainerStatuses: [{name: i, state: {terminated: {exitCode: 0}}},
			  {name: j, state: {waiting: {reason: PodInitializing}}}]}`, "0/1", "Init:1/2", "0"},
		"an init container in a loop of crashes": {`
			spec: {initContainers: [{name: i}], containers: [{name: a}]}
			status: {phase: Pending, initContainerStatuses: [{name: i, restartCount: 4, state: {waiting: {reason: CrashLoopBackOff}},
			  lastState: {terminated: {exitCode: 1, finishedAt: "2025-06-01T11:59:00Z"}}}]}`, "0/1", "Init:CrashLoopBackOff", "4 (60s ago)"},
		"an init container that failed": {`
			spec: {initContainers: [{name: i}], containers: [{name: a}]}
			status: {phase: Failed, initContainerStatuses: [{name: i, state: {terminated: {exitCode: 1, reason: Error}}}]}`, "0/1", "Init:Error", "0"},
		"an init container that failed without a reason": {`
			spec: {initContainers: [{name: i}], containers: [{name: a}]}
			status: {phase: Failed, initContainerStatuses: [{name: i, state: {terminated: {exitCode: 2}}}]}`, "0/1", "Init:ExitCode:2", "0"},
		"an init container that was killed": {`
			spec: {initContainers: [{name: i}], containers: [{name: a}]}
			status: {phase: Failed, initContainerStatuses: [{name: i, state: {terminated: {exitCode: 143, signal: 15}}}]}`, "0/1", "Init:Signal:15", "0"},
		"restarts of init containers are forgotten once they are done": {`
			spec: {initContainers: [{name: i}], containers: [{name: a}]}
			status: {phase: Running, initContainerStatuses: [{name: i, restartCount: 3, state: {terminated: {exitCode: 0}}}],
			  containerStatuses: [{name: a, ready: true, restartCount: 1, state: {running: {}}}]}`, "1/1", "Running", "1"},
		"an init container that runs again after Initialized does not hide the others": {`
			spec: {initContainers: [{name: i}], containers: [{name: a}]}
			status: {phase: Running, conditions: [{type: Initialized, status: "True"}], initContainerStatuses: [{name: i, state: {running: {}}}],
			  containerStatuses: [{name: a, state: {waiting: {reason: ContainerCreating}}}]}`, "0/1", "ContainerCreating", "0"},
		"a sidecar that has started counts": {`
			spec: {initContainers: [{name: s, restartPolicy: Always}], containers: [{name: a}]}
			status: {phase: Running, initContainerStatuses: [{name: s, ready: true, started: true, restartCount: 2, state: {running: {}}}],
			  containerStatuses: [{name: a, ready: true, restartCount: 1, state: {running: {}}}]}`, "2/2", "Running", "3"},
		"a sidecar that has not started holds the Pod up": {`
			spec: {initContainers: [{name: s, restartPolicy: Always}, {name: i}], containers: [{name: a}]}
			status: {phase: Pending, initContainerStatuses: [{name: s, started: false, state: {running: {}}},
			  {name: i, state: {waiting: {reason: PodInitializing}}}]}`, "0/2", "Init:0/2", "0"},
		"a Pod that is being deleted": {`
			metadata: {deletionTimestamp: "2025-06-01T12:00:30Z"}
			spec: {containers: [{name: a}]}
			status: {phase: Running, containerStatuses: [{name: a, ready: true, state: {running: {}}}]}`, "1/1", "Terminating", "0"},
		"a Pod that has ended does not terminate": {`
			metadata: {deletionTimestamp: "2025-06-01T12:00:30Z"}
			spec: {containers: [{name: a}]}
			status: {phase: Succeeded, containerStatuses: [{name: a, state: {terminated: {exitCode: 0, reason: Completed}}}]}`, "0/1", "Completed", "0"},
		"a Pod that is being deleted on a lost Node": {`
			metadata: {deletionTimestamp: "2025-06-01T12:00:30Z"}
			spec: {containers: [{name: a}]}
			status: {phase: Running, reason: NodeLost}`, "0/1", "Unknown", "0"},
	} {
		t.Run(name, func(t *testing.T) {
			cells := podOf(t, tt.pod).cells(noon)
			require.Equal(t, []string{tt.ready, tt.status, tt.restarts}, cells[1:4])
		})
	}
}

func podOf(t *testing.T, text string) *pod {
	t.Helper()
	p, err := decode[pod](objectOf(t, text))
	require.NoError(t, err)
	return &p
}

// objectOf reads YAML that is indented by tabs.
func objectOf(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON(bytes.ReplaceAll([]byte("kind: Pod\napiVersion: v1\n"+text), []byte("\n\t\t\t"), []byte("\n")))
	require.NoError(t, err)
	var obj unstructured.Unstructured
	require.NoError(t, obj.UnmarshalJSON(data))
	return &obj
}

func TestAge(t *testing.T) {
	for want, created := range map[string]string{
		"<unknown>": `{}`,
		"0s":        `{creationTimestamp: "2025-06-01T12:00:00Z"}`,
		"119s":      `{creationTimestamp: "2025-06-01T11:58:01Z"}`,
		"2m":        `{creationTimestamp: "2025-06-01T11:58:00Z"}`,
		"3h2m":      `{creationTimestamp: "2025-06-01T08:58:00Z"}`,
		"31d":       `{creationTimestamp: "2025-05-01T12:00:00Z"}`,
		"<invalid>": `{creationTimestamp: "2025-06-01T12:01:00Z"}`,
	} {
		t.Run(want, func(t *testing.T) {
			require.Equal(t, want, podOf(t, "metadata: "+created).cells(noon)[4])
		})
	}
}

func TestColumnsGrowWithTheirCells(t *testing.T) {
	var out bytes.Buffer
	tab := table{out: &out, now: func() time.Time { return noon }}
	for _, text := range []string{
		`{metadata: {name: a}, status: {phase: Pending}}`,
		`{metadata: {name: longer}, status: {phase: Failed, reason: Überlastet}}`,
		`{metadata: {name: b}, status: {phase: Failed}}`,
	} {
		var obj unstructured.Unstructured
		require.NoError(t, yaml.Unmarshal([]byte(text), &obj.Object))
		require.NoError(t, tab.print(t.Context(), watch.Added, &obj))
	}
	require.Equal(t, `EVENT      NAME   READY   STATUS    RESTARTS   AGE
ADDED      a      0/0     Pending   0          <unknown>
ADDED      longer   0/0     Überlastet   0          <unknown>
ADDED      b        0/0     Failed       0          <unknown>
`, out.String())
}

func TestPodOfTheWrongShapeIsAnError(t *testing.T) {
	obj := &unstructured.Unstructured{Object: map[string]any{"kind": "Pod", "metadata": map[string]any{"name": "a"}, "status": "none"}}
	tab := table{out: io.Discard, now: func() time.Time { return noon }}
	require.ErrorContains(t, tab.print(t.Context(), watch.Added, obj), "Pod /a")
}
