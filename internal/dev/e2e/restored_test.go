package e2e_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/dev/e2e/controlplane"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/kube"
	"github.com/stagecraft-go/stagecraft/stage/lab/backup"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/kubelet"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
	"github.com/stagecraft-go/stagecraft/stage/player"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// make restored: 20 states, and the ten minutes after each. Not in .ci/run, since a busy machine makes the
// programs of the control plane late.
var (
	restoredStates = flag.Int("restored-states", 0, "how many states of a control plane TestRestoredBesideTheRealOne restores")
	restoredFor    = flag.Duration("restored-for", 20*time.Second, "how long it compares what happens next")
)

// slack is how late a control plane of processes may be.
const slack = 5 * time.Second

// TestRestoredBesideTheRealOne takes states of growing size out of a control plane with
// kube-controller-manager and kube-scheduler, in the middle of rollouts. A lab that goes on from such a
// state must do in the next minutes what the control plane does: keep and remove the same objects,
// create as many new ones of each owner, and bring them into the same states.
func TestRestoredBesideTheRealOne(t *testing.T) {
	if *restoredStates == 0 {
		t.Skip("it takes a quarter of an hour: make restored")
	}
	assets, err := controlplane.Assets("../kubebin", testLog{t})
	require.NoError(t, err)
	own, err := controlplane.Start(assets)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, own.Stop()) })
	startControllers(t, own)
	cluster := clusterOf(t, own)
	runNodes(t, cluster, 5)

	type pair struct {
		before *backup.Backup
		after  chan *backup.Backup
	}
	var pairs []pair
	for i := range *restoredStates {
		work(t, cluster, i)
		before, err := backup.From(t.Context(), cluster, backup.Options{})
		require.NoError(t, err)
		p := pair{before, make(chan *backup.Backup, 1)}
		end := time.Now().Add(*restoredFor)
		go func() {
			time.Sleep(time.Until(end))
			after, err := backup.From(context.Background(), cluster, backup.Options{})
			if err != nil {
				t.Error(err)
			}
			p.after <- after
		}()
		pairs = append(pairs, p)
	}
	for i, p := range pairs {
		after := <-p.after
		require.NotNil(t, after)
		compareNext(t, i, p.before, after)
	}
}

// compareNext compares what a lab makes of a state with what the control plane has made of it, in the
// namespaces that the test has not changed since.
func compareNext(t *testing.T, i int, before, after *backup.Backup) {
	lab := labtest.New(t, labtest.Options{Backup: before, Quiet: true})
	want := next(before, after.Objects, i)
	t.Logf("state %d: %d objects at %v", i, len(before.Objects), before.Time)
	lab.Advance(*restoredFor - slack)
	missing, same := map[string]bool{}, false
	for _, line := range want {
		missing[line] = true
	}
	var got []string
	for range 2 * int(slack/time.Second) {
		got = next(before, backup.Of(lab.Cluster()).Objects, i)
		for _, line := range got {
			delete(missing, line)
		}
		same = same || slices.Equal(namesIn(want), namesIn(got))
		lab.Advance(time.Second)
	}
	require.Empty(t, slices.Sorted(maps.Keys(missing)), "state %d: the lab has none of these within %v; at last it has\n%s", i, slack, strings.Join(got, "\n"))
	require.True(t, same, "state %d: other objects:\n%s\nin the lab:\n%s", i, strings.Join(want, "\n"), strings.Join(got, "\n"))
}

// namesIn are the objects of lines, without their states.
func namesIn(lines []string) (all []string) {
	for _, line := range lines {
		name, _, _ := strings.Cut(line, ": generation")
		all = append(all, name)
	}
	return slices.Compact(all)
}

// next tells what became of a state: which objects are kept, and which are new.
func next(before *backup.Backup, now []*unstructured.Unstructured, i int) []string {
	was := map[types.UID]bool{}
	for _, obj := range before.Objects {
		was[obj.GetUID()] = true
	}
	lines := map[string]int{}
	for _, obj := range now {
		var n int
		_, err := fmt.Sscanf(obj.GetNamespace(), "state-%d", &n)
		if err != nil || n > i || obj.GetKind() == "Event" {
			continue
		}
		name := "kept " + obj.GetName()
		if !was[obj.GetUID()] {
			name = "new of " + ownerName(obj)
		}
		lines[fmt.Sprintf("%s: %s %s: %s", obj.GetNamespace(), obj.GetKind(), name, condensed(obj))]++
	}
	var all []string
	for line, n := range lines {
		all = append(all, fmt.Sprintf("%s ×%d", line, n))
	}
	slices.Sort(all)
	return all
}

// ownerName is the name of the owner, or of the object without one.
func ownerName(obj *unstructured.Unstructured) string {
	if owners := obj.GetOwnerReferences(); len(owners) > 0 {
		return owners[0].Kind + " " + owners[0].Name
	}
	return obj.GetName()
}

