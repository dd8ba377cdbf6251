package controllers_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/clustertest"
)

func TestADefinitionIsCurrent(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{})
	c.Load(clustertest.Manifest("definition"))
	c.Settle()
	kind := schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
	crd, err := c.Cluster().Get(t.Context(), kind, types.NamespacedName{Name: "gadgets.example.com"})
	require.NoError(t, err)
	for profile, rules := range map[string]*kstatus.Rules{"standard": kstatus.Standard(), "extended": kstatus.Extended()} {
		require.Equal(t, kstatus.Current, rules.Compute(crd, c.Now()).Status, "%s: %v", profile, crd.Object["status"])
	}
}
