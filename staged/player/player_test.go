package player_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/kubestellar"
	"github.com/stagecraft-go/stagecraft/staged/player"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

var _ player.Transport = (*memory.Cluster)(nil)

// The kinds on the hub.
var (
	stagedPolicyKind  = v1alpha1.GroupVersion.WithKind(v1alpha1.Kind)
	bindingPolicyKind = control.GroupVersion.WithKind("BindingPolicy")
	workStatusKind    = control.GroupVersion.WithKind("WorkStatus")
)

// twoStages is the stage dev, then prod, with more fields of dev. A condition among them replaces the
// usual one.
func twoStages(fields string) string {
	if !strings.Contains("\n"+fields, "\n    condition:") {
		fields = "    condition: num('sum') == 1\n" + fields
	}
	return `apiVersion: community.kubestellar.io/v1alpha1
kind: StagedBindingPolicy
metadata: {name: s}
spec:
  downsync: [{statusCollectors: [agg], objectSelectors: [{matchLabels: {app: web}}]}]
  stages:
  - name: dev
    clusterSelectors: [{matchLabels: {env: dev}}]
` + fields + `  - name: prod
    clusterSelectors: [{matchLabels: {env: prod}}]
`
}

// workload is the object that the policy places. It is not on the hub.
var workload = kubestellar.Object{
	Group: "apps", Version: "v1", Resource: "deployments", Namespace: "shop", Name: "web",
	Labels: map[string]string{"app": "web"}, ResourceVersion: "1",
}

// A hub is a cluster on which KubeStellar works when a test says so.
type hub struct {
	t          *testing.T
	cluster    *memory.Cluster
	clusters   map[string]map[string]string // the labels of the clusters that receive workload
	available  map[string]int64             // replicas, by cluster; absent: not reported
	collectors map[string]*kubestellar.Collector
	policies   map[string]*control.BindingPolicy // on the hub, when KubeStellar worked last
	status     v1alpha1.Status                   // of the StagedBindingPolicy, after the last turn

	fail   func(verb, name string) error // nil: nothing fails
	events player.Creator
	works  player.Reader
	trace  func(player.TraceEvent)
}

func newHub(t *testing.T, text string) *hub {
	sum := "returned.status.availableReplicas"
	agg, err := kubestellar.Compile(control.StatusCollectorSpec{
		CombinedFields: []control.NamedAggregator{{Name: "sum", Type: "SUM", Subject: &sum}},
	})
	require.NoError(t, err)
	h := &hub{t: t, available: map[string]int64{}, collectors: map[string]*kubestellar.Collector{"agg": agg},
		clusters: map[string]map[string]string{
			"dev1":  {"env": "dev", "name": "dev1"},
			"prod1": {"env": "prod", "name": "prod1"},
			"prod2": {"env": "prod", "name": "prod2"},
		},
		cluster: memory.New(memory.Options{Kinds: []memory.Kind{
			{GroupVersionKind: bindingPolicyKind, Resource: "bindingpolicies", ClusterScoped: true},
			{GroupVersionKind: control.GroupVersion.WithKind("Binding"), ClusterScoped: true},
			{GroupVersionKind: control.GroupVersion.WithKind("CombinedStatus"), Resource: "combinedstatuses"},
			{GroupVersionKind: workStatusKind, Resource: "workstatuses"},
		}}),
	}
	require.NoError(t, h.cluster.Load(t.Context(), []byte(v1alpha1.CRD()+"\n---\n"+text)))
	return h
}

// exist returns the names of the BindingPolicies.
func (h *hub) exist() []string { return slices.Sorted(maps.Keys(h.policies)) }

// holds reports whether a condition of the StagedBindingPolicy is true.
func (h *hub) holds(condition string) bool {
	return meta.IsStatusConditionTrue(h.status.Conditions, condition)
}

// Create fails when a test says so.
func (h *hub) Create(ctx context.Context, obj *unstructured.Unstructured, o metav1.CreateOptions) (*unstructured.Unstructured, error) {
	if err := h.failure("create", obj.GetName()); err != nil {
		return nil, err
	}
	return h.cluster.Create(ctx, obj, o)
}

// Patch fails when a test says so.
func (h *hub) Patch(ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName, t types.PatchType, data []byte, o metav1.PatchOptions, sub ...string) (*unstructured.Unstructured, error) {
	if err := h.failure("patch", name.Name); err != nil {
		return nil, err
	}
	return h.cluster.Patch(ctx, kind, name, t, data, o, sub...)
}

