package cliutils_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/kstatus/cliutils"
	"github.com/stagecraft-go/stagecraft/kstatus/wait"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// TestTransport waits through client-go's dynamic client, here its fake one, which sends what
// changes. internal/dev/e2e does it with a real server.
func TestTransport(t *testing.T) {
	node := parse(t, `{apiVersion: v1, kind: Node, metadata: {name: node}, status: {conditions: [{type: Ready, status: "True"}]}}`)
	node.SetNamespace("")
	pod := parse(t, `{apiVersion: v1, kind: Pod, metadata: {name: web}, status: {phase: Pending}}`)
	client := cluster(pod, node)
	refs := []wait.Ref{wait.RefOf(pod), wait.RefOf(node)}
	policy := wait.Policy{Goal: wait.Goal{Timeout: time.Minute}, Options: wait.Options{Interval: 10 * time.Millisecond}, Observe: func(_ *wait.Collector, s wait.State) {
		if s.Ref.Name != "web" || s.Result.Status != kstatus.InProgress {
			return
		}
		ready := parse(t, `{apiVersion: v1, kind: Pod, metadata: {name: web}, status: {phase: Running, conditions: [{type: Ready, status: "True"}]}}`)
		_, err := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).Namespace("default").Update(context.Background(), ready, metav1.UpdateOptions{})
		require.NoError(t, err)
	}}
	polled := struct{ transport.Lister }{cliutils.NewTransport(client, mapper())}
	require.NoError(t, wait.For(t.Context(), polled, refs, policy))
}

// late is a mapper that knows nothing until it is reset.
type late struct {
	meta.RESTMapper
	resets *int
}

func (l late) Reset() { *l.resets++ }

func (l late) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	if *l.resets == 0 {
		return nil, &meta.NoKindMatchError{GroupKind: kind, SearchedVersions: versions}
	}
	return l.RESTMapper.RESTMapping(kind, versions...)
}

func TestKindsThatAreDefinedLate(t *testing.T) {
	resets := 0
	transport := cliutils.NewTransport(cluster(), late{mapper(), &resets})
	var list *unstructured.UnstructuredList
	list, err := transport.List(t.Context(), schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, "default", metav1.ListOptions{})
	require.NoError(t, err)
	require.Empty(t, list.Items)
	require.Equal(t, 1, resets)
	_, err = transport.Watch(t.Context(), schema.GroupVersionKind{Group: "x.com", Version: "v1", Kind: "X"}, "default", metav1.ListOptions{})
	require.True(t, meta.IsNoMatchError(err))
}

// TestDefinition reads the definition of a kind, as package wait does.
func TestDefinition(t *testing.T) {
	crd := parse(t, `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: cakes.bakery.example.com}}`)
	crd.SetNamespace("")
	reader, ok := cliutils.NewTransport(cluster(crd), mapper()).(kstatus.DefinitionReader)
	require.True(t, ok)
	for kind, found := range map[schema.GroupVersionKind]bool{
		{Group: "bakery.example.com", Version: "v1", Kind: "Cake"}:     true,
		{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"}: false,
		{Group: "apps", Version: "v1", Kind: "Deployment"}:             false,
	} {
		got, err := reader.Definition(t.Context(), kind)
		require.NoError(t, err)
		require.Equal(t, found, got != nil, kind)
	}
	_, err := reader.Definition(t.Context(), schema.GroupVersionKind{Group: "x.com", Version: "v1", Kind: "X"})
	require.True(t, meta.IsNoMatchError(err))
}
