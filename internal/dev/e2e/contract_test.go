package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/dev/contract"
	"github.com/stagecraft-go/stagecraft/stage/kube"
)

// TestContract runs the scenarios of package contract on the real server.
func TestContract(t *testing.T) {
	cluster := newCluster(t)
	define(t, cluster, contract.Definitions)
	contract.Run(t, func(*testing.T) contract.Server { return cluster })
}

// define creates CustomResourceDefinitions and waits until their kinds are served.
func define(t *testing.T, cluster *kube.Cluster, manifest string) {
	t.Helper()
	for _, crd := range decode(t, manifest) {
		_, err := cluster.Create(t.Context(), crd, metav1.CreateOptions{})
		require.NoError(t, err)
		eventually(t, crd.GetName()+" is established", func() bool {
			got, err := cluster.Get(t.Context(), crd.GroupVersionKind(), types.NamespacedName{Name: crd.GetName()})
			return err == nil && condition(got, "Established") == "True" && served(t, cluster, crd)
		})
	}
}
