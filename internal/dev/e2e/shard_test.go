package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/kube"
	"github.com/stagecraft-go/stagecraft/stage/kube/nodes"
	"github.com/stagecraft-go/stagecraft/stage/kube/shard"
	"github.com/stagecraft-go/stagecraft/stage/player"
	"github.com/stagecraft-go/stagecraft/stage/presets"
)

// A breakableConnection is a connection to the server that a test can break: then every request
// fails, and watches receive nothing.
type breakableConnection struct {
	http.RoundTripper
	broken atomic.Bool
	mu     sync.Mutex
	open   []context.CancelFunc
}

var errBroken = errors.New("the cable is cut")

func (c *breakableConnection) RoundTrip(r *http.Request) (*http.Response, error) {
	if c.broken.Load() {
		return nil, errBroken
	}
	ctx, cancel := context.WithCancel(r.Context())
	c.mu.Lock()
	c.open = append(c.open, cancel)
	c.mu.Unlock()
	return c.RoundTripper.RoundTrip(r.WithContext(ctx))
}

// breakAll breaks the connection, also for requests under way.
func (c *breakableConnection) breakAll() {
	c.broken.Store(true)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, cancel := range c.open {
		cancel()
	}
}

// A replica is one of several Players that share a cluster.
type replica struct {
	member     *shard.Member
	connection *breakableConnection
	leave      func() // leaves the group, as its user would; it can be called twice
}

// crash ends a replica without leaving the group.
func (r *replica) crash() {
	r.connection.breakAll()
	r.leave()
}

// background runs functions until the test ends, or until stop is called, which waits for their
// end.
func background(t testing.TB, run ...func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for _, f := range run {
		all.Go(func() { assert.ErrorIs(t, f(ctx), context.Canceled) })
	}
	stop = func() {
		cancel()
		all.Wait()
	}
	t.Cleanup(stop)
	return stop
}

// A replicaGroup says how the replicas of a test share a cluster.
type replicaGroup struct {
	group, label string
	duration     time.Duration
}

func (sh replicaGroup) start(t *testing.T, identity string) *replica {
	t.Helper()
	r := &replica{}
	config := plane.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		r.connection = &breakableConnection{RoundTripper: next}
		return r.connection
	})
	cluster, err := kube.NewForConfig(config)
	require.NoError(t, err)
	r.member, err = shard.New(cluster, shard.Options{Group: sh.group, Identity: identity, Duration: sh.duration})
	require.NoError(t, err)
	holder, err := nodes.New(cluster, nodes.Options{
		Policy: nodes.Policy{Labels: sh.label}, Owns: r.member.Owns, Lease: nodes.Lease{Identity: sh.group},
	})
	require.NoError(t, err)
	set, err := stage.Compile(stage.Options{}, presets.NodeFast(), presets.NodeHeartbeatWithLease(), presets.PodFast())
	require.NoError(t, err)
	player := player.New(set, cluster, player.Options{Seed: 1, Filter: holder.Plays, Select: holder.Rules().Select()})
	r.leave = background(t, player.Run,
		func(ctx context.Context) error { return holder.Run(ctx, player.Refilter) },
		func(ctx context.Context) error {
			return r.member.Run(ctx, func() { holder.Refilter(); player.Refilter() })
		})
	return r
}

// changes counts how often the status of each Pod of a namespace changed, until the test ends.
func changes(t *testing.T, cluster *kube.Cluster, namespace string) func() map[string]int {
	var mu sync.Mutex
	count, last := map[string]int{}, map[string]string{}
	note := func(obj *unstructured.Unstructured) {
		mu.Lock()
		defer mu.Unlock()
		status := fmt.Sprint(obj.Object["status"])
		if old, known := last[obj.GetName()]; known && old != status {
			count[obj.GetName()]++
		}
		last[obj.GetName()] = status
	}
	list, err := cluster.List(t.Context(), podKind, namespace, metav1.ListOptions{})
	require.NoError(t, err)
	ended := make(chan struct{})
	t.Cleanup(func() { <-ended })
	go func() {
		defer close(ended)
		for version := list.GetResourceVersion(); t.Context().Err() == nil; {
			w, err := cluster.Watch(t.Context(), podKind, namespace, metav1.ListOptions{ResourceVersion: version})
			if err != nil {
				continue
			}
			for e := range w.ResultChan() {
				if obj, ok := e.Object.(*unstructured.Unstructured); ok && e.Type != watch.Error {
					version = obj.GetResourceVersion()
					note(obj)
				}
			}
		}
	}()
	return func() map[string]int {
		mu.Lock()
		defer mu.Unlock()
		all := map[string]int{}
		for name := range last {
			all[name] = count[name]
		}
		return all
	}
}

