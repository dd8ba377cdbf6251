package controllers_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/kstatus"
)

const gadgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  names: {kind: Gadget, listKind: GadgetList, plural: gadgets, singular: gadget}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`

func TestADefinitionIsCurrent(t *testing.T) {
	l := newLab(t, setting{})
	l.load(gadgets)
	l.settle()
	kind := schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
	crd, err := l.sim.Cluster().Get(t.Context(), kind, types.NamespacedName{Name: "gadgets.example.com"})
	require.NoError(t, err)
	for profile, rules := range map[string]*kstatus.Rules{"standard": kstatus.Standard(), "extended": kstatus.Extended()} {
		require.Equal(t, kstatus.Current, rules.Compute(crd, l.sim.Now()).Status, "%s: %v", profile, crd.Object["status"])
	}
}
