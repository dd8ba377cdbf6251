package e2e_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/dev/e2e/controlplane"
	"github.com/stagecraft-go/stagecraft/stage/kube"
)

// kubectl runs kubectl and returns its output. Without kubectl in the directory of the server, it
// skips the test.
func kubectl(t *testing.T, p *controlplane.Plane, args ...string) string {
	t.Helper()
	program := p.Program("kubectl")
	if _, err := os.Stat(program); err != nil {
		t.Skip("no kubectl beside kube-apiserver")
	}
	out, err := exec.CommandContext(t.Context(), program, append(args, "--kubeconfig", p.Kubeconfig())...).CombinedOutput()
	require.NoError(t, err, string(out))
	return string(out)
}

// gap is the space between kubectl's columns.
var gap = regexp.MustCompile(` {2,}`)

// table reads a table of kubectl. It returns the named columns of each row, by the name of the row,
// in this order, with single blanks between them.
func table(out string, columns ...string) map[string]string {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	place := map[string]int{}
	for i, name := range gap.Split(lines[0], -1) {
		place[name] = i
	}
	rows := map[string]string{}
	for _, line := range lines[1:] {
		cells := gap.Split(strings.TrimSpace(line), -1)
		var words []string
		for _, c := range columns {
			words = append(words, cells[place[c]])
		}
		rows[cells[0]] = strings.Join(words, " ")
	}
	return rows
}

// An expectedRow is an object and its row in kubectl's output.
type expectedRow struct {
	more string // of the manifest
	hold string // the Stage that does not end
	want string
}

// podRows are the rows that kubectl prints for the states of Pods that PodGeneral and PodChaos
// play: READY, STATUS and RESTARTS.
var podRows = map[string]expectedRow{
	"running":      {more: "spec: {containers: [{name: a, image: a}]}", want: "1/1 Running 0 <none>"},
	"three":        {more: "spec: {containers: [{name: a, image: a}, {name: b, image: b}, {name: c, image: c}]}", want: "3/3 Running 0 <none>"},
	"gated":        {more: "spec: {readinessGates: [{conditionType: example.com/lb}], containers: [{name: a, image: a}]}", want: "1/1 Running 0 1/1"},
	"initialized":  {more: "spec: {initContainers: [{name: i, image: i}], containers: [{name: a, image: a}]}", want: "1/1 Running 0 <none>"},
	"creating":     {more: "spec: {containers: [{name: a, image: a}]}", hold: "pod-ready", want: "0/1 ContainerCreating 0 <none>"},
	"initializing": {more: "spec: {initContainers: [{name: i, image: i}], containers: [{name: a, image: a}]}", hold: "pod-init-container-running", want: "0/1 Init:0/1 0 <none>"},
	"completed": {more: `spec: {restartPolicy: Never, containers: [{name: a, image: a}]},
		metadata: {ownerReferences: [{apiVersion: batch/v1, kind: Job, name: j, uid: '1'}]}`,
		want: "0/1 Completed 0 <none>"},
	"failed": {more: `spec: {containers: [{name: a, image: a}]},
		metadata: {labels: {pod-container-running-failed.stage.kwok.x-k8s.io: 'true'}}`, want: "0/1 containerFailed 0 <none>"},
	"killed": {more: `spec: {containers: [{name: a, image: a}]}, metadata: {labels: {pod-container-running-failed.stage.kwok.x-k8s.io: 'true'},
		annotations: {pod-container-running-failed.stage.kwok.x-k8s.io/reason: OOMKilled, pod-container-running-failed.stage.kwok.x-k8s.io/exit-code: '137'}}`, want: "0/1 OOMKilled 0 <none>"},
	"init-failed": {more: `spec: {initContainers: [{name: i, image: i}], containers: [{name: a, image: a}]},
  metadata: {labels: {pod-init-container-running-failed.stage.kwok.x-k8s.io: 'true'}}`,
		want: "0/1 Init:initContainerError 0 <none>"},
	"held": {more: "spec: {containers: [{name: a, image: a}]}, metadata: {finalizers: [example.com/hold]}", want: "1/1 Terminating 0 <none>"},
}

// nodeRows are the rows of a Node that NodeFast and NodeChaos play: STATUS, ROLES, VERSION,
// INTERNAL-IP and CONTAINER-RUNTIME.
var nodeRows = map[string]expectedRow{
	"plain":    {want: "Ready <none> kwok-v0.8.0 127.0.0.1 kwok-v0.8.0"},
	"control":  {more: "metadata: {labels: {node-role.kubernetes.io/control-plane: ''}}", want: "Ready control-plane kwok-v0.8.0 127.0.0.1 kwok-v0.8.0"},
	"cordoned": {more: "spec: {unschedulable: true}", want: "Ready,SchedulingDisabled <none> kwok-v0.8.0 127.0.0.1 kwok-v0.8.0"},
	"sick":     {more: "metadata: {labels: {node-not-ready.stage.kwok.x-k8s.io: 'true'}}", want: "NotReady <none> kwok-v0.8.0 127.0.0.1 kwok-v0.8.0"},
}

