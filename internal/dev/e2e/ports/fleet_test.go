package ports

import (
	"context"
	"reflect"
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
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/stage/kube"
	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/staged/control"
	"github.com/stagecraft-go/stagecraft/staged/kubestellar"
	"github.com/stagecraft-go/stagecraft/staged/player"
	"github.com/stagecraft-go/stagecraft/staged/v1alpha1"
)

var stagedKind = v1alpha1.GroupVersion.WithKind(v1alpha1.Kind)

const policy = `apiVersion: community.kubestellar.io/v1alpha1
kind: StagedBindingPolicy
metadata: {name: s}
spec:
  retention: Keep
  updates: Staged
  revisions: {settle: 2s}
  downsync: [{statusCollectors: [agg], objectSelectors: [{matchLabels: {app: web}}]}]
  stages:
  - {name: dev, clusterSelectors: [{matchLabels: {env: dev}}], condition: num('sum') == size(destinations)}
  - {name: prod, clusterSelectors: [{matchLabels: {env: prod}}], condition: num('sum') == size(destinations), progressDeadlineSeconds: 30, onFailure: Rollback}
`

// A fleet is a hub over HTTP, three clusters, and a Player.
type fleet struct {
	t        *testing.T
	hub      *kube.Cluster
	clusters map[string]map[string]string
	have     map[string]string // the version in each cluster
	bad      string            // cluster@version that does not become ready
	options  player.Options
	agents   func() // of the clusters
	config   *rest.Config
	played   *kube.Cluster // the hub as the Player sees it, which is the user player there
	log      *requestLog   // of the Player
	ticks    int
}

func newFleet(t *testing.T, definitions ...*unstructured.Unstructured) *fleet {
	return newFleetOver(t, apiserver.Options{}, definitions...)
}

func newFleetOver(t *testing.T, o apiserver.Options, definitions ...*unstructured.Unstructured) *fleet {
	store := memory.New(memory.Options{RequireNamespaces: true})
	config := apiserver.Start(t, store, o)
	hub, err := kube.NewForConfig(config)
	require.NoError(t, err)
	f := &fleet{t: t, hub: hub, have: map[string]string{}, clusters: map[string]map[string]string{
		"dev1": {"env": "dev", "name": "dev1"}, "prod1": {"env": "prod", "name": "prod1"}, "prod2": {"env": "prod", "name": "prod2"}}}
	for _, name := range []string{"shop", "argocd", player.SnapshotNamespace, "dev1", "prod1", "prod2"} {
		f.create("{apiVersion: v1, kind: Namespace, metadata: {name: " + name + "}}")
	}
	f.create(v1alpha1.CRD())
	for _, d := range definitions {
		_, err := hub.Create(t.Context(), d, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	f.create(policy)
	f.config = config
	f.noteRequests()
	f.options = player.Options{Clusters: func() map[string]map[string]string { return f.clusters }, Snapshots: player.NewStore(hub),
		Trace: func(e player.TraceEvent) {
			if e.Err != nil && !apierrors.IsConflict(e.Err) {
				t.Log(time.Now().Format("15:04:05"), e.Err)
			}
		}}
	return f
}

func (f *fleet) create(text string) {
	f.t.Helper()
	obj := &unstructured.Unstructured{}
	require.NoError(f.t, yaml.Unmarshal([]byte(text), &obj.Object))
	_, err := f.hub.Create(f.t.Context(), obj, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	require.NoError(f.t, err)
}

// patch merges fields into an object, or into a subresource.
func (f *fleet) patch(kind schema.GroupVersionKind, namespace, name, text string, sub ...string) {
	f.t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(f.t, err)
	_, err = f.hub.Patch(f.t.Context(), kind, types.NamespacedName{Namespace: namespace, Name: name}, types.MergePatchType, raw,
		metav1.PatchOptions{FieldValidation: metav1.FieldValidationStrict}, sub...)
	require.NoError(f.t, err)
}

func (f *fleet) list(kind schema.GroupVersionKind) []unstructured.Unstructured {
	list, err := f.hub.List(f.t.Context(), kind, "", metav1.ListOptions{})
	require.NoError(f.t, err)
	return list.Items
}

func (f *fleet) ready(cluster string) int64 {
	if f.bad == cluster+"@"+f.have[cluster] {
		return 0
	}
	return 1
}

// collector sums a field of the statuses of clusters.
func (f *fleet) collector(subject string) map[string]*kubestellar.Collector {
	c, err := kubestellar.Compile(control.StatusCollectorSpec{CombinedFields: []control.NamedAggregator{{Name: "sum", Type: "SUM", Subject: &subject}}})
	require.NoError(f.t, err)
	return map[string]*kubestellar.Collector{"agg": c}
}

// run lets seconds pass. No cluster that has the workload loses it.
func (f *fleet) run(seconds int) {
	f.t.Helper()
	for range seconds {
		time.Sleep(500 * time.Millisecond)
		synctest.Wait()
		f.agents()
		for c, version := range f.have {
			require.NotEmpty(f.t, version, "%s loses the workload", c)
		}
		time.Sleep(500 * time.Millisecond)
		synctest.Wait()
	}
}

func (f *fleet) status() (s v1alpha1.Status) {
	obj, err := f.hub.Get(f.t.Context(), stagedKind, types.NamespacedName{Name: "s"})
	require.NoError(f.t, err)
	var p v1alpha1.StagedBindingPolicy
	require.NoError(f.t, runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &p))
	return p.Status
}

func (f *fleet) succeeded() bool {
	return meta.IsStatusConditionTrue(f.status().Conditions, "Succeeded")
}

func (f *fleet) message() string { return f.status().Conditions[0].Message }

func (f *fleet) play(do func()) {
	ctx, stop := context.WithCancel(f.t.Context())
	done := make(chan error)
	go func() { done <- player.Play(ctx, f.played, f.options) }()
	defer func() {
		stop()
		<-done
	}()
	do()
}

func versions(dev, prod string) map[string]string {
	return map[string]string{"dev1": dev, "prod1": prod, "prod2": prod}
}

// rollBack rolls out a version, then a bad one, which goes back in prod, then a good one.
func (f *fleet) rollBack(push func(version string)) {
	t := f.t
	push("1")
	f.play(func() {
		f.run(40)
		require.True(t, f.succeeded(), f.message())
		require.True(t, meta.IsStatusConditionTrue(f.status().Conditions, "Verified"))
		require.Equal(t, versions("1", "1"), f.have)
		f.bad = "prod1@2"
		push("2")
		f.run(30)
		require.Equal(t, versions("2", "2"), f.have, f.message())
	})
	f.play(func() { // another Player goes on from what is stored
		f.run(60)
		require.Equal(t, versions("2", "1"), f.have, f.message())
		require.Equal(t, v1alpha1.RolledBack, f.status().Stages[1].Phase, f.message())
		push("3")
		f.run(60)
		require.Equal(t, versions("3", "3"), f.have, f.message())
		require.True(t, f.succeeded(), f.message())
		at := f.status()
		f.run(60)
		require.True(t, reflect.DeepEqual(at, f.status()), "at rest nothing is written")
	})
	t.Log(f.message())
}
