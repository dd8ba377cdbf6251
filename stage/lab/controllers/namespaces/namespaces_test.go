package namespaces_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/reads"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/namespaces"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

// TestMain compares the fields that the tests read with the table of package features.
func TestMain(m *testing.M) { os.Exit(reads.Main(m)) }

var (
	namespaceKind = schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
	accounts      = schema.GroupVersionKind{Version: "v1", Kind: "ServiceAccount"}
	configMaps    = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	account       = types.NamespacedName{Namespace: "shop", Name: namespaces.ServiceAccount}
	root          = types.NamespacedName{Namespace: "shop", Name: namespaces.ConfigMap}
)

// start returns a simulation with both controllers and two Namespaces.
func start(t *testing.T) (*simulation.Simulation, *memory.Cluster) {
	sim, err := simulation.New(stage.MustCompile(), simulation.Options{Strict: true, Controllers: []reconcile.Controller{namespaces.ServiceAccounts(), namespaces.RootCertificates()}})
	require.NoError(t, err)
	require.NoError(t, sim.Cluster().Load(t.Context(), []byte(`{apiVersion: v1, kind: Namespace, metadata: {name: shop}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: kube-system}}`)))
	settle(t, sim)
	return sim, sim.Cluster()
}

func settle(t *testing.T, sim *simulation.Simulation) {
	t.Helper()
	require.NoError(t, sim.Advance(t.Context(), 0))
	_, more := sim.Next()
	require.False(t, more)
}

func certificate(t *testing.T, c *memory.Cluster) string {
	t.Helper()
	obj, err := c.Get(t.Context(), configMaps, root)
	require.NoError(t, err)
	text, _, err := unstructured.NestedString(obj.Object, "data", "ca.crt")
	require.NoError(t, err)
	return text
}

// TestBothAreMadeAndRestored checks a new Namespace, deletions, and changes of the ConfigMap.
func TestBothAreMadeAndRestored(t *testing.T) {
	sim, c := start(t)
	require.Empty(t, certificate(t, c))
	for kind, name := range map[schema.GroupVersionKind]types.NamespacedName{accounts: account, configMaps: root} {
		before, err := c.Get(t.Context(), kind, name)
		require.NoError(t, err)
		require.NoError(t, c.Delete(t.Context(), kind, name, metav1.DeleteOptions{}))
		settle(t, sim)
		after, err := c.Get(t.Context(), kind, name)
		require.NoError(t, err)
		require.NotEqual(t, before.GetUID(), after.GetUID())
	}
	_, err := c.Patch(t.Context(), configMaps, root, types.MergePatchType, []byte(`{"data":{"ca.crt":"mine","more":"x"}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	settle(t, sim)
	require.Empty(t, certificate(t, c))
}

// TestTheCertificateIsThatOfKubeSystem checks new and old Namespaces.
func TestTheCertificateIsThatOfKubeSystem(t *testing.T) {
	sim, c := start(t)
	require.NoError(t, namespaces.Provision(t.Context(), c, "kube-system", "PEM"))
	settle(t, sim)
	require.Equal(t, "PEM", certificate(t, c))
	require.NoError(t, namespaces.Provision(t.Context(), c, "shop", ""))
	require.Equal(t, "PEM", certificate(t, c), "without a certificate, the stored one stays")
}

// TestANamespaceThatGoesGetsNothing would not end if the controllers made the objects again.
func TestANamespaceThatGoesGetsNothing(t *testing.T) {
	sim, c := start(t)
	require.NoError(t, c.Delete(t.Context(), namespaceKind, types.NamespacedName{Name: "shop"}, metav1.DeleteOptions{}))
	settle(t, sim)
	_, err := c.Get(t.Context(), namespaceKind, types.NamespacedName{Name: "shop"})
	require.True(t, apierrors.IsNotFound(err), err)
	_, err = c.Get(t.Context(), accounts, account)
	require.True(t, apierrors.IsNotFound(err), err)
}
