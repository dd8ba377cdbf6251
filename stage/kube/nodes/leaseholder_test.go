package nodes_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/stage/kube/nodes"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// A scene is a cluster in memory, in virtual time, with lease holders that use it.
type scene struct {
	t       *testing.T
	cluster *memory.Cluster
	stop    []context.CancelFunc
	stopped chan error
	calls   atomic.Int64 // of changed
}

func play(t *testing.T, f func(*scene)) {
	synctest.Test(t, func(t *testing.T) {
		s := &scene{t: t, cluster: memory.New(memory.Options{}), stopped: make(chan error)}
		defer s.end()
		f(s)
	})
}

// run starts a lease holder and waits until it knows the Nodes.
func (s *scene) run(o nodes.Options) *nodes.LeaseHolder {
	return s.runOn(s.cluster, o)
}

func (s *scene) runOn(c nodes.Cluster, o nodes.Options) *nodes.LeaseHolder {
	r, err := nodes.New(c, o)
	require.NoError(s.t, err)
	s.also(r.Run, func() { s.calls.Add(1) })
	return r
}

// also runs something until the end.
func (s *scene) also(run func(context.Context, func()) error, changed func()) {
	ctx, cancel := context.WithCancel(s.t.Context())
	s.stop = append(s.stop, cancel)
	go func() { s.stopped <- run(ctx, changed) }()
	synctest.Wait()
}

func (s *scene) end() {
	for _, stop := range s.stop {
		stop()
		require.ErrorIs(s.t, <-s.stopped, context.Canceled)
	}
}

func (s *scene) create(obj *unstructured.Unstructured) *unstructured.Unstructured {
	s.t.Helper()
	got, err := s.cluster.Create(s.t.Context(), obj, metav1.CreateOptions{})
	require.NoError(s.t, err)
	synctest.Wait()
	return got
}

func (s *scene) remove(kind schema.GroupVersionKind, namespace, name string) {
	s.t.Helper()
	require.NoError(s.t, s.cluster.Delete(s.t.Context(), kind, types.NamespacedName{Namespace: namespace, Name: name}, metav1.DeleteOptions{}))
	synctest.Wait()
}

func (s *scene) patch(kind schema.GroupVersionKind, namespace, name, data string) {
	s.t.Helper()
	_, err := s.cluster.Patch(s.t.Context(), kind, types.NamespacedName{Namespace: namespace, Name: name}, types.MergePatchType, []byte(data), metav1.PatchOptions{})
	require.NoError(s.t, err)
	synctest.Wait()
}

func (s *scene) lease(name string) map[string]any {
	s.t.Helper()
	obj, err := s.cluster.Get(s.t.Context(), leaseKind, types.NamespacedName{Namespace: "kube-node-lease", Name: name})
	require.NoError(s.t, err)
	return obj.Object
}

func pod(name, node string, gone bool) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"nodeName": node}}}
	obj.SetGroupVersionKind(podKind)
	obj.SetNamespace("default")
	obj.SetName(name)
	if gone {
		obj.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(0, 0)})
	}
	return obj
}

func TestNodesAndPodsAreOursByPolicy(t *testing.T) {
	play(t, func(s *scene) {
		ours, theirs := s.create(node("ours", texts{"type": "fake"}, nil)), s.create(node("theirs", nil, nil))
		r := s.run(nodes.Options{Policy: nodes.Policy{Labels: "type=fake", Disregard: nodes.Disregard{Annotations: "status=custom"}}})
		require.True(t, r.Plays(ours))
		require.False(t, r.Plays(theirs))
		require.True(t, r.Plays(pod("a", "ours", false)))
		require.True(t, r.Plays(pod("a", "ours", true)))
		require.False(t, r.Plays(pod("a", "theirs", false)))
		require.False(t, r.Plays(pod("a", "theirs", true)), "a kubelet has it")
		for _, everything := range []*nodes.LeaseHolder{r, s.run(nodes.Options{})} {
			require.False(t, everything.Plays(pod("a", "", false)), "no kubelet has it")
			require.False(t, everything.Plays(pod("a", "", true)))
		}

		custom := pod("a", "ours", false)
		custom.SetAnnotations(texts{"status": "custom"})
		require.False(t, r.Plays(custom))
		train := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "demo.example.com/v1", "kind": "Train"}}
		require.True(t, r.Plays(train))
		train.SetAnnotations(texts{"status": "custom"})
		require.False(t, r.Plays(train))
	})
}

func TestPodsFollowTheirNodes(t *testing.T) {
	play(t, func(s *scene) {
		r := s.run(nodes.Options{Policy: nodes.Policy{Labels: "type=fake"}})
		p := pod("a", "n", false)
		steps := []struct {
			what  string
			do    func()
			plays bool
		}{
			{"before the Node is there", func() {}, false},
			{"it comes", func() { s.create(node("n", texts{"type": "fake"}, nil)) }, true},
			{"its label goes", func() { s.patch(nodeKind, "", "n", `{"metadata": {"labels": {"type": null}}}`) }, false},
			{"its label comes back", func() { s.patch(nodeKind, "", "n", `{"metadata": {"labels": {"type": "fake"}}}`) }, true},
			{"it vanishes", func() { s.remove(nodeKind, "", "n") }, false},
			{"it comes back", func() { s.create(node("n", texts{"type": "fake"}, nil)) }, true},
		}
		for _, step := range steps {
			time.Sleep(time.Second)
			before := s.calls.Load()
			step.do()
			require.Equal(t, step.plays, r.Plays(p), step.what)
			if step.what != steps[0].what {
				require.Equal(t, before+1, s.calls.Load(), "%s: it is told of once", step.what)
			}
		}
	})
}

