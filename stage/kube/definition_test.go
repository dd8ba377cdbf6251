package kube_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/stage/kube"
)

var _ kstatus.DefinitionReader = (*kube.Cluster)(nil)

func TestDefinition(t *testing.T) {
	definitions := schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
	metrics := schema.GroupVersionKind{Group: "metrics.k8s.io", Version: "v1beta1", Kind: "PodMetrics"}
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, kind := range []schema.GroupVersionKind{definitions, widgets, metrics, nodes} {
		mapper.Add(kind, meta.RESTScopeRoot)
	}
	client := fake.NewSimpleDynamicClient(runtime.NewScheme(), object(definitions, "", "widgets.example.com"))
	c := kube.New(client, mapper)

	crd, err := c.Definition(t.Context(), widgets)
	require.NoError(t, err)
	require.Equal(t, "widgets.example.com", crd.GetName())
	for _, kind := range []schema.GroupVersionKind{metrics, nodes} {
		crd, err = c.Definition(t.Context(), kind)
		require.NoError(t, err)
		require.Nil(t, crd, kind)
	}
	_, err = c.Definition(t.Context(), schema.GroupVersionKind{Group: "a.example.com", Version: "v1", Kind: "Nothing"})
	require.Error(t, err)
}
