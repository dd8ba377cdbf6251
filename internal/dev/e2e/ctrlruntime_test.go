package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/kstatus/wait"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/kube"
	"github.com/stagecraft-go/stagecraft/stage/kube/ctrlruntime"
	"github.com/stagecraft-go/stagecraft/stage/player"
	"github.com/stagecraft-go/stagecraft/stage/presets"
)

// A requestCounter counts the watches that are open at the same time, by the last word of their
// path. A server may end a watch, which is then opened again.
type requestCounter struct {
	http.RoundTripper
	mu         *sync.Mutex
	open, most map[string]int
}

func (m requestCounter) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := m.RoundTripper.RoundTrip(r)
	if q := r.URL.Query().Get("watch"); err == nil && q != "" && q != "false" {
		path := strings.Split(r.URL.Path, "/")
		resource := path[len(path)-1]
		m.add(resource, 1)
		response.Body = closing{response.Body, sync.OnceFunc(func() { m.add(resource, -1) })}
	}
	return response, err
}

func (m requestCounter) add(resource string, n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.open[resource] += n
	m.most[resource] = max(m.most[resource], m.open[resource])
}

// A closing body reports its close.
type closing struct {
	io.ReadCloser
	closed func()
}

func (c closing) Close() error {
	c.closed()
	return c.ReadCloser.Close()
}

// newManager returns a manager that serves nothing, and a meter of its requests.
func newManager(t *testing.T, config *rest.Config, o manager.Options) (manager.Manager, requestCounter) {
	t.Helper()
	m := requestCounter{mu: &sync.Mutex{}, open: map[string]int{}, most: map[string]int{}}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		m := m
		m.RoundTripper = next
		return m
	})
	o.Metrics = metricsserver.Options{BindAddress: "0"}
	o.Controller.SkipNameValidation = new(true)
	mgr, err := manager.New(config, o)
	require.NoError(t, err)
	return mgr, m
}

// start runs a manager until the test ends, or until stop is called.
func start(t *testing.T, mgr manager.Manager) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		assert.NoError(t, <-done)
	})
	t.Cleanup(stop)
	return stop
}

// A playedCounts counts the effects that a player has sent, by the name of the object.
type playedCounts struct {
	mu     sync.Mutex
	played map[string]int
}

func (l *playedCounts) trace(e stage.TraceEvent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.played == nil {
		l.played = map[string]int{}
	}
	if e.Kind == stage.TraceEffected && !e.NoOp {
		l.played[fmt.Sprint(e.Key.Name, " ", e.Stage, " ", e.Index)]++
	}
}

func (l *playedCounts) all() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, times := range l.played {
		n += times
	}
	return n
}

// requireOnce checks that nothing was done twice.
func (l *playedCounts) requireOnce(t *testing.T) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for what, times := range l.played {
		require.Equal(t, 1, times, what)
	}
}

