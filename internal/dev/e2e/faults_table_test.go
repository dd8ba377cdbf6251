package e2e_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stagecraft-go/stagecraft/internal/dev/e2e/controlplane"
	"github.com/stagecraft-go/stagecraft/stage/kube/shard"
)

// ownPlane starts a control plane for a test that harms it.
func ownPlane(t *testing.T) *controlplane.Plane {
	t.Helper()
	assets, err := controlplane.Assets("../kubebin", io.Discard)
	require.NoError(t, err)
	p, err := controlplane.Start(assets)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Stop()) })
	return p
}

// TestBadConnections plays through proxies that make one trouble each, and all at once.
func TestBadConnections(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]trouble{
		"refusals":      refusals,
		"slowness":      slowness,
		"lost-answers":  lostAnswers,
		"short-watches": shortWatches,
		"everything":    together(refusals, slowness, lostAnswers, shortWatches),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := newTrial(t, plane, "bad-"+name, 120)
			tr.begin(t, perform(t, troubled(t, tr.role(), bad)))
			tr.play(t, func() {})
		})
	}
}

// TestPartitions cuts engine and server off from each other for some seconds, without a word to
// either: once so that connections survive it, and once so that they do not.
func TestPartitions(t *testing.T) {
	t.Parallel()
	for name, strike := range map[string]func(*relay){
		"healed": func(y *relay) { y.part(); time.Sleep(5 * time.Second); y.heal() },
		"lost":   func(y *relay) { y.part(); y.lose(); time.Sleep(5 * time.Second); y.heal() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := newTrial(t, plane, "partition-"+name, 150)
			r, y := relayed(t, tr.role())
			// What client-go does after 45 s by default: look whether a silent connection lives,
			// and give it up.
			tr.begin(t, perform(t, r, "HTTP2_READ_IDLE_TIMEOUT_SECONDS=4", "HTTP2_PING_TIMEOUT_SECONDS=3"))
			tr.play(t, func() { strike(y) })
		})
	}
}

// TestServersThatCrash kills kube-apiserver, or etcd, twice while Pods are created.
func TestServersThatCrash(t *testing.T) {
	t.Parallel()
	for _, s := range []controlplane.Server{controlplane.APIServer, controlplane.Etcd} {
		t.Run(string(s), func(t *testing.T) {
			t.Parallel()
			p := ownPlane(t)
			tr := newTrial(t, p, "crash", 200)
			tr.begin(t, perform(t, tr.role()))
			tr.play(t, func() {
				for range 2 {
					require.NoError(t, p.Kill(s))
					require.NoError(t, p.Restart(s))
					tr.until(t, "the server is back", func() bool { return tr.count("") >= 0 })
				}
			})
		})
	}
}

// TestAYoungServer creates Pods on a server that has just begun, and closes watches which are more
// than ten events behind.
func TestAYoungServer(t *testing.T) {
	t.Parallel()
	p := ownPlane(t)
	tr := newTrial(t, p, "young", 1000)
	tr.performers = []*performer{perform(t, tr.role())}
	tr.before = []report{tr.performers[0].report(t)}
	tr.before[0].Heap += 4 << 20 // has seen nothing yet
	tr.before[0].Goroutines += 10
	tr.began = time.Now()
	tr.play(t, func() {})
}

// TestPlayersThatCrash kills the player again and again at random moments, and starts another one
// each time.
func TestPlayersThatCrash(t *testing.T) {
	t.Parallel()
	tr := newTrial(t, plane, "player-crash", 200)
	p := perform(t, tr.role())
	tr.begin(t, p)
	tr.performers = nil // the last one has nothing to be compared with
	moments := rand.New(rand.NewPCG(3, 4))
	tr.play(t, func() {
		for range 5 {
			time.Sleep(time.Duration(moments.Int64N(int64(time.Second))))
			p.kill()
			p = perform(t, tr.role())
		}
	})
}

// TestReplicasThatCrash has two and three players share the Nodes, and kills one.
func TestReplicasThatCrash(t *testing.T) {
	t.Parallel()
	for n := 2; n <= 3; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			tr := newTrial(t, plane, fmt.Sprint("replica-crash-", n), 200)
			tr.nodes = 10
			for i := range tr.nodes {
				createNode(t, tr.cluster, fmt.Sprintf("{apiVersion: v1, kind: Node, metadata: {name: %s, labels: {group: %s}}, spec: {podCIDR: 10.1%d.%d.0/24}}", tr.node(i), tr.namespace, n, i))
			}
			var all []*performer
			for i := range n {
				r := tr.role()
				r.Identity = fmt.Sprint("player-", i)
				all = append(all, perform(t, r))
			}
			tr.until(t, "all have joined", func() bool { return tr.members(t) == n })
			tr.begin(t, all...)
			tr.performers = all[1:]
			tr.before = tr.before[1:]
			tr.play(t, all[0].kill)
		})
	}
}

// members counts the Leases of those who share.
func (tr *trial) members(t *testing.T) int {
	t.Helper()
	list, err := tr.cluster.List(t.Context(), leaseKind, "", metav1.ListOptions{LabelSelector: shard.GroupLabel + "=" + tr.namespace})
	require.NoError(t, err)
	return len(list.Items)
}
