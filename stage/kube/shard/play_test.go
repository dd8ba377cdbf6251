package shard_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/kube/nodes"
	"github.com/stagecraft-go/stagecraft/stage/kube/shard"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/player"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

var (
	nodeKind = schema.GroupVersionKind{Version: "v1", Kind: "Node"}
	podKind  = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
)

// A wire is a link that carries all that a Player needs. Its watches end when the link breaks.
type wire struct {
	*link
	mu      sync.Mutex
	watches []watch.Interface
}

func (w *wire) trouble(f func(*link)) {
	w.set(f)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, open := range w.watches {
		open.Stop()
	}
	w.watches = nil
}

func (w *wire) Get(ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName) (*unstructured.Unstructured, error) {
	if err := w.pass(ctx); err != nil {
		return nil, err
	}
	return w.Cluster.Get(ctx, kind, name)
}

func (w *wire) Watch(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (watch.Interface, error) {
	if err := w.pass(ctx); err != nil {
		return nil, err
	}
	open, err := w.Cluster.Watch(ctx, kind, namespace, o)
	if err == nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.watches = append(w.watches, open)
	}
	return open, err
}

func (w *wire) Patch(ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName, t types.PatchType, data []byte, o metav1.PatchOptions, subresources ...string) (*unstructured.Unstructured, error) {
	if err := w.pass(ctx); err != nil {
		return nil, err
	}
	got, err := w.Cluster.Patch(ctx, kind, name, t, data, o, subresources...)
	return answer(w.link, got, err)
}

// plain hides the optional interfaces of the cluster in memory, with which a player would get around
// the troubles of a wire.
type plain struct{ transport.Transport }

// A processGroup is several processes that play one cluster, each with a player, a lease holder and
// a member of one group.
type processGroup struct {
	t         *testing.T
	cluster   *memory.Cluster
	processes map[string]*process
	all       sync.WaitGroup

	mu      sync.Mutex
	patches map[types.NamespacedName]int // of Pods, that succeeded
}

type process struct {
	wire  *wire
	leave context.CancelFunc
}

func newProcessGroup(t *testing.T) *processGroup {
	g := &processGroup{t: t, processes: map[string]*process{}, patches: map[types.NamespacedName]int{}}
	g.cluster = memory.New(memory.Options{Trace: g.count})
	return g
}

func (g *processGroup) count(r memory.Request) {
	if r.Kind == podKind && r.Verb == "patch" && r.Err == nil {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.patches[r.Name]++
	}
}

func (g *processGroup) join(identity string) {
	w := &wire{link: &link{Cluster: g.cluster}}
	ctx, cancel := context.WithCancel(g.t.Context())
	g.processes[identity] = &process{w, cancel}
	member, err := shard.New(w, shard.Options{Identity: identity})
	require.NoError(g.t, err)
	holder, err := nodes.New(w, nodes.Options{Owns: member.Owns, Lease: nodes.Lease{Identity: "group"}})
	require.NoError(g.t, err)
	set := stage.MustCompile(presets.NodeFast(), presets.NodeHeartbeatWithLease(), presets.PodGeneral())
	player := player.New(set, plain{w}, player.Options{Seed: 1, Filter: holder.Plays, Select: holder.Rules().Select()})
	g.all.Go(func() { _ = player.Run(ctx) })
	g.all.Go(func() { _ = holder.Run(ctx, player.Refilter) })
	g.all.Go(func() { _ = member.Run(ctx, func() { holder.Refilter(); player.Refilter() }) })
}

// kill ends a process without a farewell.
func (g *processGroup) kill(identity string) {
	g.processes[identity].wire.trouble(func(l *link) { l.refuses = true })
	g.stop(identity)
}

func (g *processGroup) stop(identity string) {
	g.processes[identity].leave()
	delete(g.processes, identity)
}

func (g *processGroup) names() []string { return slices.Sorted(maps.Keys(g.processes)) }

func (g *processGroup) create(manifest string) {
	g.t.Helper()
	require.NoError(g.t, g.cluster.Load(g.t.Context(), []byte(manifest)))
}

func (g *processGroup) pods() []unstructured.Unstructured {
	list, err := g.cluster.List(g.t.Context(), podKind, "", metav1.ListOptions{})
	require.NoError(g.t, err)
	return list.Items
}

func phase(obj *unstructured.Unstructured) string {
	p, _, _ := unstructured.NestedString(obj.Object, "status", "phase")
	return p
}

// histories is how many histories TestNoTransitionIsLostOrPlayedTwice plays: -histories 200 takes a
// minute, and finds in one of 200 that a Pod gets the address of another, see the package comment.
var histories = flag.Uint64("histories", 12, "how many random histories to play")

