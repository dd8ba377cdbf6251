package e2e_test

import (
	"context"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/polling/engine"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/kstatus/cliutils"
)

const cakeDefinition = `{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "cakes.bakery.example.com"},
  "spec": {"group": "bakery.example.com", "scope": "Namespaced", "names": {"kind": "Cake", "plural": "cakes"}, "versions": [{"name": "v1", "served": true, "storage": true,
    "subresources": {"status": {}}, "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}}`

// TestHelmWithOurRules installs a chart with a custom resource on a lab, with Helm's own packages:
// Helm alone goes on before anything has happened, with our rules it waits until the controller says
// so, and a basis can be demanded.
func TestHelmWithOurRules(t *testing.T) {
	config, err := clientcmd.BuildConfigFromFlags("", startLab(t).kubeconfig)
	require.NoError(t, err)
	config.QPS = -1
	client := dynamic.NewForConfigOrDie(config)
	definition := &unstructured.Unstructured{}
	require.NoError(t, definition.UnmarshalJSON([]byte(cakeDefinition)))
	_, err = client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}).Create(t.Context(), definition, metav1.CreateOptions{})
	require.NoError(t, err)
	getter := helmCluster{config, "default"}
	mapper, err := getter.ToRESTMapper()
	require.NoError(t, err)
	cakes := client.Resource(schema.GroupVersionResource{Group: "bakery.example.com", Version: "v1", Resource: "cakes"}).Namespace("default")

	install := func(name string, readers ...engine.StatusReader) error {
		configuration := action.NewConfiguration()
		require.NoError(t, configuration.Init(getter, "default", "memory"))
		install := action.NewInstall(configuration)
		install.ReleaseName, install.Namespace, install.Timeout, install.WaitStrategy = name, "default", 5*time.Second, kube.StatusWatcherStrategy
		install.WaitOptions = []kube.WaitOption{kube.WithKStatusReaders(readers...)}
		_, err := install.RunWithContext(t.Context(), &chart.Chart{
			Metadata:  &chart.Metadata{Name: "chart", Version: "0.1.0", APIVersion: "v2"},
			Templates: []*common.File{{Name: "templates/cake.yaml", Data: []byte("apiVersion: bakery.example.com/v1\nkind: Cake\nmetadata: {name: " + name + "}\n")}},
		}, map[string]any{})
		return err
	}
	bake := func(name string) {
		require.Eventually(t, func() bool {
			_, err := cakes.Patch(context.WithoutCancel(t.Context()), name, types.MergePatchType, []byte(`{"status":{"phase":"Baked","conditions":[{"type":"Available","status":"True"}]}}`), metav1.PatchOptions{}, "status")
			return err == nil
		}, 5*time.Second, 50*time.Millisecond)
	}

	require.NoError(t, install("alone"), "Helm alone takes a new object for ready")
	err = install("waits", cliutils.NewStatusReader(mapper, cliutils.Options{}))
	require.ErrorContains(t, err, "Nothing has reported a status yet")
	go bake("baked")
	require.NoError(t, install("baked", cliutils.NewStatusReader(mapper, cliutils.Options{})))
	go bake("certain")
	err = install("certain", cliutils.NewStatusReader(mapper, cliutils.Options{Basis: kstatus.BasisConvention}))
	require.ErrorContains(t, err, "Held, it rests on Words")
}
