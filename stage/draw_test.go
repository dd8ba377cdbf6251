package stage

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestDrawsAreWhatTracesRecorded(t *testing.T) {
	d := entry(Key{Group: "apps", Kind: "Deployment", Namespace: "default", Name: "web"}.identity(42), 300)
	require.Equal(t, []uint64{0x3736cbbb58da5ee2, 0xc203c0e671744e85, 0xa8239f3590ed7206}, []uint64{d.choice(), d.delay("ready"), d.effects("ready")})
}

func TestKeyOfReadsWhatUnstructuredReads(t *testing.T) {
	for _, fields := range []map[string]any{
		nil, {},
		{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"namespace": "default", "name": "web"}},
		{"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": "n", "uid": "u"}},
		{"apiVersion": "a/b/c", "kind": "X", "metadata": map[string]any{"name": int64(1), "namespace": nil}},
		{"apiVersion": 1.5, "kind": "X", "metadata": []any{}},
	} {
		obj := &unstructured.Unstructured{Object: fields}
		gvk := obj.GroupVersionKind()
		require.Equal(t, Key{gvk.Group, gvk.Version, gvk.Kind, obj.GetNamespace(), obj.GetName()}, KeyOf(obj), "%v", fields)
		key, uid := (&kind{GroupVersionKind: gvk}).identify(obj)
		require.Equal(t, KeyOf(obj), key)
		require.Equal(t, obj.GetUID(), uid)
	}
}

func BenchmarkDraw(b *testing.B) {
	k := Key{Version: "v1", Kind: "PersistentVolumeClaim", Namespace: "default", Name: "data-web-0"}
	for b.Loop() {
		entry(k.identity(1), 0).delay("pvc-provision")
	}
}
