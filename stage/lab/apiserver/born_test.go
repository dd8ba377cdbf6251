package apiserver_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// namesOf returns the names of the objects of a resource, such as v1.configmaps.
func namesOf(t *testing.T, config *rest.Config, resource schema.GroupVersionResource) (names []string) {
	found, err := dynamic.NewForConfigOrDie(config).Resource(resource).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for _, u := range found.Items {
		names = append(names, u.GetName())
	}
	return names
}

// TestWhatAClusterIsBornWith checks the objects of a new server, bare or not.
func TestWhatAClusterIsBornWith(t *testing.T) {
	for name, bare := range map[string]bool{"bare": true, "with the work of controllers": false} {
		t.Run(name, func(t *testing.T) {
			config := apiserver.Start(t, memory.New(memory.Options{RequireNamespaces: true}), apiserver.Options{Bare: bare})
			require.Equal(t, []string{"system-cluster-critical", "system-node-critical"}, namesOf(t, config, schema.GroupVersionResource{Group: "scheduling.k8s.io", Version: "v1", Resource: "priorityclasses"}))
			require.Equal(t, []string{"catch-all", "exempt", "global-default", "leader-election", "node-high", "system", "workload-high", "workload-low"},
				namesOf(t, config, schema.GroupVersionResource{Group: "flowcontrol.apiserver.k8s.io", Version: "v1", Resource: "prioritylevelconfigurations"}))
			require.Equal(t, []string{"catch-all", "exempt", "global-default", "kube-controller-manager", "kube-scheduler", "kube-system-service-accounts", "probes", "service-accounts",
				"system-leader-election", "system-node-high", "system-nodes"}, namesOf(t, config, schema.GroupVersionResource{Group: "flowcontrol.apiserver.k8s.io", Version: "v1", Resource: "flowschemas"}))
			require.Equal(t, []string{"kubernetes"}, namesOf(t, config, schema.GroupVersionResource{Version: "v1", Resource: "endpoints"}))
			require.Equal(t, []string{"kubernetes"}, namesOf(t, config, schema.GroupVersionResource{Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"}))
			apiServices := namesOf(t, config, schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"})
			require.Len(t, apiServices, 21)
			require.Subset(t, apiServices, []string{"v1.", "v1.apps", "v2.autoscaling"})

			c := kubernetes.NewForConfigOrDie(config)
			maps, err := c.CoreV1().ConfigMaps("kube-system").List(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name!=kube-root-ca.crt"})
			require.NoError(t, err)
			require.Empty(t, maps.Items, "without certificates of clients")
			schema, err := c.FlowcontrolV1().FlowSchemas().Get(t.Context(), "probes", metav1.GetOptions{})
			require.NoError(t, err)
			require.Equal(t, `Found: This FlowSchema references the PriorityLevelConfiguration object named "exempt" and it exists`, string(schema.Status.Conditions[0].Reason)+": "+schema.Status.Conditions[0].Message)
		})
	}
}

// TestEndpointsOfTheServer checks where a server says that it listens, and with whose certificates
// clients show who they are.
func TestEndpointsOfTheServer(t *testing.T) {
	listener, err := apiserver.Listen(memory.New(memory.Options{}), apiserver.ListenOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, listener.Close()) })
	c := kubernetes.NewForConfigOrDie(listener.Config())
	e, err := c.DiscoveryV1().EndpointSlices("default").Get(t.Context(), "kubernetes", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"192.0.2.1"}, e.Endpoints[0].Addresses, "not on loopback")
	m, err := c.CoreV1().ConfigMaps("kube-system").Get(t.Context(), "extension-apiserver-authentication", metav1.GetOptions{})
	require.NoError(t, err)
	require.Contains(t, m.Data["client-ca-file"], "BEGIN CERTIFICATE")
}

// TestAggregatedGroups checks the APIServices of definitions, which come and go with them, and what
// requests for a version of another server get.
func TestAggregatedGroups(t *testing.T) {
	cluster := memory.New(memory.Options{})
	require.NoError(t, cluster.Load(t.Context(), []byte(gadgets)))
	config := apiserver.Start(t, cluster, apiserver.Options{Bare: true})
	apiServices := schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
	require.Contains(t, namesOf(t, config, apiServices), "v1.example.com", "the definition was there before")
	definitions := dynamic.NewForConfigOrDie(config).Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	other := definitionOf("widgets", "v1", "v2")
	_, err := definitions.Create(t.Context(), other, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Contains(t, namesOf(t, config, apiServices), "v2.example.com")
	made, err := dynamic.NewForConfigOrDie(config).Resource(apiServices).Get(t.Context(), "v2.example.com", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"group": "example.com", "version": "v2", "groupPriorityMinimum": int64(1000), "versionPriority": int64(100)}, made.Object["spec"])
	require.Equal(t, "true", made.GetLabels()["kube-aggregator.kubernetes.io/automanaged"])
	require.NoError(t, definitions.Delete(t.Context(), "widgets.example.com", metav1.DeleteOptions{}))
	require.NotContains(t, namesOf(t, config, apiServices), "v2.example.com")
	require.Contains(t, namesOf(t, config, apiServices), "v1.example.com", "another definition serves it")

	remote := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": "v1.x.io"},
		"spec": map[string]any{"group": "x.io", "version": "v1", "groupPriorityMinimum": int64(100), "versionPriority": int64(100), "service": map[string]any{"name": "s", "namespace": "default"}}}}
	_, err = dynamic.NewForConfigOrDie(config).Resource(apiServices).Create(t.Context(), remote, metav1.CreateOptions{})
	require.NoError(t, err)
	stored, err := dynamic.NewForConfigOrDie(config).Resource(apiServices).Get(t.Context(), "v1.x.io", metav1.GetOptions{})
	require.NoError(t, err)
	conditions, _, _ := unstructured.NestedSlice(stored.Object, "status", "conditions")
	require.Equal(t, "ServiceNotFound", conditions[0].(map[string]any)["reason"])
	client := kubernetes.NewForConfigOrDie(config).CoreV1().RESTClient()
	for _, path := range []string{"/apis/x.io/v1", "/apis/x.io/v1/things", "/apis/x.io/v1/namespaces/default/things/a"} {
		text, err := client.Get().AbsPath(path).DoRaw(t.Context())
		require.True(t, apierrors.IsServiceUnavailable(err), "%s: %v", path, err)
		require.Equal(t, "service unavailable\n", string(text))
	}
	_, err = client.Get().AbsPath("/apis/z.io/v1/things").DoRaw(t.Context())
	require.True(t, apierrors.IsNotFound(err), err)
}

// definitionOf returns a definition of a kind of example.com, which serves some versions.
func definitionOf(plural string, versions ...string) *unstructured.Unstructured {
	var all []any
	for i, v := range versions {
		all = append(all, map[string]any{"name": v, "served": true, "storage": i == 0, "schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}})
	}
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": plural + ".example.com"},
		"spec": map[string]any{"group": "example.com", "scope": "Namespaced", "names": map[string]any{"kind": "K" + plural, "plural": plural, "singular": plural[:len(plural)-1], "listKind": "K" + plural + "List"}, "versions": all}}}
}
