package admission_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/admission"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

func create(t *testing.T, c *memory.Cluster, text string) (*unstructured.Unstructured, error) {
	obj := decode(t, text)
	obj.SetNamespace("default")
	return c.Create(t.Context(), obj, metav1.CreateOptions{})
}

func decode(t *testing.T, text string) *unstructured.Unstructured {
	data, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(t, err)
	obj := &unstructured.Unstructured{}
	require.NoError(t, obj.UnmarshalJSON(data))
	return obj
}

func portOf(t *testing.T, service *unstructured.Unstructured) int64 {
	ports, _, err := unstructured.NestedSlice(service.Object, "spec", "ports")
	require.NoError(t, err)
	return ports[0].(map[string]any)["nodePort"].(int64)
}

func withPorts(name string, n int) string {
	text := "{apiVersion: v1, kind: Service, metadata: {name: " + name + "}, spec: {type: NodePort, ports: ["
	for i := range n {
		text += fmt.Sprintf("{name: p%d, port: %d},", i, i+1)
	}
	return text + "]}}"
}

// TestTheRangeOfNodePorts fills the range: first its upper part, then its lower one.
func TestTheRangeOfNodePorts(t *testing.T) {
	c := memory.New(memory.Options{})
	c.Extend(memory.Hooks{Review: admission.NodePorts})
	_, err := create(t, c, withPorts("many", 32767-30086))
	require.NoError(t, err)
	last, err := create(t, c, withPorts("last", 1))
	require.NoError(t, err)
	require.GreaterOrEqual(t, portOf(t, last), int64(30086))
	low, err := create(t, c, withPorts("low", 86))
	require.NoError(t, err)
	require.Less(t, portOf(t, low), int64(30086))
	_, err = create(t, c, withPorts("none", 1))
	require.True(t, apierrors.IsInternalError(err))
	require.ErrorContains(t, err, "range is full")
}

// TestAServiceMayHaveAllNodePorts: each port once, the upper part of the range first. One port more is refused.
func TestAServiceMayHaveAllNodePorts(t *testing.T) {
	c := memory.New(memory.Options{})
	c.Extend(memory.Hooks{Review: admission.NodePorts})
	_, err := create(t, c, withPorts("more", 2769))
	require.ErrorContains(t, err, "range is full")
	all, err := create(t, c, withPorts("all", 2768))
	require.NoError(t, err)
	ports, _, err := unstructured.NestedSlice(all.Object, "spec", "ports")
	require.NoError(t, err)
	seen := map[int64]bool{}
	for i, p := range ports {
		n := p.(map[string]any)["nodePort"].(int64)
		require.Equal(t, i < 2768-86, n >= 30086, "port %d: %d", i, n)
		seen[n] = true
	}
	require.Len(t, seen, 2768)
}

func TestAServiceKeepsItsNodePort(t *testing.T) {
	c := memory.New(memory.Options{})
	c.Extend(memory.Hooks{Review: admission.NodePorts})
	s, err := create(t, c, withPorts("s1", 1))
	require.NoError(t, err)
	name := types.NamespacedName{Namespace: "default", Name: "s1"}
	changed, err := c.Patch(t.Context(), s.GroupVersionKind(), name, types.MergePatchType, []byte(`{"spec": {"ports": [{"name": "p0", "port": 8080}]}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	require.Equal(t, portOf(t, s), portOf(t, changed))
}

// TestARefusedWriteCountsNothing checks that a Pod that one quota refuses is not counted by
// another.
func TestARefusedWriteCountsNothing(t *testing.T) {
	c := memory.New(memory.Options{})
	c.Extend(admission.Hooks())
	for name, status := range map[string]string{"a": `{hard: {pods: "5"}, used: {pods: "0"}}`, "b": `{hard: {pods: "0"}, used: {pods: "0"}}`} {
		q, err := create(t, c, "{apiVersion: v1, kind: ResourceQuota, metadata: {name: "+name+"}}")
		require.NoError(t, err)
		data, err := yaml.YAMLToJSON([]byte("{status: " + status + "}"))
		require.NoError(t, err)
		_, err = c.Patch(t.Context(), q.GroupVersionKind(), types.NamespacedName{Namespace: "default", Name: name}, types.MergePatchType, data, metav1.PatchOptions{}, "status")
		require.NoError(t, err)
	}
	_, err := create(t, c, "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}")
	require.ErrorContains(t, err, `pods "p" is forbidden: exceeded quota: b, requested: pods=1, used: pods=0, limited: pods=0`)
	a, err := c.Get(t.Context(), schema.GroupVersionKind{Version: "v1", Kind: "ResourceQuota"}, types.NamespacedName{Namespace: "default", Name: "a"})
	require.NoError(t, err)
	used, _, _ := unstructured.NestedString(a.Object, "status", "used", "pods")
	require.Equal(t, "0", used)
}
