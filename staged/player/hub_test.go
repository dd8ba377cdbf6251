package player_test

import (
	"context"
	"maps"
	"slices"
	"strings"
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

	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/transport"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/kubestellar"
	"github.com/stagecraft-go/stagecraft/staged/player"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

var _ transport.Transport = (*memory.Cluster)(nil)

// The kinds on the hub.
var (
	stagedPolicyKind  = v1alpha1.GroupVersion.WithKind(v1alpha1.Kind)
	bindingPolicyKind = control.GroupVersion.WithKind("BindingPolicy")
	workStatusKind    = control.GroupVersion.WithKind("WorkStatus")
)

// twoStages is the stage dev, then prod, with more fields of dev. A condition among them replaces
// the usual one.
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
	events transport.Creator
	works  transport.Reader
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

// hubTransport is the hub as the player sees it.
type hubTransport struct {
	transport.Reader
	*hub
}

func (tr hubTransport) Delete(ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName, o metav1.DeleteOptions) error {
	return tr.cluster.Delete(ctx, kind, name, o)
}

func (tr hubTransport) Create(ctx context.Context, obj *unstructured.Unstructured, o metav1.CreateOptions) (*unstructured.Unstructured, error) {
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
		done <- player.Play(ctx, hubTransport{h.cluster, h}, player.Options{Events: h.events, Trace: h.trace, WorkStatuses: h.works})
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
