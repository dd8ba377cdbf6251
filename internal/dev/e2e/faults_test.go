package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/dev/e2e/controlplane"
	"github.com/stagecraft-go/stagecraft/stage/kube"
	"github.com/stagecraft-go/stagecraft/stage/player"
)

// A faultTest creates Pods, which processes of their own play while a fault happens, and deletes
// them. In the end every Pod must have run, must have been written as often as without the fault,
// and must be gone; and the players must be in the same state as before.
type faultTest struct {
	plane     *controlplane.Plane
	cluster   *kube.Cluster // a connection whose only faults are those of the server
	namespace string
	pods      int
	nodes     int // that there are
	players   []*playerProcess
	before    []playerReport
	began     time.Time
}

// faultTimeout is the longest time of a test: faults take time, and the machine can be busy.
const faultTimeout = 4 * time.Minute

// writesPerPod is the creation and the two transitions after which a Pod runs.
const writesPerPod = 3

// newFaultTest creates a namespace for a test.
func newFaultTest(t *testing.T, p *controlplane.Plane, namespace string, pods int) *faultTest {
	t.Helper()
	cluster, err := kube.NewForConfig(p.Config())
	require.NoError(t, err)
	create(t, cluster, "{apiVersion: v1, kind: Namespace, metadata: {name: "+namespace+"}}")
	return &faultTest{plane: p, cluster: cluster, namespace: namespace, pods: pods}
}

// playerConfig is the configuration of a player that plays the namespace alone and without faults.
func (tr *faultTest) playerConfig() playerConfig {
	config := tr.plane.Config()
	return playerConfig{Host: config.Host, TLS: config.TLSClientConfig, Namespace: tr.namespace}
}

// eventually waits for up to faultTimeout.
func (tr *faultTest) eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	eventuallyWithin(t, what, f)
}

// eventuallyWithin waits for longer than eventually does, and calls f from one goroutine.
func eventuallyWithin(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(faultTimeout); !f(); time.Sleep(50 * time.Millisecond) {
		require.True(t, time.Now().Before(end), what)
	}
}

// begin creates and deletes a first Pod, so that the players have all their connections, and then
// takes their reports.
func (tr *faultTest) begin(t *testing.T, performers ...*playerProcess) {
	t.Helper()
	tr.players = performers
	tr.create(t, "first", tr.node(0))
	tr.eventually(t, "the first Pod runs", func() bool { return tr.count("status.phase=Running") == 1 })
	tr.delete(t, "first")
	tr.eventually(t, "the first Pod is gone", func() bool { return tr.count("") == 0 })
	for _, p := range performers {
		tr.before = append(tr.before, p.report(t))
	}
	tr.began = time.Now()
}

// create creates a Pod, and retries if the server fails.
func (tr *faultTest) create(t *testing.T, name, node string) {
	t.Helper()
	pod := decode(t, fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {name: %s, namespace: %s, annotations: {
		pod-create.stage.kwok.x-k8s.io/delay: 50ms, pod-create.stage.kwok.x-k8s.io/jitter-delay: 500ms, pod-delete.stage.kwok.x-k8s.io/delay: 50ms,
		pod-ready.stage.kwok.x-k8s.io/delay: 50ms, pod-ready.stage.kwok.x-k8s.io/jitter-delay: 1s}}, spec: {nodeName: %s, containers: [{name: a, image: a}]}}`,
		name, tr.namespace, node))[0]
	tr.eventually(t, name+" is created", func() bool {
		_, err := tr.cluster.Create(t.Context(), pod, metav1.CreateOptions{})
		return err == nil || apierrors.IsAlreadyExists(err)
	})
}

// createAll creates the Pods, and calls strike after a third of them.
func (tr *faultTest) createAll(t *testing.T, strike func()) {
	t.Helper()
	third := tr.pods / 3
	inParallel(third, func(i int) { tr.create(t, fmt.Sprint("p", i), tr.node(i)) })
	struck := make(chan struct{})
	go func() {
		defer close(struck)
		strike()
	}()
	inParallel(tr.pods-third, func(i int) { tr.create(t, fmt.Sprint("p", third+i), tr.node(third+i)) })
	<-struck
}

func (tr *faultTest) delete(t *testing.T, name string) {
	t.Helper()
	tr.eventually(t, name+" is deleted", func() bool {
		err := tr.cluster.Delete(t.Context(), podKind, types.NamespacedName{Namespace: tr.namespace, Name: name}, metav1.DeleteOptions{GracePeriodSeconds: new(int64(2))})
		return err == nil || apierrors.IsNotFound(err)
	})
}

// node is the Node of a Pod. It need not exist for a player that does not look at Nodes.
func (tr *faultTest) node(pod int) string {
	return fmt.Sprintf("%s-%d", tr.namespace, pod%max(1, tr.nodes))
}

// idle reports whether a player has nothing to do except heartbeats.
func (tr *faultTest) idle(s player.Stats) bool {
	return s.Objects <= tr.nodes && s.Pending <= tr.nodes && s.Retrying+s.Queued == 0
}

// count counts the Pods that a field selector matches; -1 if the server does not answer.
func (tr *faultTest) count(fields string) int {
	list, err := tr.cluster.List(context.Background(), podKind, tr.namespace, metav1.ListOptions{FieldSelector: fields})
	if err != nil {
		return -1
	}
	return len(list.Items)
}

// play runs the whole test.
func (tr *faultTest) play(t *testing.T, strike func()) {
	t.Helper()
	tr.createAll(t, strike)
	tr.eventually(t, "all Pods run", func() bool { return tr.count("status.phase=Running") == tr.pods })
	ran := time.Since(tr.began)
	tr.requireOnce(t)
	inParallel(tr.pods, func(i int) { tr.delete(t, fmt.Sprint("p", i)) })
	tr.eventually(t, "all Pods are gone", func() bool { return tr.count("") == 0 })
	for i, p := range tr.players {
		after := tr.waitSettled(t, p, tr.before[i])
		t.Logf("player %d: %d requests, %d patches, %d retries, goroutines %d to %d, heap %d to %d KiB", i, after.Requests, after.Patches, after.Retries,
			tr.before[i].Goroutines, after.Goroutines, tr.before[i].Heap>>10, after.Heap>>10)
	}
	t.Logf("%d Pods ran within %v and were gone after %v", tr.pods, ran.Round(time.Millisecond), time.Since(tr.began).Round(time.Millisecond))
}

// requireOnce checks that no Pod was written more often than necessary, by any player.
func (tr *faultTest) requireOnce(t *testing.T) {
	t.Helper()
	prefix := "pods/" + tr.namespace + "/"
	writes, err := tr.plane.Writes(prefix)
	require.NoError(t, err)
	require.Len(t, writes, tr.pods)
	more := map[string]int64{}
	for pod, n := range writes {
		if n != writesPerPod {
			more[strings.TrimPrefix(pod, prefix)] = n
		}
	}
	require.Empty(t, more, "Pods that were not written %d times", writesPerPod)
}

// waitSettled waits until a player has nothing to do and is in the same state as before. Its memory
// may have grown by a bounded amount.
func (tr *faultTest) waitSettled(t *testing.T, p *playerProcess, before playerReport) (after playerReport) {
	t.Helper()
	const goroutines, heap = 8, 4 << 20
	tr.eventually(t, "the player is at rest", func() bool {
		after = p.report(t)
		return tr.idle(after.Stats) && after.Goroutines <= before.Goroutines+goroutines && after.Heap <= before.Heap+heap
	})
	require.Empty(t, after.Twice)
	require.Empty(t, after.Failed)
	return after
}
