package stage

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestDrawsAreWhatTracesRecorded(t *testing.T) {
	k := &kind{GroupVersionKind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}}
	obj := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{
		"namespace": "default", "name": "web", "uid": "u1", "creationTimestamp": "2006-01-02T15:04:05Z",
	}}}
	d := entry(k.identity(42, obj, time.Date(2006, 1, 2, 15, 5, 7, 0, time.UTC)), 300)
	require.Equal(t, []uint64{0xe53cb84746b970be, 0xcb92ecbde6baeec6, 0x5314b61ad44c12ff}, []uint64{d.choice(), d.delay("ready"), d.effects("ready")})
}

func TestAge(t *testing.T) {
	now := time.Date(2006, 1, 2, 15, 4, 5, 999_999_999, time.UTC)
	for created, want := range map[any]uint64{
		nil: 0, "": 0, 1: 0, "yesterday": 0, "2006-01-02T15:04:05Z": 0, "2006-01-02T15:04:04Z": 1, "2006-01-02T14:04:05+02:00": 3 * 3600,
		"2006-01-02T15:04:06Z": 0, "9999-01-02T15:04:06Z": 0, "2005-01-02T15:04:05Z": 365 * 24 * 3600,
	} {
		require.Equal(t, want, age(map[string]any{"creationTimestamp": created}, now), "%v", created)
	}
	require.Zero(t, age(nil, now))
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
	k := &kind{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "PersistentVolumeClaim"}}
	obj := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{
		"namespace": "default", "name": "data-web-0", "uid": "7a0b2c5e-9a1c-4f7e-8d0b-2f4a5c6e7d80", "creationTimestamp": "2006-01-02T15:04:05Z",
	}}}
	now := time.Date(2006, 1, 2, 15, 5, 7, 0, time.UTC)
	for b.Loop() {
		entry(k.identity(1, obj, now), 0).delay("pvc-provision")
	}
}
