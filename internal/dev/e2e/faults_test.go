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

// A trial is what the faults have in common: Pods are created, played by processes of their own while something goes wrong, and deleted. In the end every
// Pod ran, was written as often as on a good day, and is gone; and the players are as they were before.
type trial struct {
	plane      *controlplane.Plane
	cluster    *kube.Cluster // which no fault concerns but those of the server
	namespace  string
	pods       int
	nodes      int // that there are
	performers []*performer
	before     []report
	began      time.Time
}

// endurance is how long a trial may take: faults take time, and so does a busy machine.
const endurance = 4 * time.Minute

// writesOfAPod are its creation and the two transitions that make it run.
const writesOfAPod = 3

// newTrial makes a namespace for a trial.
func newTrial(t *testing.T, p *controlplane.Plane, namespace string, pods int) *trial {
	t.Helper()
	cluster, err := kube.NewForConfig(p.Config())
	require.NoError(t, err)
	create(t, cluster, "{apiVersion: v1, kind: Namespace, metadata: {name: "+namespace+"}}")
	return &trial{plane: p, cluster: cluster, namespace: namespace, pods: pods}
}

// role is that of a player that has the namespace to itself and nothing in its way.
func (tr *trial) role() role {
	config := tr.plane.Config()
	return role{Host: config.Host, TLS: config.TLSClientConfig, Namespace: tr.namespace}
}

// until waits for what takes as long as it takes.
func (tr *trial) until(t *testing.T, what string, f func() bool) {
	t.Helper()
	inTheEnd(t, what, f)
}

// inTheEnd waits longer than eventually does, and calls f by one goroutine.
func inTheEnd(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(endurance); !f(); time.Sleep(50 * time.Millisecond) {
		require.True(t, time.Now().Before(end), what)
	}
}

// begin has a first Pod come and go, and takes the reports of the players, which have all their connections then.
func (tr *trial) begin(t *testing.T, performers ...*performer) {
	t.Helper()
	tr.performers = performers
	tr.create(t, "first", tr.node(0))
	tr.until(t, "the first Pod runs", func() bool { return tr.count("status.phase=Running") == 1 })
	tr.delete(t, "first")
	tr.until(t, "the first Pod is gone", func() bool { return tr.count("") == 0 })
	for _, p := range performers {
		tr.before = append(tr.before, p.report(t))
	}
	tr.began = time.Now()
}

// create creates a Pod, and tries again if the server cannot.
func (tr *trial) create(t *testing.T, name, node string) {
	t.Helper()
	pod := decode(t, fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {name: %s, namespace: %s, annotations: {
		pod-create.stage.kwok.x-k8s.io/delay: 50ms, pod-create.stage.kwok.x-k8s.io/jitter-delay: 500ms, pod-delete.stage.kwok.x-k8s.io/delay: 50ms,
		pod-ready.stage.kwok.x-k8s.io/delay: 50ms, pod-ready.stage.kwok.x-k8s.io/jitter-delay: 1s}}, spec: {nodeName: %s, containers: [{name: a, image: a}]}}`,
		name, tr.namespace, node))[0]
	tr.until(t, name+" is created", func() bool {
		_, err := tr.cluster.Create(t.Context(), pod, metav1.CreateOptions{})
		return err == nil || apierrors.IsAlreadyExists(err)
	})
}

// createAll creates the Pods, and strikes when a third of them is there.
func (tr *trial) createAll(t *testing.T, strike func()) {
	t.Helper()
	third := tr.pods / 3
	many(third, func(i int) { tr.create(t, fmt.Sprint("p", i), tr.node(i)) })
	struck := make(chan struct{})
	go func() {
		defer close(struck)
		strike()
	}()
	many(tr.pods-third, func(i int) { tr.create(t, fmt.Sprint("p", third+i), tr.node(third+i)) })
	<-struck
}

func (tr *trial) delete(t *testing.T, name string) {
	t.Helper()
	tr.until(t, name+" is deleted", func() bool {
		err := tr.cluster.Delete(t.Context(), podKind, types.NamespacedName{Namespace: tr.namespace, Name: name}, metav1.DeleteOptions{GracePeriodSeconds: new(int64(2))})
		return err == nil || apierrors.IsNotFound(err)
	})
}

// node is the Node of a Pod. It need not exist for a player that does not look at Nodes.
func (tr *trial) node(pod int) string {
	return fmt.Sprintf("%s-%d", tr.namespace, pod%max(1, tr.nodes))
}

// idle reports whether a player has nothing to do but for heartbeats.
func (tr *trial) idle(s player.Stats) bool {
	return s.Objects <= tr.nodes && s.Pending <= tr.nodes && s.Retrying+s.Queued == 0
}

// count counts the Pods that are selected. It is -1 if the server does not say.
func (tr *trial) count(fields string) int {
	list, err := tr.cluster.List(context.Background(), podKind, tr.namespace, metav1.ListOptions{FieldSelector: fields})
	if err != nil {
		return -1
	}
	return len(list.Items)
}

// play is a trial from begin to end.
func (tr *trial) play(t *testing.T, strike func()) {
	t.Helper()
	tr.createAll(t, strike)
	tr.until(t, "all Pods run", func() bool { return tr.count("status.phase=Running") == tr.pods })
	ran := time.Since(tr.began)
	tr.requireOnce(t)
	many(tr.pods, func(i int) { tr.delete(t, fmt.Sprint("p", i)) })
	tr.until(t, "all Pods are gone", func() bool { return tr.count("") == 0 })
	for i, p := range tr.performers {
		after := tr.settled(t, p, tr.before[i])
		t.Logf("player %d: %d requests, %d patches, %d retries, goroutines %d to %d, heap %d to %d KiB", i, after.Requests, after.Patches, after.Retries,
			tr.before[i].Goroutines, after.Goroutines, tr.before[i].Heap>>10, after.Heap>>10)
	}
	t.Logf("%d Pods ran within %v and were gone after %v", tr.pods, ran.Round(time.Millisecond), time.Since(tr.began).Round(time.Millisecond))
}

// requireOnce holds that no Pod was written more often than it must be, whoever wrote it and whoever heard of it.
func (tr *trial) requireOnce(t *testing.T) {
	t.Helper()
	prefix := "pods/" + tr.namespace + "/"
	writes, err := tr.plane.Writes(prefix)
	require.NoError(t, err)
	require.Len(t, writes, tr.pods)
	more := map[string]int64{}
	for pod, n := range writes {
		if n != writesOfAPod {
			more[strings.TrimPrefix(pod, prefix)] = n
		}
	}
	require.Empty(t, more, "Pods that were not written %d times", writesOfAPod)
}

// settled waits until a player has nothing to do and is as it was before. Memory may grow by what hash tables and buffers keep.
func (tr *trial) settled(t *testing.T, p *performer, before report) (after report) {
	t.Helper()
	const goroutines, heap = 8, 4 << 20
	tr.until(t, "the player is at rest", func() bool {
		after = p.report(t)
		return tr.idle(after.Stats) && after.Goroutines <= before.Goroutines+goroutines && after.Heap <= before.Heap+heap
	})
	require.Empty(t, after.Twice)
	require.Empty(t, after.Failed)
	return after
}
