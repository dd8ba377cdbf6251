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

// ownPlane starts a control plane for a test that damages it.
func ownPlane(t *testing.T) *controlplane.Plane {
	t.Helper()
	assets, err := controlplane.Assets("../kubebin", io.Discard)
	require.NoError(t, err)
	p, err := controlplane.Start(assets)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Stop()) })
	return p
}

// TestBadConnections plays through proxies with one fault each, and with all of them.
func TestBadConnections(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]proxyFault{
		"refusals":      refuseRequests,
		"slowness":      delayRequests,
		"lost-answers":  loseAnswers,
		"short-watches": cutWatches,
		"everything":    allFaults(refuseRequests, delayRequests, loseAnswers, cutWatches),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := newFaultTest(t, plane, "bad-"+name, 120)
			tr.begin(t, startPlayer(t, throughProxy(t, tr.playerConfig(), bad)))
			tr.play(t, func() {})
		})
	}
}

// TestPartitions stops the traffic between player and server for some seconds without closing
// connections: once so that the connections survive, and once so that they do not.
func TestPartitions(t *testing.T) {
	t.Parallel()
	for name, strike := range map[string]func(*relay){
		"healed": func(y *relay) { y.stop(); time.Sleep(5 * time.Second); y.resume() },
		"lost":   func(y *relay) { y.stop(); y.dropConnections(); time.Sleep(5 * time.Second); y.resume() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := newFaultTest(t, plane, "partition-"+name, 150)
			r, y := throughRelay(t, tr.playerConfig())
			// What client-go does after 45 s by default: look whether a silent connection lives,
			// and give it up.
			tr.begin(t, startPlayer(t, r, "HTTP2_READ_IDLE_TIMEOUT_SECONDS=4", "HTTP2_PING_TIMEOUT_SECONDS=3"))
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
			tr := newFaultTest(t, p, "crash", 200)
			tr.begin(t, startPlayer(t, tr.playerConfig()))
			tr.play(t, func() {
				for range 2 {
					require.NoError(t, p.Kill(s))
					require.NoError(t, p.Restart(s))
					tr.eventually(t, "the server is back", func() bool { return tr.count("") >= 0 })
				}
			})
		})
	}
}

// TestAYoungServer creates Pods on a server that has just started, and closes watches that are more
// than ten events behind.
func TestAYoungServer(t *testing.T) {
	t.Parallel()
	p := ownPlane(t)
	tr := newFaultTest(t, p, "young", 1000)
	tr.players = []*playerProcess{startPlayer(t, tr.playerConfig())}
	tr.before = []playerReport{tr.players[0].report(t)}
	tr.before[0].Heap += 4 << 20 // no state seen yet
	tr.before[0].Goroutines += 10
	tr.began = time.Now()
	tr.play(t, func() {})
}

// TestPlayersThatCrash kills the player at random moments, and starts another one each time.
func TestPlayersThatCrash(t *testing.T) {
	t.Parallel()
	tr := newFaultTest(t, plane, "player-crash", 200)
	p := startPlayer(t, tr.playerConfig())
	tr.begin(t, p)
	tr.players = nil // the last one is compared with nothing
	moments := rand.New(rand.NewPCG(3, 4))
	tr.play(t, func() {
		for range 5 {
			time.Sleep(time.Duration(moments.Int64N(int64(time.Second))))
			p.kill()
			p = startPlayer(t, tr.playerConfig())
		}
	})
}

// TestReplicasThatCrash has two and three players that share the Nodes, and kills one.
func TestReplicasThatCrash(t *testing.T) {
	t.Parallel()
	for n := 2; n <= 3; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			tr := newFaultTest(t, plane, fmt.Sprint("replica-crash-", n), 200)
			tr.nodes = 10
			for i := range tr.nodes {
				createNode(t, tr.cluster, fmt.Sprintf(`{apiVersion: v1, kind: Node, metadata: {name: %s, labels: {group: %s}},
  spec: {podCIDR: 10.1%d.%d.0/24}}`, tr.node(i), tr.namespace, n, i))
			}
			var all []*playerProcess
			for i := range n {
				r := tr.playerConfig()
				r.Identity = fmt.Sprint("player-", i)
				all = append(all, startPlayer(t, r))
			}
			tr.eventually(t, "all have joined", func() bool { return tr.members(t) == n })
			tr.begin(t, all...)
			tr.players = all[1:]
			tr.before = tr.before[1:]
			tr.play(t, all[0].kill)
		})
	}
}

// members counts the Leases of the replicas.
func (tr *faultTest) members(t *testing.T) int {
	t.Helper()
	list, err := tr.cluster.List(t.Context(), leaseKind, "", metav1.ListOptions{LabelSelector: shard.GroupLabel + "=" + tr.namespace})
	require.NoError(t, err)
	return len(list.Items)
}
