package e2e_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/polling"
	"github.com/fluxcd/cli-utils/pkg/kstatus/polling/engine"
	"github.com/fluxcd/cli-utils/pkg/kstatus/polling/event"
	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/fluxcd/cli-utils/pkg/object"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/kube"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stagecraft-go/stagecraft/kstatus/cliutils"
	"github.com/stagecraft-go/stagecraft/kstatus/wait"
)

// A helmCluster is how Helm finds the control plane of the tests.
type helmCluster struct {
	*rest.Config
	namespace string
}

var _ genericclioptions.RESTClientGetter = helmCluster{}

func (h helmCluster) ToRESTConfig() (*rest.Config, error) { return rest.CopyConfig(h.Config), nil }

func (h helmCluster) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	d, err := discovery.NewDiscoveryClientForConfig(h.Config)
	return memory.NewMemCacheClient(d), err
}

func (h helmCluster) ToRESTMapper() (meta.RESTMapper, error) {
	d, err := h.ToDiscoveryClient()
	return restmapper.NewDeferredDiscoveryRESTMapper(d), err
}

func (h helmCluster) ToRawKubeConfigLoader() clientcmd.ClientConfig {
	overrides := &clientcmd.ConfigOverrides{Context: clientcmdapi.Context{Namespace: h.namespace}}
	return clientcmd.NewDefaultClientConfig(clientcmdapi.Config{}, overrides)
}

// defineHelmKind defines a kind. Only the test writes the status of its objects.
func defineHelmKind(t *testing.T, group, kind, plural string) schema.GroupVersionKind {
	c := newCluster(t)
	definition := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": plural + "." + group},
		"spec": map[string]any{
			"group": group, "scope": "Namespaced", "names": map[string]any{"kind": kind, "plural": plural},
			"versions": []any{map[string]any{
				"name": "v1alpha1", "served": true, "storage": true, "subresources": map[string]any{"status": map[string]any{}},
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
			}},
		},
	}}
	_, err := c.Create(t.Context(), definition, metav1.CreateOptions{})
	require.NoError(t, err)
	ref := wait.RefOf(definition)
	require.NoError(t, waitFor(t, c, wait.Policy{}, ref).requireEnd())
	return schema.GroupVersionKind{Group: group, Version: "v1alpha1", Kind: kind}
}

// helmInstall is `helm install --wait` of a chart with one object.
func helmInstall(t *testing.T, namespace, manifest string, timeout time.Duration, readers ...engine.StatusReader) error {
	getter := helmCluster{plane.Config(), namespace}
	configuration := action.NewConfiguration()
	require.NoError(t, configuration.Init(getter, namespace, "memory"))
	install := action.NewInstall(configuration)
	install.ReleaseName, install.Namespace, install.Timeout = "release", namespace, timeout
	install.WaitStrategy = kube.StatusWatcherStrategy
	install.WaitOptions = []kube.WaitOption{kube.WithKStatusReaders(readers...)}
	_, err := install.RunWithContext(t.Context(), &chart.Chart{
		Metadata:  &chart.Metadata{Name: "chart", Version: "0.1.0", APIVersion: "v2"},
		Templates: []*common.File{{Name: "templates/object.yaml", Data: []byte(manifest)}},
	}, map[string]any{})
	return err
}

func helmMapper(t *testing.T) meta.RESTMapper {
	mapper, err := helmCluster{plane.Config(), "default"}.ToRESTMapper()
	require.NoError(t, err)
	return mapper
}

// setStatus writes a status as the controller of an object would, once the object is there.
func setStatus(t *testing.T, kind schema.GroupVersionKind, name types.NamespacedName, status string) {
	c := newCluster(t)
	require.Eventually(t, func() bool {
		_, err := c.Patch(context.WithoutCancel(t.Context()), kind, name, types.MergePatchType, []byte(`{"status":`+status+`}`), metav1.PatchOptions{}, "status")
		return err == nil
	}, time.Minute, 100*time.Millisecond)
}

func newHelmNamespace(t *testing.T, name string) string {
	namespace := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}}
	_, err := newCluster(t).Create(t.Context(), namespace, metav1.CreateOptions{})
	require.NoError(t, err)
	return name
}

// TestHelmWaitsForWhatNobodyHasSeen is https://github.com/helm/helm/issues/32268 through Helm's own
// packages: Helm ends at once, although no controller has seen the object.
func TestHelmWaitsForWhatNobodyHasSeen(t *testing.T) {
	t.Parallel()
	namespace := newHelmNamespace(t, "helm-unseen")
	kind := defineHelmKind(t, "unseen.helm.example.com", "Cake", "cakes")
	manifest := func(name string) string {
		return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: %s}\nspec: {}\n", kind.GroupVersion(), kind.Kind, name)
	}
	require.NoError(t, helmInstall(t, namespace, manifest("early"), time.Minute), "Helm's own rules call it ready at once")
	require.NoError(t, newCluster(t).Delete(t.Context(), kind, types.NamespacedName{Namespace: namespace, Name: "early"}, metav1.DeleteOptions{}))

	reader := cliutils.NewStatusReader(helmMapper(t), cliutils.Options{})
	err := helmInstall(t, namespace, manifest("waits"), 10*time.Second, reader)
	require.ErrorContains(t, err, "status: InProgress, message: Nothing has reported a status yet")

	reported := make(chan struct{})
	go func() {
		defer close(reported)
		time.Sleep(2 * time.Second)
		setStatus(t, kind, types.NamespacedName{Namespace: namespace, Name: "done"}, `{"conditions":[{"type":"Ready","status":"True"}]}`)
	}()
	began := time.Now()
	require.NoError(t, helmInstall(t, namespace, manifest("done"), time.Minute, reader))
	require.GreaterOrEqual(t, time.Since(began), 2*time.Second)
	<-reported
}