func TestPodsOfNodesThatVanished(t *testing.T) {
	cases := []struct {
		name   string
		policy nodes.Policy
		want   bool // a Pod on the Node "gone" that is being deleted, before the lease holder has seen the Node vanish
		after  bool // and after it has
	}{
		{"all", nodes.Policy{}, true, true},
		{"by name", nodes.Policy{Names: []string{"gone"}}, true, true},
		{"other names", nodes.Policy{Names: []string{"other"}}, false, false},
		{"by label", nodes.Policy{Labels: "type=fake"}, false, true},
		{"other labels", nodes.Policy{Labels: "type=real"}, false, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			play(t, func(s *scene) {
				early, err := nodes.New(s.cluster, nodes.Options{Policy: c.policy})
				require.NoError(t, err)
				require.False(t, early.Plays(pod("a", "gone", true)), "nothing is known of Nodes yet")
				r := s.run(nodes.Options{Policy: c.policy})
				require.Equal(t, c.want, r.Plays(pod("a", "gone", true)))
				s.create(node("gone", texts{"type": "fake"}, nil))
				s.remove(nodeKind, "", "gone")
				require.Equal(t, c.after, r.Plays(pod("a", "gone", true)))
				require.False(t, r.Plays(pod("a", "gone", false)), "nothing runs on a Node that is not there")
			})
		})
	}
}

func TestOnlySoManyNodesThatVanishedAreRemembered(t *testing.T) {
	play(t, func(s *scene) {
		r := s.run(nodes.Options{Policy: nodes.Policy{Labels: "type=fake"}})
		for i := range 10_001 {
			name := fmt.Sprint("n", i)
			s.create(node(name, texts{"type": "fake"}, nil))
			s.remove(nodeKind, "", name)
		}
		require.False(t, r.Plays(pod("a", "n0", true)))
		require.True(t, r.Plays(pod("a", "n1", true)))
		require.True(t, r.Plays(pod("a", "n10000", true)))
	})
}

func TestNodesThatVanishUnseenAreFound(t *testing.T) {
	play(t, func(s *scene) {
		s.cluster = memory.New(memory.Options{History: 1})
		gate := &gated{Cluster: s.cluster}
		s.create(node("a", nil, nil))
		s.create(node("b", nil, nil))
		r := s.runOn(gate, nodes.Options{Failed: func(error) {}})
		gate.shut(errors.New("connection refused"))
		s.remove(nodeKind, "", "a")
		for i := range 5 {
			s.create(node(fmt.Sprint("c", i), nil, nil))
		}
		time.Sleep(10 * time.Second)
		require.True(t, r.Plays(pod("p", "a", false)), "it does not know")
		require.False(t, r.Plays(pod("p", "c1", false)))
		gate.shut(nil)
		time.Sleep(time.Minute)
		require.False(t, r.Plays(pod("p", "a", false)))
		require.True(t, r.Plays(pod("p", "b", false)))
		require.True(t, r.Plays(pod("p", "c1", false)))
	})
}

// A gated cluster can be shut: requests fail, and watches end.
type gated struct {
	*memory.Cluster
	mu      sync.Mutex
	err     error
	slow    time.Duration // answers to updates come so much later
	watches []watch.Interface
}

func (g *gated) shut(err error) {
	g.mu.Lock()
	g.err = err
	for _, w := range g.watches {
		w.Stop()
	}
	g.watches = nil
	g.mu.Unlock()
	synctest.Wait()
}

func (g *gated) fault() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

func (g *gated) List(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	if err := g.fault(); err != nil {
		return nil, err
	}
	return g.Cluster.List(ctx, kind, namespace, o)
}

func (g *gated) Watch(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (watch.Interface, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err != nil {
		return nil, g.err
	}
	w, err := g.Cluster.Watch(ctx, kind, namespace, o)
	if err == nil {
		g.watches = append(g.watches, w)
	}
	return w, err
}

func (g *gated) Get(ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName) (*unstructured.Unstructured, error) {
	if err := g.fault(); err != nil {
		return nil, err
	}
	return g.Cluster.Get(ctx, kind, name)
}

func (g *gated) Create(ctx context.Context, obj *unstructured.Unstructured, o metav1.CreateOptions) (*unstructured.Unstructured, error) {
	if err := g.fault(); err != nil {
		return nil, err
	}
	return g.Cluster.Create(ctx, obj, o)
}

func (g *gated) Update(ctx context.Context, obj *unstructured.Unstructured, o metav1.UpdateOptions, subresources ...string) (*unstructured.Unstructured, error) {
	if err := g.fault(); err != nil {
		return nil, err
	}
	defer time.Sleep(g.slow)
	return g.Cluster.Update(ctx, obj, o, subresources...)
}