func (h *hub) failure(verb, name string) error {
	if h.fail == nil {
		return nil
	}
	return h.fail(verb, name)
}

// transport is the hub as the player sees it.
type transport struct {
	player.Reader
	*hub
}

func (tr transport) Delete(ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName, o metav1.DeleteOptions) error {
	return tr.cluster.Delete(ctx, kind, name, o)
}

func (tr transport) Create(ctx context.Context, obj *unstructured.Unstructured, o metav1.CreateOptions) (*unstructured.Unstructured, error) {
	return tr.hub.Create(ctx, obj, o)
}

// kubestellar brings Bindings and CombinedStatuses up to date.
func (h *hub) kubestellar() {
	list, err := h.cluster.List(h.t.Context(), bindingPolicyKind, "", metav1.ListOptions{})
	require.NoError(h.t, err)
	h.policies = map[string]*control.BindingPolicy{}
	for _, item := range list.Items {
		p := new(control.BindingPolicy)
		require.NoError(h.t, runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, p))
		h.policies[p.Name] = p
	}
	for _, name := range h.exist() {
		b, err := kubestellar.Resolve(h.policies[name], kubestellar.Inventory{Objects: []kubestellar.Object{workload}, Clusters: h.clusters})
		require.NoError(h.t, err)
		h.put(b)
		if s, ok := kubestellar.Combine(kubestellar.Upstream, h.input(b)); ok {
			s.OwnerReferences = nil // the workload is not on this hub
			h.put(s)
		}
	}
}

// input is what the clusters of a Binding report.
func (h *hub) input(b *control.Binding) kubestellar.Input {
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": workload.Name, "namespace": workload.Namespace, "uid": "uid-web"},
	}}
	in := kubestellar.Input{
		Binding: b, Object: obj, Resource: workload.Resource, Collectors: h.collectors, Reports: map[string]kubestellar.Report{},
	}
	for cluster, n := range h.available {
		in.Reports[cluster] = kubestellar.Report{Status: map[string]any{"availableReplicas": n}}
	}
	return in
}

func (h *hub) put(obj any) {
	fields, ok := obj.(map[string]any)
	if !ok {
		var err error
		fields, err = runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
		require.NoError(h.t, err)
	}
	u := &unstructured.Unstructured{Object: fields}
	u.SetCreationTimestamp(metav1.Time{})
	_, err := h.cluster.Create(h.t.Context(), u, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		old, getErr := h.cluster.Get(h.t.Context(), u.GroupVersionKind(), types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()})
		require.NoError(h.t, getErr)
		u.SetResourceVersion(old.GetResourceVersion())
		u.SetUID(old.GetUID())
		_, err = h.cluster.Update(h.t.Context(), u, metav1.UpdateOptions{})
	}
	require.NoError(h.t, err)
}

// play runs a player while the test does something, and stops it.
func (h *hub) play(do func()) {
	ctx, stop := context.WithCancel(h.t.Context())
	done := make(chan error)
	go func() {
		done <- player.Play(ctx, transport{h.cluster, h}, player.Options{Events: h.events, Trace: h.trace, WorkStatuses: h.works})
	}()
	do()
	stop()
	require.ErrorIs(h.t, <-done, context.Canceled)
}

// turn lets a second pass, in which KubeStellar and the player do their work.
func (h *hub) turn() {
	time.Sleep(500 * time.Millisecond)
	synctest.Wait()
	h.kubestellar()
	time.Sleep(500 * time.Millisecond)
	synctest.Wait()
	obj, err := h.cluster.Get(h.t.Context(), stagedPolicyKind, types.NamespacedName{Name: "s"})
	require.NoError(h.t, err)
	var sbp v1alpha1.StagedBindingPolicy
	require.NoError(h.t, runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &sbp))
	h.status = sbp.Status
	h.kubestellar()
}

func TestPlayer(t *testing.T) {
	for _, tc := range []struct {
		name string
		run  func(*hub)
	}{
		{"moves the workload", func(h *hub) {
			h.play(func() {
				h.turn()
				h.turn()
				require.Equal(t, []string{"s.stage.dev"}, h.exist())
				h.available = map[string]int64{"dev1": 1}
				for range 4 {
					h.turn()
				}
			})
		}},
		{"goes on after a restart at every step", func(h *hub) {
			h.available = map[string]int64{"dev1": 1}
			for range 8 {
				h.play(h.turn)
			}
		}},
		{"survives writes that fail", func(h *hub) {
			h.available = map[string]int64{"dev1": 1}
			n := 0
			h.fail = func(verb, name string) error {
				if n++; n%2 == 1 {
					return apierrors.NewConflict(schema.GroupResource{}, name, fmt.Errorf("write %d", n))
				}
				return nil
			}
			h.play(func() {
				for range 12 {
					h.turn()
				}
			})
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHub(t, twoStages(""))
				tc.run(h)
				require.Equal(t, []string{"s.stage.prod"}, h.exist())
				require.Equal(t, "prod", h.status.ActiveStage)
				require.True(t, h.holds("Succeeded"))
			})
		})
	}
}

func TestPlayerKeepsASoakOverARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, twoStages("    soak: 1m\n"))
		h.available = map[string]int64{"dev1": 1}
		h.play(func() { h.turn(); h.turn() })
		since := h.status.Stages[0].SatisfiedSince
		require.NotNil(t, since)
		h.play(func() {
			h.turn()
			require.True(t, since.Equal(h.status.Stages[0].SatisfiedSince))
			time.Sleep(57 * time.Second)
			h.turn()
			require.Equal(t, "prod", h.status.ActiveStage, "the player wakes by itself")
		})
	})
}

// told are the reasons and messages of the Events on the hub, in order.
func (h *hub) told() (told []string) {
	list, err := h.cluster.List(h.t.Context(), schema.GroupVersionKind{Version: "v1", Kind: "Event"}, metav1.NamespaceDefault, metav1.ListOptions{FieldSelector: "involvedObject.kind=" + v1alpha1.Kind + ",involvedObject.name=s"})
	require.NoError(h.t, err)
	for _, e := range list.Items {
		told = append(told, fmt.Sprint(e.Object["type"], " ", e.Object["reason"], ": ", e.Object["message"]))
	}
	return told
}

func TestPlayerWritesEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, twoStages(""))
		h.events = h.cluster
		h.available = map[string]int64{"dev1": 1}
		h.play(func() {
			for range 6 {
				h.turn()
			}
		})
		require.Equal(t, []string{
			`Normal StageStarted: stage "dev"`,
			`Normal BindingPolicyCreated: created BindingPolicy s.stage.dev`,
			`Normal StageSatisfied: stage "dev" is satisfied`,
			`Normal StageStarted: stage "prod"`,
			`Normal BindingPolicyCreated: created BindingPolicy s.stage.prod`,
			`Normal Succeeded: stage "prod" is the last`,
			`Normal BindingPolicyDeleted: deleted BindingPolicy s.stage.dev`,
		}, h.told())
		h.play(func() { h.turn(); h.turn() })
		require.Len(t, h.told(), 7, "a restart tells nothing twice")
	})
}

type noEvents struct{}

func (noEvents) Create(context.Context, *unstructured.Unstructured, metav1.CreateOptions) (*unstructured.Unstructured, error) {
	return nil, errors.New("forbidden")
}

func TestEventsThatFailDoNotStopAPlayer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, twoStages(""))
		h.events = noEvents{}
		failures := 0
		h.trace = func(e player.TraceEvent) {
			if e.Err != nil {
				require.EqualError(t, e.Err, "forbidden")
				failures++
			}
		}
		h.available = map[string]int64{"dev1": 1}
		h.play(func() {
			for range 6 {
				h.turn()
			}
		})
		require.True(t, h.holds("Succeeded"))
		require.Equal(t, 7, failures)
	})
}

// work puts what a cluster says of the workload into the inventory and transport space.
func (h *hub) work(cluster string, applied bool) {
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": control.Group + "/" + control.Version, "kind": "WorkStatus",
		"metadata":      map[string]any{"namespace": cluster, "name": "appsv1-deployment-shop-web"},
		"spec":          map[string]any{"sourceRef": map[string]any{"group": "apps", "version": "v1", "resource": "deployments", "kind": "Deployment", "namespace": "shop", "name": "web"}},
		"statusDetails": map[string]any{"lastGeneration": int64(2), "lastGenerationIsApplied": applied},
	}}
	h.put(obj.Object)
}

func TestPlayerReadsWorkStatuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, twoStages("    condition: num('sum') >= 1\n    guards: {allowErrors: true}\n"))
		h.works = h.cluster
		h.clusters["dev2"] = map[string]string{"env": "dev", "name": "dev2"}
		h.available = map[string]int64{"dev1": 1, "dev2": 1}
		h.work("dev1", true)
		h.play(func() {
			wait := func(late string) {
				h.turn()
				h.turn()
				require.Equal(t, "dev", h.status.ActiveStage)
				require.Equal(t, "no status of the bound workload from "+late, h.status.Stages[0].Message)
			}
			h.turn()
			wait("dev2")
			h.work("dev2", false)
			wait("dev2")
			require.NoError(t, h.cluster.Delete(t.Context(), workStatusKind, types.NamespacedName{Namespace: "dev1", Name: "appsv1-deployment-shop-web"}, metav1.DeleteOptions{}))
			wait("dev1, dev2")
			h.work("dev2", true)
			wait("dev1")
		})
		h.work("dev1", true)
		h.play(func() {
			h.turn()
			h.turn()
			require.Equal(t, "prod", h.status.ActiveStage, "a restart knows them too")
		})
	})
}

// Nobody tells a Player that the clusters have changed: it asks.
func TestPlayerAsksForClusters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, twoStages("    maxConcurrency: 1\n"))
		var known atomic.Pointer[map[string]map[string]string]
		known.Store(new(map[string]map[string]string))
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			done <- player.Play(ctx, transport{h.cluster, h}, player.Options{Clusters: func() map[string]map[string]string { return *known.Load() }})
		}()
		h.turn()
		require.Empty(t, h.exist())
		require.True(t, h.holds("Stalled"))
		known.Store(&h.clusters)
		time.Sleep(10 * time.Second)
		h.turn()
		require.Equal(t, []string{"s.stage.dev.1"}, h.exist())
		stop()
		require.ErrorIs(t, <-done, context.Canceled)
	})
}

func TestPlayerBringsAnEditToThePolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, twoStages(""))
		h.play(func() {
			h.turn()
			_, err := h.cluster.Patch(t.Context(), stagedPolicyKind, types.NamespacedName{Name: "s"}, types.JSONPatchType,
				[]byte(`[{"op": "remove", "path": "/spec/stages/0/clusterSelectors"}]`), metav1.PatchOptions{})
			require.NoError(t, err)
			h.turn()
			require.Empty(t, h.policies["s.stage.dev"].Spec.ClusterSelectors)
		})
	})
}

// version is that of the StagedBindingPolicy.
func (h *hub) version() string {
	obj, err := h.cluster.Get(h.t.Context(), stagedPolicyKind, types.NamespacedName{Name: "s"})
	require.NoError(h.t, err)
	return obj.GetResourceVersion()
}

func TestPlayerTellsOfFaultsInTheStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, twoStages(""))
		set := func(condition string) {
			_, err := h.cluster.Patch(t.Context(), stagedPolicyKind, types.NamespacedName{Name: "s"}, types.JSONPatchType,
				[]byte(`[{"op": "replace", "path": "/spec/stages/0/condition", "value": "`+condition+`"}]`), metav1.PatchOptions{})
			require.NoError(t, err)
		}
		set("nums('sum') == 1")
		h.play(func() {
			h.turn()
			require.Empty(t, h.exist())
			require.True(t, h.holds("Stalled"))
			require.Contains(t, h.status.Conditions[0].Message, "undeclared reference to 'nums'")
			set("num('sum') == 1")
			h.turn()
			require.False(t, h.holds("Stalled"))
			set("num('sum') = 1")
			h.turn()
			require.True(t, h.holds("Stalled"))
			written := h.version()
			h.turn()
			h.turn()
			require.Equal(t, written, h.version(), "and not told again and again")
			h.available = map[string]int64{"dev1": 1}
			for range 4 {
				h.turn()
			}
			require.Equal(t, []string{"s.stage.prod"}, h.exist(), "the last good version is still at work")
		})
	})
}

// A silent reader returns neither results nor errors.
type silent struct{ lists bool }

func (s silent) List(context.Context, schema.GroupVersionKind, string, metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	if s.lists {
		return &unstructured.UnstructuredList{Object: map[string]any{"metadata": map[string]any{"resourceVersion": "1"}}}, nil
	}
	return nil, nil
}

func (silent) Watch(context.Context, schema.GroupVersionKind, string, metav1.ListOptions) (watch.Interface, error) {
	return nil, nil
}

func TestPlayerSurvivesReadersThatAnswerNothing(t *testing.T) {
	for _, lists := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			h := newHub(t, twoStages("    condition: num('sum') >= 1\n"))
			h.works = silent{lists}
			var failures int
			h.trace = func(e player.TraceEvent) {
				if e.Err != nil && strings.Contains(e.Err.Error(), "neither a result nor an error") {
					failures++
				}
			}
			h.play(func() { time.Sleep(time.Minute) })
			require.Positive(t, failures)
		})
	}
}