// TestReplicasShareACluster runs two and three Players on one server while Pods are created; one
// crashes, one leaves, one joins. In the end every Pod runs, its status was written once, and no
// two have the same address.
func TestReplicasShareACluster(t *testing.T) {
	for n := 2; n <= 3; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) { shareCluster(t, n) })
	}
}

func shareCluster(t *testing.T, n int) {
	const nodeCount, podCount = 12, 240
	cluster := newCluster(t)
	namespace := fmt.Sprint("shard-", n)
	sh := replicaGroup{group: namespace, label: "group=" + namespace, duration: 5 * time.Second}
	create(t, cluster, "{apiVersion: v1, kind: Namespace, metadata: {name: "+namespace+"}}")
	counted := changes(t, cluster, namespace)
	for i := range nodeCount {
		createNode(t, cluster, fmt.Sprintf(`{apiVersion: v1, kind: Node, metadata: {name: %s-%d, labels: {group: %s}},
  spec: {podCIDR: 10.%d.%d.0/24}}`, namespace, i, namespace, n, i))
	}
	replicas := make([]*replica, n)
	for i := range replicas {
		replicas[i] = sh.start(t, fmt.Sprint("player-", i))
	}
	eventually(t, "all have joined", func() bool { return len(replicas[0].member.Members()) == n })

	for i := range podCount {
		create(t, cluster, fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {name: p%d, namespace: %s},
  spec: {nodeName: %s-%d, containers: [{name: a, image: a}]}}`, i, namespace, namespace, i%nodeCount))
		if i == podCount/3 {
			replicas[n-1].crash()
		}
	}
	died := time.Now()
	eventually(t, "all Pods run", func() bool { return running(t, cluster, namespace) == podCount })
	t.Logf("%d Pods run %v after the last was created", podCount, time.Since(died).Round(time.Millisecond))

	late := sh.start(t, "late")
	eventually(t, "the late one has joined", func() bool { return len(late.member.Members()) == n })
	replicas[0].leave()
	create(t, cluster, fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {name: last, namespace: %s},
  spec: {nodeName: %s-0, containers: [{name: a, image: a}]}}`, namespace, namespace))
	eventually(t, "the last Pod runs", func() bool { return phase(t, cluster, namespace, "last") == "Running" })
	deletePods(t, cluster, namespace, 20)
	eventually(t, "Pods that were deleted are gone", func() bool { return running(t, cluster, namespace) == podCount-19 })

	addresses := map[string]bool{}
	for _, pod := range podsOf(t, cluster, namespace) {
		ip, _, _ := unstructured.NestedString(pod.Object, "status", "podIP")
		require.False(t, addresses[ip], "%s has the address of another: %s", pod.GetName(), ip)
		addresses[ip] = true
	}
	eventually(t, "all is counted", func() bool { return len(counted()) == podCount+1 })
	for name, count := range counted() {
		require.Equal(t, 1, count, "changes of the status of %s", name)
	}
}

func podsOf(t *testing.T, cluster *kube.Cluster, namespace string) []unstructured.Unstructured {
	list, err := cluster.List(t.Context(), podKind, namespace, metav1.ListOptions{})
	require.NoError(t, err)
	return list.Items
}

// running counts the Pods that run.
func running(t *testing.T, cluster *kube.Cluster, namespace string) (n int) {
	for _, pod := range podsOf(t, cluster, namespace) {
		if p, _, _ := unstructured.NestedString(pod.Object, "status", "phase"); p == "Running" && pod.GetDeletionTimestamp() == nil {
			n++
		}
	}
	return n
}

func deletePods(t *testing.T, cluster *kube.Cluster, namespace string, n int) {
	for i := range n {
		name := types.NamespacedName{Namespace: namespace, Name: fmt.Sprint("p", i)}
		require.NoError(t, cluster.Delete(t.Context(), podKind, name, metav1.DeleteOptions{}))
	}
}

// createNode creates a Node for the duration of a test.
func createNode(t *testing.T, cluster *kube.Cluster, manifest string) *unstructured.Unstructured {
	t.Helper()
	node := create(t, cluster, manifest)
	t.Cleanup(func() {
		err := cluster.Delete(context.WithoutCancel(t.Context()), nodeKind, types.NamespacedName{Name: node.GetName()}, metav1.DeleteOptions{})
		if err != nil {
			require.ErrorContains(t, err, "not found")
		}
	})
	return node
}