// condensed is the state of an object without times and addresses.
func condensed(obj *unstructured.Unstructured) string {
	var parts []string
	for _, field := range []string{"phase", "replicas", "readyReplicas", "updatedReplicas", "observedGeneration", "active", "succeeded", "failed", "numberReady", "updatedNumberScheduled", "disruptionsAllowed", "currentHealthy"} {
		if v, found, _ := unstructured.NestedFieldNoCopy(obj.Object, "status", field); found {
			if list, is := v.([]any); is {
				v = len(list)
			}
			parts = append(parts, fmt.Sprint(field, "=", v))
		}
	}
	conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	for _, c := range conditions {
		m, _ := c.(map[string]any)
		parts = append(parts, fmt.Sprint(m["type"], "=", m["status"]))
	}
	statuses, _, _ := unstructured.NestedSlice(obj.Object, "status", "containerStatuses")
	for _, s := range statuses {
		m, _ := s.(map[string]any)
		state, _ := m["state"].(map[string]any)
		parts = append(parts, fmt.Sprint("restarts=", m["restartCount"], " ready=", m["ready"], " ", slices.Sorted(maps.Keys(state))))
	}
	if obj.GetDeletionTimestamp() != nil {
		parts = append(parts, "terminating")
	}
	generation := obj.GetGeneration()
	if obj.GetKind() == "EndpointSlice" { // it counts writes: one write may carry several changes
		generation = 0
	}
	return fmt.Sprintf("generation %d %s", generation, strings.Join(parts, " "))
}

// work gives the cluster more of everything in a new namespace, and is in the middle of
// rolling it out when it returns.
func work(t *testing.T, cluster *kube.Cluster, i int) {
	ns := fmt.Sprint("state-", i)
	createNamespace(t, cluster, ns)
	add := func(format string, args ...any) {
		for _, obj := range decode(t, fmt.Sprintf(format, args...)) {
			obj.SetNamespace(ns)
			_, err := cluster.Create(t.Context(), obj, metav1.CreateOptions{})
			require.NoError(t, err)
		}
	}
	add(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: %d, selector: {matchLabels: {app: web}},
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: "web:1", resources: {requests: {cpu: 10m}}}]}}}}
---
{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web}, ports: [{port: 80}]}}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web}, spec: {minAvailable: 2, selector: {matchLabels: {app: web}}}}
---
{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db}, spec: {replicas: %d, serviceName: db, selector: {matchLabels: {app: db}},
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: c, image: "db:1"}]}}}}
---
{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: agent}, spec: {selector: {matchLabels: {app: agent}}, template: {metadata: {labels: {app: agent}},
  spec: {containers: [{name: c, image: "agent:1"}]}}}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: work}, spec: {completions: %d, parallelism: 2, template: {spec: {restartPolicy: Never,
  containers: [{name: c, image: job, command: [sleep, "7"]}]}}}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: fails}, spec: {backoffLimit: 1, template: {spec: {restartPolicy: Never, containers: [{name: c, image: job,
  command: [sh, -c, sleep 3; exit 1]}]}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: crashes}, spec: {containers: [{name: c, image: i, command: [sh, -c, sleep 2; exit 3]}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: waits}, spec: {nodeSelector: {nowhere: "yes"}, containers: [{name: c, image: i}]}}`, 2+i, 2+i%3, 2+i)
	time.Sleep(time.Duration(1+i%4) * time.Second)
	if i%2 == 1 { // a rollout begins, and a deletion
		patch := []byte(`{"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "web:2"}]}}}}`)
		_, err := cluster.Patch(t.Context(), deploymentKind, types.NamespacedName{Namespace: ns, Name: "web"}, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
		require.NoError(t, err)
		require.NoError(t, cluster.Delete(t.Context(), podKind, types.NamespacedName{Namespace: ns, Name: "db-0"}, metav1.DeleteOptions{}))
		time.Sleep(time.Duration(i%3) * 300 * time.Millisecond)
	}
}

// runNodes makes Nodes whose kubelets are ours, for the time of the test.
func runNodes(t *testing.T, cluster *kube.Cluster, n int) {
	set, err := stage.Compile(stage.Options{}, presets.NodeFast(), presets.NodeHeartbeat())
	require.NoError(t, err)
	for i := range n {
		createNode(t, cluster, fmt.Sprintf(`{apiVersion: v1, kind: Node, metadata: {name: node-%d, labels: {kubernetes.io/hostname: node-%d, kubernetes.io/os: linux,
  kubernetes.io/arch: amd64}},
  status: {capacity: {cpu: 32, memory: 256Gi, pods: 110, ephemeral-storage: 1Ti}, allocatable: {cpu: 32, memory: 256Gi, pods: 110, ephemeral-storage: 1Ti}}}`, i, i))
	}
	played := player.New(set, cluster, player.Options{Seed: 1})
	background(t, played.Run, func(ctx context.Context) error {
		return reconcile.Play(ctx, cluster, reconcile.PlayOptions{Options: reconcile.Options{Events: true}}, kubelet.Pods(kubelet.Options{}, nil))
	})
}

// testLog writes to the log of a test.
type testLog struct{ *testing.T }

func (l testLog) Write(p []byte) (int, error) {
	l.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}