// TestHelmEndsForARollout is https://github.com/helm/helm/issues/32615: the observedGeneration of an
// Argo Rollout is a text, at which Helm's rules fail.
func TestHelmEndsForARollout(t *testing.T) {
	t.Parallel()
	namespace := newHelmNamespace(t, "helm-rollout")
	kind := defineHelmKind(t, "argoproj.io", "Rollout", "rollouts")
	const healthy = `{"observedGeneration":"1","phase":"Healthy","replicas":1,"readyReplicas":1,"updatedReplicas":1,"availableReplicas":1,
		"conditions":[{"type":"Available","status":"True"},{"type":"Progressing","status":"True","reason":"NewReplicaSetAvailable"}]}`
	install := func(name string, timeout time.Duration, readers ...engine.StatusReader) error {
		reported := make(chan struct{})
		go func() {
			defer close(reported)
			setStatus(t, kind, types.NamespacedName{Namespace: namespace, Name: name}, healthy)
		}()
		defer func() { <-reported }()
		manifest := fmt.Sprintf("apiVersion: argoproj.io/v1alpha1\nkind: Rollout\nmetadata: {name: %s}\nspec: {replicas: 1}\n", name)
		return helmInstall(t, namespace, manifest, timeout, readers...)
	}
	require.NoError(t, install("ours", time.Minute, cliutils.NewStatusReader(helmMapper(t), cliutils.Options{})))
	// Helm's own wait is not shown here: whether it sees the object before its status is chance, and
	// then it ends at once. kstatus/cliutils has its verdict on the healthy Rollout: Unknown.
}

// TestFluxPolls with the poller of Flux, which asks our reader for the kinds that it supports.
func TestFluxPolls(t *testing.T) {
	t.Parallel()
	namespace := newHelmNamespace(t, "flux-polls")
	kind := defineHelmKind(t, "flux.example.com", "Cake", "cakes")
	cake := &unstructured.Unstructured{Object: map[string]any{}}
	cake.SetGroupVersionKind(kind)
	cake.SetNamespace(namespace)
	cake.SetName("cake")
	_, err := newCluster(t).Create(t.Context(), cake, metav1.CreateOptions{})
	require.NoError(t, err)

	c, err := client.New(plane.Config(), client.Options{Mapper: helmMapper(t)})
	require.NoError(t, err)
	first := func(readers ...engine.StatusReader) (statuses []status.Status) {
		poller := polling.NewStatusPoller(c, helmMapper(t), polling.Options{CustomStatusReaders: readers})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		id := object.UnstructuredToObjMetadata(cake)
		for e := range poller.Poll(ctx, object.ObjMetadataSet{id}, polling.PollOptions{PollInterval: 100 * time.Millisecond}) {
			if e.Type != event.ResourceUpdateEvent {
				continue
			}
			require.NoError(t, e.Resource.Error)
			if statuses = append(statuses, e.Resource.Status); e.Resource.Status == status.CurrentStatus {
				cancel()
				continue
			}
			setStatus(t, kind, types.NamespacedName{Namespace: namespace, Name: "cake"}, `{"phase":"Ready"}`)
		}
		return statuses
	}
	require.Equal(t, []status.Status{status.CurrentStatus}, first(), "Flux's own rules call it ready at once")
	require.Equal(t, []status.Status{status.InProgressStatus, status.CurrentStatus}, first(cliutils.NewStatusReader(helmMapper(t), cliutils.Options{})))
}

// TestWaitOverTheDynamicClient waits through the transport of kstatus/cliutils, without stage/kube,
// for an object of a kind that is defined later.
func TestWaitOverTheDynamicClient(t *testing.T) {
	t.Parallel()
	namespace := newHelmNamespace(t, "dynamic-waits")
	dynamicClient, err := dynamic.NewForConfig(plane.Config())
	require.NoError(t, err)
	kind := schema.GroupVersionKind{Group: "dynamic.example.com", Version: "v1alpha1", Kind: "Cake"}
	ref := wait.Ref{Kind: kind, Namespace: namespace, Name: "cake"}
	w := waitFor(t, cliutils.NewTransport(dynamicClient, helmMapper(t)), wait.Policy{}, ref, wait.Ref{Kind: schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, Name: namespace})
	defineHelmKind(t, kind.Group, kind.Kind, "cakes")
	cake := &unstructured.Unstructured{Object: map[string]any{}}
	cake.SetGroupVersionKind(kind)
	cake.SetNamespace(namespace)
	cake.SetName("cake")
	_, err = newCluster(t).Create(t.Context(), cake, metav1.CreateOptions{})
	require.NoError(t, err)
	setStatus(t, kind, types.NamespacedName{Namespace: namespace, Name: "cake"}, `{"phase":"Ready"}`)
	require.NoError(t, w.requireEnd())
}