// TestKubectlShowsWhatKwokShows plays the same objects with stagecraft and with kwok, and compares
// kubectl's tables.
func TestKubectlShowsWhatKwokShows(t *testing.T) {
	t.Parallel()
	kwok, err := controlplane.Kwok("../kwokbin", os.Stderr)
	if !errors.Is(err, controlplane.ErrNoKwok) {
		require.NoError(t, err)
	}
	stages := stageFile(t, []string{"node-fast.yaml", "node-chaos.yaml", "node-heartbeat-with-lease.yaml", "pod-general.yaml", "pod-chaos.yaml"})
	for name, play := range map[string]func(*testing.T, *controlplane.Plane){
		"stagecraft": func(t *testing.T, p *controlplane.Plane) { playAsKwok(t, p, stages) },
		"kwok": func(t *testing.T, p *controlplane.Plane) {
			if kwok == "" {
				t.Skip(err)
			}
			playKwok(t, p, kwok, stages)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := ownPlane(t)
			play(t, p)
			requireRows(t, p)
		})
	}
}

// requireRows creates the objects and waits until kubectl prints the wanted rows.
func requireRows(t *testing.T, p *controlplane.Plane) {
	t.Helper()
	cluster, err := kube.NewForConfig(p.Config())
	require.NoError(t, err)
	for name, l := range nodeRows {
		createAs(t, cluster, "v1", "Node", name, l)
	}
	for name, l := range podRows {
		createAs(t, cluster, "v1", "Pod", name, l)
	}
	waitRows(t, p, podRows, []string{"get", "pods", "-o", "wide"}, func(name string) string { return podRows[name].beforeDeletion() }, "READY", "STATUS", "RESTARTS", "READINESS GATES")
	held := types.NamespacedName{Namespace: "default", Name: "held"}
	require.NoError(t, cluster.Delete(t.Context(), podKind, held, metav1.DeleteOptions{GracePeriodSeconds: new(int64(30))}))
	want := func(looks map[string]expectedRow) func(string) string {
		return func(name string) string { return looks[name].want }
	}
	waitRows(t, p, podRows, []string{"get", "pods", "-o", "wide"}, want(podRows), "READY", "STATUS", "RESTARTS", "READINESS GATES")
	waitRows(t, p, nodeRows, []string{"get", "nodes", "-o", "wide"}, want(nodeRows), "STATUS", "ROLES", "VERSION", "INTERNAL-IP", "CONTAINER-RUNTIME")
	for name, row := range table(kubectl(t, p, "get", "pods", "-o", "wide"), "AGE", "IP", "NODE") {
		require.Regexp(t, `^\d+m?\d*s? 10\.0\.0\.\d+ plain$`, row, name)
	}
	require.Regexp(t, `(?s)Normal +Created +.*Created container`, kubectl(t, p, "describe", "pod", "running"))
	require.Regexp(t, `Normal +Created +pod/running +Created container`, kubectl(t, p, "get", "events"))
}

// beforeDeletion is kubectl's row of a Pod before its deletion.
func (l expectedRow) beforeDeletion() string {
	return strings.ReplaceAll(l.want, "Terminating", "Running")
}

// waitRows waits until kubectl prints the wanted rows.
func waitRows(t *testing.T, p *controlplane.Plane, looks map[string]expectedRow, command []string, want func(string) string, columns ...string) {
	t.Helper()
	wanted, got := map[string]string{}, map[string]string{}
	for name := range looks {
		wanted[name] = want(name)
	}
	eventuallyWithin(t, fmt.Sprint("kubectl ", command), func() bool {
		now := table(kubectl(t, p, command...), columns...)
		if !maps.Equal(now, got) {
			got = now
			t.Log(got)
		}
		return maps.Equal(wanted, got)
	})
}

// createAs creates an object that is played quickly, except for the Stage that holds it.
func createAs(t *testing.T, cluster *kube.Cluster, apiVersion, kind, name string, l expectedRow) {
	t.Helper()
	obj := decode(t, fmt.Sprintf("{apiVersion: %s, kind: %s, %s}", apiVersion, kind, l.more))[0]
	own := obj.GetAnnotations()
	removeDelays(obj)
	all := obj.GetAnnotations()
	maps.Copy(all, own)
	if l.hold != "" {
		all[l.hold+".stage.kwok.x-k8s.io/delay"], all[l.hold+".stage.kwok.x-k8s.io/jitter-delay"] = "1h", "1h"
	}
	obj.SetAnnotations(all)
	obj.SetName(name)
	if kind == "Pod" {
		obj.SetNamespace(cmp.Or(obj.GetNamespace(), "default"))
		obj.Object["spec"].(map[string]any)["nodeName"] = "plain"
	}
	_, err := cluster.Create(t.Context(), obj, metav1.CreateOptions{})
	require.NoError(t, err, name)
}