func createPods(t *testing.T, cluster *kube.Cluster, namespace string, n int, labels string) (refs []wait.Ref) {
	t.Helper()
	for i := range n {
		name := fmt.Sprint("p", i)
		create(t, cluster, fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {name: %s, namespace: %s, labels: {%s}},
  spec: {nodeName: nowhere, containers: [{name: c, image: i}]}}`, name, namespace, labels))
		refs = append(refs, refTo(podKind, namespace, name))
	}
	return refs
}

// TestManagerPlays plays Nodes, Pods and a kind without Go types, which is defined late, through
// the cache of a manager, and waits for them through the same cache.
func TestManagerPlays(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	create(t, cluster, "{apiVersion: v1, kind: Namespace, metadata: {name: manager}}")
	mgr, meter := newManager(t, plane.Config(), manager.Options{})
	kind := schema.GroupVersionKind{Group: "managed.example.com", Version: "v1", Kind: "Sprocket"}
	set, err := stage.Compile(stage.Options{}, presets.NodeFast(), presets.PodGeneral(), markStage(kind, ""))
	require.NoError(t, err)
	var done playedCounts
	ours := player.Selection{Labels: "manager=ours"}
	_, err = ctrlruntime.Play(mgr, set, player.Options{
		Select: map[schema.GroupVersionKind]player.Selection{podKind: ours, nodeKind: ours}, MaxRetryAfter: time.Second, Trace: done.trace,
	})
	require.NoError(t, err)
	seen, err := ctrlruntime.ForManager(mgr)
	require.NoError(t, err)
	stop := start(t, mgr)

	createNode(t, cluster, "{apiVersion: v1, kind: Node, metadata: {name: managed, labels: {manager: ours}}}")
	createNode(t, cluster, "{apiVersion: v1, kind: Node, metadata: {name: unmanaged}}")
	create(t, cluster, "{apiVersion: v1, kind: Pod, metadata: {name: theirs, namespace: manager}, spec: {nodeName: nowhere, containers: [{name: c, image: i}]}}")
	refs := append(createPods(t, cluster, "manager", 10, "manager: ours"), refTo(nodeKind, "", "managed"))
	late := waitFor(t, seen, wait.Policy{}, append(refs, refTo(kind, "manager", "a"))...)
	late.requireState("a", kstatus.NotFound, "NoKind")
	define(t, cluster, fmt.Sprintf(sprockets, "managed"))
	create(t, cluster, sprocket("managed", "manager", "a"))
	require.NoError(t, late.requireEnd())
	eventually(t, "the sprocket is marked", func() bool { return countMarked(t, cluster, kind, "manager") == 1 })
	redefine(t, cluster, fmt.Sprintf(sprockets, "managed"))
	create(t, cluster, sprocket("managed", "manager", "b"))
	eventually(t, "the new sprocket is marked", func() bool { return countMarked(t, cluster, kind, "manager") == 1 })

	require.Equal(t, "", condition(get(t, cluster, nodeKind, "", "unmanaged"), "Ready"))
	require.Equal(t, "Pending", phase(t, cluster, "manager", "theirs"))

	for _, ref := range refs[:10] {
		require.NoError(t, cluster.Delete(t.Context(), podKind, types.NamespacedName{Namespace: "manager", Name: ref.Name}, metav1.DeleteOptions{GracePeriodSeconds: new(int64(2))}))
	}
	require.NoError(t, waitFor(t, seen, wait.Policy{Goal: wait.Goal{Status: kstatus.NotFound}}, refs[:10]...).requireEnd())
	stop()
	done.requireOnce(t)
	require.Equal(t, map[string]int{"pods": 1, "nodes": 1, "sprockets": 1}, meter.most, "one watch for all that ask")
}

// redefine has a kind vanish, and come back.
func redefine(t *testing.T, cluster *kube.Cluster, manifest string) {
	t.Helper()
	crd := decode(t, manifest)[0]
	require.NoError(t, cluster.Delete(t.Context(), crd.GroupVersionKind(), nameOf(crd), metav1.DeleteOptions{}))
	eventually(t, "the definition is gone", func() bool {
		_, err := cluster.Get(t.Context(), crd.GroupVersionKind(), nameOf(crd))
		return apierrors.IsNotFound(err)
	})
	define(t, cluster, manifest)
}

func get(t *testing.T, cluster *kube.Cluster, kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	t.Helper()
	obj, err := cluster.Get(t.Context(), kind, types.NamespacedName{Namespace: namespace, Name: name})
	require.NoError(t, err)
	return obj
}

// TestManagersHandOver has two managers. One leads and plays, until it stops and gives up its
// Lease. Then the other one plays, long before the Lease ends.
func TestManagersHandOver(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	create(t, cluster, "{apiVersion: v1, kind: Namespace, metadata: {name: leaders}}")
	var lives [2]playedCounts
	var stops [2]func()
	var leads [2]<-chan struct{}
	for i := range lives {
		mgr, _ := newManager(t, plane.Config(), manager.Options{
			LeaderElection: true, LeaderElectionID: "leaders", LeaderElectionNamespace: "leaders", LeaderElectionReleaseOnCancel: true,
			LeaseDuration: new(2 * time.Minute), RenewDeadline: new(time.Minute), RetryPeriod: new(time.Second / 2),
			Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{"leaders": {}}},
		})
		_, err := ctrlruntime.Play(mgr, stage.MustCompile(presets.PodFast()), player.Options{Namespace: "leaders", Trace: lives[i].trace})
		require.NoError(t, err)
		leads[i], stops[i] = mgr.Elected(), start(t, mgr)
	}
	first := 0
	select {
	case <-leads[0]:
	case <-leads[1]:
		first = 1
	case <-time.After(timeout):
		require.FailNow(t, "nobody leads")
	}
	refs := createPods(t, cluster, "leaders", 10, "")
	require.NoError(t, waitFor(t, cluster, wait.Policy{}, refs...).requireEnd())
	eventually(t, "the last effect is traced", func() bool { return lives[first].all() == len(refs) })
	require.Zero(t, lives[1-first].all())
	stops[first]()
	lives[first].requireOnce(t)
	select {
	case <-leads[1-first]:
	case <-time.After(timeout):
		require.FailNow(t, "the other does not lead")
	}

	create(t, cluster, "{apiVersion: v1, kind: Pod, metadata: {name: next, namespace: leaders}, spec: {nodeName: nowhere, containers: [{name: c, image: i}]}}")
	require.NoError(t, waitFor(t, cluster, wait.Policy{}, refTo(podKind, "leaders", "next")).requireEnd())
	eventually(t, "the last effect is traced", func() bool { return lives[1-first].all() > 0 })
	stops[1-first]()
	require.Len(t, lives[first].played, len(refs))
	require.Equal(t, map[string]int{"next pod-ready 2": 1}, lives[1-first].played, "what the first has done is not done again")
}

// TestReconcilerInAController plays Pods in a reconcile loop, once with reads of the server and
// once with reads of the cache, which are often stale after writes.
func TestReconcilerInAController(t *testing.T) {
	t.Parallel()
	for _, namespace := range []string{"reconcile-live", "reconcile-cached"} {
		t.Run(namespace, func(t *testing.T) {
			t.Parallel()
			cluster := newCluster(t)
			create(t, cluster, "{apiVersion: v1, kind: Namespace, metadata: {name: "+namespace+"}}")
			mgr, _ := newManager(t, plane.Config(), manager.Options{
				Cache:  cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
				Client: client.Options{Cache: &client.CacheOptions{Unstructured: true}},
			})
			reads, err := ctrlruntime.ForManager(mgr)
			require.NoError(t, err)
			if namespace == "reconcile-cached" {
				reads = ctrlruntime.New(mgr.GetClient())
			}
			var done playedCounts
			var failures atomic.Int64
			trace := func(e stage.TraceEvent) {
				if e.Kind == stage.TraceFailed && !errors.Is(e.Err, context.Canceled) { // as the manager stops
					t.Log(e.Err)
					failures.Add(1)
				}
				done.trace(e)
			}
			r := ctrlruntime.NewReconciler(reads, stage.MustCompile(presets.PodGeneral()), podKind, ctrlruntime.ReconcilerOptions{Trace: trace})
			pod := &unstructured.Unstructured{}
			pod.SetGroupVersionKind(podKind)
			require.NoError(t, builder.ControllerManagedBy(mgr).Named(namespace).WithOptions(controller.Options{MaxConcurrentReconciles: 3}).For(pod).Complete(r))
			stop := start(t, mgr)
			refs := createPods(t, cluster, namespace, 6, "")
			require.NoError(t, waitFor(t, cluster, wait.Policy{}, refs...).requireEnd())
			for _, ref := range refs {
				require.NoError(t, cluster.Delete(t.Context(), podKind, types.NamespacedName{Namespace: namespace, Name: ref.Name}, metav1.DeleteOptions{GracePeriodSeconds: new(int64(2))}))
			}
			require.NoError(t, waitFor(t, cluster, wait.Policy{Goal: wait.Goal{Status: kstatus.NotFound}}, refs...).requireEnd())
			stop()
			require.Zero(t, failures.Load())
			done.requireOnce(t)
		})
	}
}

// TestManagerMayNotRead waits through the cache of a manager for an object that its user must not
// read, until the user may read it. The cache itself would report nothing.
func TestManagerMayNotRead(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	create(t, cluster, "{apiVersion: v1, kind: Namespace, metadata: {name: unread}}")
	create(t, cluster, "{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: unread}}")
	create(t, cluster, "{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: unread}}")
	create(t, cluster, `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: unread},
  rules: [{apiGroups: [''], resources: [configmaps], verbs: [get, list, watch]}]}`)
	create(t, cluster, `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: unread},
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: unread},
		subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: managing}]}`)
	config := plane.Config()
	config.Impersonate = rest.ImpersonationConfig{UserName: "managing"}
	mgr, _ := newManager(t, config, manager.Options{})
	seen, err := ctrlruntime.ForManager(mgr)
	require.NoError(t, err)
	start(t, mgr)
	w := waitFor(t, seen, wait.Policy{}, refTo(secretKind, "unread", "a"), refTo(configMapKind, "unread", "b"))
	w.requireState("b", kstatus.Current, "")
	require.ErrorContains(t, w.requireState("a", kstatus.Unknown, "Forbidden").Err, `User "managing" cannot list resource "secrets"`)
	_, err = cluster.Patch(t.Context(), schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"}, types.NamespacedName{Name: "unread"},
		types.JSONPatchType, []byte(`[{"op": "add", "path": "/rules/0/resources/-", "value": "secrets"}]`), metav1.PatchOptions{})
	require.NoError(t, err)
	require.NoError(t, w.requireEnd())
}
