package memory_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

var podOfNode = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}

// podNames lists Pods by a field selector.
func podNames(t testing.TB, c *memory.Cluster, namespace, selector string) (names []string) {
	list, err := c.List(t.Context(), podOfNode, namespace, metav1.ListOptions{FieldSelector: selector})
	require.NoError(t, err)
	for _, p := range list.Items {
		names = append(names, p.GetNamespace()+"/"+p.GetName())
	}
	return names
}

// TestListsOfANodeAreThoseOfAScan compares lists of the Pods of a node with lists whose selector says the
// same in a way that has no index.
func TestListsOfANodeAreThoseOfAScan(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	c := memory.New(memory.Options{})
	for i := range 600 {
		name := types.NamespacedName{Namespace: fmt.Sprint("ns", r.IntN(2)), Name: fmt.Sprint("p", r.IntN(150))}
		node := []string{"", `, spec: {nodeName: n0}`, `, spec: {nodeName: n1}`}[r.IntN(3)]
		if _, err := c.Get(t.Context(), podOfNode, name); err == nil {
			require.NoError(t, c.Delete(t.Context(), podOfNode, name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
		} else {
			require.NoError(t, c.Load(t.Context(), fmt.Appendf(nil, "{apiVersion: v1, kind: Pod, metadata: {name: %s, namespace: %s}%s}", name.Name, name.Namespace, node)))
		}
		if i == 400 {
			c = c.Fork()
		}
		for _, namespace := range []string{"", "ns0"} {
			want := podNames(t, c, namespace, "spec.nodeName!=,spec.nodeName!=n1")
			require.Equal(t, want, podNames(t, c, namespace, "spec.nodeName=n0"))
			require.Equal(t, podNames(t, c, namespace, "spec.nodeName!=n0,spec.nodeName!=n1"), podNames(t, c, namespace, "spec.nodeName="))
		}
	}
}

// BenchmarkListOfANode lists the 100 Pods of one of 100 nodes, while Pods come and go.
func BenchmarkListOfANode(b *testing.B) {
	c := memory.New(memory.Options{})
	load := func(i, node int) {
		require.NoError(b, c.Load(b.Context(), fmt.Appendf(nil, "{apiVersion: v1, kind: Pod, metadata: {name: p%d}, spec: {nodeName: n%d}}", i, node)))
	}
	for i := range 10_000 {
		load(i, i%100)
	}
	b.ReportAllocs()
	i := 10_000
	for b.Loop() {
		load(i, 200)
		i++
		require.Len(b, podNames(b, c, "", "spec.nodeName=n7"), 100)
	}
}
