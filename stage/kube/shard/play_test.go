package shard_test

import (
	"context"
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

// A troupe is several processes that play one cluster, each with a Player, a roster and a member of one group.
type troupe struct {
	t       *testing.T
	cluster *memory.Cluster
	actors  map[string]*actor
	all     sync.WaitGroup

	mu      sync.Mutex
	patches map[types.NamespacedName]int // of Pods, that succeeded
}

type actor struct {
	wire  *wire
	leave context.CancelFunc
}

func newTroupe(t *testing.T) *troupe {
	tr := &troupe{t: t, actors: map[string]*actor{}, patches: map[types.NamespacedName]int{}}
	tr.cluster = memory.New(memory.Options{Trace: tr.count})
	return tr
}

func (tr *troupe) count(r memory.Request) {
	if r.Kind == podKind && r.Verb == "patch" && r.Err == nil {
		tr.mu.Lock()
		defer tr.mu.Unlock()
		tr.patches[r.Name]++
	}
}

func (tr *troupe) join(identity string) {
	w := &wire{link: &link{Cluster: tr.cluster}}
	ctx, cancel := context.WithCancel(tr.t.Context())
	tr.actors[identity] = &actor{w, cancel}
	member, err := shard.New(w, shard.Options{Identity: identity})
	require.NoError(tr.t, err)
	roster, err := nodes.New(w, nodes.Options{Owns: member.Owns, Lease: nodes.Lease{Identity: "troupe"}})
	require.NoError(tr.t, err)
	set := stage.MustCompile(presets.NodeFast(), presets.NodeHeartbeatWithLease(), presets.PodGeneral())
	player := player.New(set, w, player.Options{Seed: 1, Filter: roster.Plays, Select: roster.Rules().Select()})
	tr.all.Go(func() { _ = player.Run(ctx) })
	tr.all.Go(func() { _ = roster.Run(ctx, player.Refilter) })
	tr.all.Go(func() { _ = member.Run(ctx, func() { roster.Reconsider(); player.Refilter() }) })
}

// kill ends a process without a farewell.
func (tr *troupe) kill(identity string) {
	tr.actors[identity].wire.trouble(func(l *link) { l.refuses = true })
	tr.stop(identity)
}

func (tr *troupe) stop(identity string) {
	tr.actors[identity].leave()
	delete(tr.actors, identity)
}

func (tr *troupe) names() []string { return slices.Sorted(maps.Keys(tr.actors)) }

func (tr *troupe) create(manifest string) {
	tr.t.Helper()
	require.NoError(tr.t, tr.cluster.Load(tr.t.Context(), []byte(manifest)))
}

func (tr *troupe) pods() []unstructured.Unstructured {
	list, err := tr.cluster.List(tr.t.Context(), podKind, "", metav1.ListOptions{})
	require.NoError(tr.t, err)
	return list.Items
}

func phase(obj *unstructured.Unstructured) string {
	p, _, _ := unstructured.NestedString(obj.Object, "status", "phase")
	return p
}

// TestNoTransitionIsLostOrPlayedTwice lets processes that play one cluster die, leave, freeze and lose their connections at random, while Pods are created
// and deleted. In the end every Pod runs, was patched as often as it has Stages, and has an address of its own; those that were deleted are gone.
func TestNoTransitionIsLostOrPlayedTwice(t *testing.T) {
	for seed := range uint64(10) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tr := newTroupe(t)
				defer tr.all.Wait()
				random := rand.New(rand.NewPCG(seed, 1))
				for i := range 8 {
					tr.create(fmt.Sprintf("{apiVersion: v1, kind: Node, metadata: {name: n%d}, spec: {podCIDR: 10.0.%d.0/24}}", i, i))
				}
				for i := range 1 + int(seed%5) {
					tr.join(identity(i))
				}
				for i := range 150 {
					time.Sleep(time.Duration(random.Int64N(int64(2 * time.Second))))
					tr.create(fmt.Sprintf("{apiVersion: v1, kind: Pod, metadata: {name: p%d, namespace: default}, spec: {nodeName: n%d, containers: [{name: a, image: a}]}}", i, random.IntN(8)))
					if i%10 == 9 {
						tr.happen(random, i)
					}
					if i%7 == 6 {
						name := types.NamespacedName{Namespace: "default", Name: fmt.Sprint("p", i-5)}
						require.NoError(t, tr.cluster.Delete(t.Context(), podKind, name, metav1.DeleteOptions{}))
					}
				}
				tr.finish()
			})
		})
	}
}

// happen does something to one process, or adds one.
func (tr *troupe) happen(random *rand.Rand, i int) {
	identities := tr.names()
	name := identities[random.IntN(len(identities))]
	w := tr.actors[name].wire
	switch random.IntN(8) {
	case 0:
		tr.kill(name)
	case 1:
		tr.stop(name)
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
	if len(tr.actors) < len(identities) {
		tr.join(fmt.Sprintf("late-%d", i))
	}
}

// finish ends all troubles and looks at what has become of the Pods.
func (tr *troupe) finish() {
	for _, a := range tr.actors {
		a.wire.trouble((*link).heal)
	}
	time.Sleep(3 * time.Minute)
	for _, name := range tr.names() {
		tr.stop(name)
	}
	tr.all.Wait()
	addresses := map[string]string{}
	pods := tr.pods()
	for _, pod := range pods {
		require.Nil(tr.t, pod.GetDeletionTimestamp(), "%s is still there: %v", pod.GetName(), pod.Object)
	}
	require.Len(tr.t, pods, 150-150/7)
	for _, pod := range pods {
		name := types.NamespacedName{Namespace: pod.GetNamespace(), Name: pod.GetName()}
		require.Equal(tr.t, "Running", phase(&pod), name)
		require.Equal(tr.t, 2, tr.patches[name], "%s: pod-create and pod-ready", name)
		ip, _, _ := unstructured.NestedString(pod.Object, "status", "podIP")
		require.Empty(tr.t, addresses[ip], "%s has the address of another: %s", name, ip)
		addresses[ip] = pod.GetName()
	}
	for name, n := range tr.patches {
		require.LessOrEqual(tr.t, n, 2, "%s", name)
	}
}

// TestEveryMemberPlaysItsShare holds that the work is shared indeed, and that only who owns a Node patches its Pods.
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
				require.NoError(t, cluster.Load(ctx, fmt.Appendf(nil, "{apiVersion: v1, kind: Pod, metadata: {name: n%d-%d, namespace: default}, spec: {nodeName: n%d, containers: [{name: a, image: a}]}}", n, p, n)))
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
