package memory_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

func TestForksGoTheirOwnWays(t *testing.T) {
	ctx := t.Context()
	configMap := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	owner, child := types.NamespacedName{Namespace: "default", Name: "owner"}, types.NamespacedName{Namespace: "default", Name: "child"}
	one := memory.New(memory.Options{})
	require.NoError(t, one.Load(ctx, []byte(`{apiVersion: v1, kind: ConfigMap, metadata: {name: owner}}`)))
	obj, err := one.Get(ctx, configMap, owner)
	require.NoError(t, err)
	require.NoError(t, one.Load(ctx, []byte(`{apiVersion: v1, kind: ConfigMap, metadata: {name: child, ownerReferences: [
		{apiVersion: v1, kind: ConfigMap, name: owner, uid: `+string(obj.GetUID())+`}]}}`)))

	other := one.Fork()
	require.NoError(t, other.Delete(ctx, configMap, owner, metav1.DeleteOptions{}))
	_, err = other.Get(ctx, configMap, child)
	require.True(t, apierrors.IsNotFound(err), "the fork knows who owns whom")
	_, err = one.Get(ctx, configMap, child)
	require.NoError(t, err)

	_, err = one.Patch(ctx, configMap, owner, types.MergePatchType, []byte(`{"data": {"a": "1"}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	_, err = other.Get(ctx, configMap, owner)
	require.True(t, apierrors.IsNotFound(err))
}

func TestAForkGoesOnWhereItsOriginWas(t *testing.T) {
	ctx := t.Context()
	text := []byte(`{apiVersion: v1, kind: ConfigMap, metadata: {generateName: a-}}`)
	configMaps := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	one := memory.New(memory.Options{Seed: 3})
	require.NoError(t, one.Load(ctx, text))
	other := one.Fork()
	require.NoError(t, one.Load(ctx, text))
	require.NoError(t, other.Load(ctx, text))
	want, err := one.List(ctx, configMaps, "", metav1.ListOptions{})
	require.NoError(t, err)
	got, err := other.List(ctx, configMaps, "", metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, got.Items, 2)
	for i := range got.Items {
		got.Items[i].SetCreationTimestamp(want.Items[i].GetCreationTimestamp())
	}
	require.Equal(t, want, got)
	feed, err := other.Feed(configMaps, "", metav1.ListOptions{ResourceVersion: "1"})
	require.NoError(t, err)
	e, ok := feed.Next()
	require.True(t, ok)
	require.True(t, apierrors.IsResourceExpired(apierrors.FromObject(e.Object)))
}