// TestNoTransitionIsLostOrPlayedTwice lets processes that play one cluster die, leave, freeze and
// lose their connections at random, while Pods are created and deleted. In the end every Pod runs,
// was patched as often as it has Stages, and has its own address; the deleted Pods are gone.
func TestNoTransitionIsLostOrPlayedTwice(t *testing.T) {
	for seed := range *histories {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newProcessGroup(t)
				defer g.all.Wait()
				random := rand.New(rand.NewPCG(seed, 1))
				for i := range 8 {
					g.create(fmt.Sprintf("{apiVersion: v1, kind: Node, metadata: {name: n%d}, spec: {podCIDR: 10.0.%d.0/24}}", i, i))
				}
				for i := range 1 + int(seed%5) {
					g.join(identity(i))
				}
				for i := range 150 {
					time.Sleep(time.Duration(random.Int64N(int64(2 * time.Second))))
					g.create(fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {name: p%d, namespace: default},
  spec: {nodeName: n%d, containers: [{name: a, image: a}]}}`, i, random.IntN(8)))
					if i%10 == 9 {
						g.happen(random, i)
					}
					if i%7 == 6 {
						name := types.NamespacedName{Namespace: "default", Name: fmt.Sprint("p", i-5)}
						require.NoError(t, g.cluster.Delete(t.Context(), podKind, name, metav1.DeleteOptions{}))
					}
				}
				g.finish()
			})
		})
	}
}

// happen causes a random trouble for one process, or adds a process.
func (g *processGroup) happen(random *rand.Rand, i int) {
	identities := g.names()
	name := identities[random.IntN(len(identities))]
	w := g.processes[name].wire
	switch random.IntN(8) {
	case 0:
		g.kill(name)
	case 1:
		g.stop(name)
	case 2:
		w.trouble(func(l *link) { l.hangs = true })
	case 3:
		w.trouble(func(l *link) { l.refuses = true })
	case 4:
		w.trouble(func(l *link) { l.loses = true })
	case 5:
		w.trouble(func(l *link) { l.frozen = time.Now().Add(time.Duration(random.Int64N(int64(3 * duration)))) })
	case 6:
		w.trouble(func(l *link) { l.slow = time.Duration(random.Int64N(int64(time.Second))) })
	default:
		w.trouble((*link).heal)
	}
	if len(g.processes) < len(identities) {
		g.join(fmt.Sprintf("late-%d", i))
	}
}

// finish ends all troubles and checks the Pods.
func (g *processGroup) finish() {
	for _, a := range g.processes {
		a.wire.trouble((*link).heal)
	}
	time.Sleep(3 * time.Minute)
	for _, name := range g.names() {
		g.stop(name)
	}
	g.all.Wait()
	addresses := map[string]string{}
	pods := g.pods()
	for _, pod := range pods {
		require.Nil(g.t, pod.GetDeletionTimestamp(), "%s is still there: %v", pod.GetName(), pod.Object)
	}
	require.Len(g.t, pods, 150-150/7)
	for _, pod := range pods {
		name := types.NamespacedName{Namespace: pod.GetNamespace(), Name: pod.GetName()}
		require.Equal(g.t, "Running", phase(&pod), name)
		require.Equal(g.t, 2, g.patches[name], "%s: pod-create and pod-ready", name)
		ip, _, _ := unstructured.NestedString(pod.Object, "status", "podIP")
		require.Empty(g.t, addresses[ip], "%s has the address of another: %s", name, ip)
		addresses[ip] = pod.GetName()
	}
	for name, n := range g.patches {
		require.LessOrEqual(g.t, n, 2, "%s", name)
	}
}

// TestEveryMemberPlaysItsShare checks that the members share the work, and that only the owner of a
// Node patches its Pods.
func TestEveryMemberPlaysItsShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		users := map[string]map[string]bool{} // who patched the Pods of each Node
		cluster := memory.New(memory.Options{Trace: func(r memory.Request) {
			if r.Kind == podKind && r.Verb == "patch" {
				mu.Lock()
				defer mu.Unlock()
				node, _, _ := strings.Cut(r.Name.Name, "-")
				if users[node] == nil {
					users[node] = map[string]bool{}
				}
				users[node][r.User] = true
			}
		}})
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		defer all.Wait()
		defer cancel()
		for i := range 3 {
			own := cluster.Impersonate(identity(i))
			member, err := shard.New(own, shard.Options{Identity: identity(i)})
			require.NoError(t, err)
			player := player.New(stage.MustCompile(presets.PodFast()), own, player.Options{Filter: member.Owns})
			all.Go(func() { _ = member.Run(ctx, player.Refilter) })
			all.Go(func() { _ = player.Run(ctx) })
		}
		time.Sleep(10 * time.Second)
		for n := range 30 {
			for p := range 5 {
				require.NoError(t, cluster.Load(ctx, fmt.Appendf(nil, `{apiVersion: v1, kind: Pod, metadata: {name: n%d-%d,
  namespace: default}, spec: {nodeName: n%d, containers: [{name: a, image: a}]}}`, n, p, n)))
			}
		}
		time.Sleep(time.Second)
		mu.Lock()
		defer mu.Unlock()
		played := map[string]int{}
		for n := range 30 {
			key := stage.Key{Version: "v1", Kind: "Node", Name: fmt.Sprint("n", n)}
			owner := shard.Owner(names(3), key)
			played[owner]++
			require.Equal(t, map[string]bool{owner: true}, users[key.Name])
		}
		require.Len(t, played, 3)
	})
}
