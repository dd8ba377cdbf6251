package memory_test

import (
	"errors"
	"testing"
	"time"

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

func TestAForkWithAnotherClockAndReview(t *testing.T) {
	ctx := t.Context()
	configMap := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	at := func(year int) func() time.Time {
		return func() time.Time { return time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC) }
	}
	one := memory.New(memory.Options{Now: at(2001)})
	one.Extend(memory.Hooks{Name: "admission", Review: func(*memory.Review) error { return errors.New("refused") }})
	other := one.ForkAs(memory.Options{Now: at(2002), Seed: 1})
	other.Extend(memory.Hooks{Name: "admission"})
	require.Error(t, one.Load(ctx, []byte(`{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`)))
	require.NoError(t, other.Load(ctx, []byte(`{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`)))
	obj, err := other.Get(ctx, configMap, types.NamespacedName{Namespace: "default", Name: "a"})
	require.NoError(t, err)
	require.Equal(t, 2002, obj.GetCreationTimestamp().Year())
	require.Equal(t, 2001, one.ForkAs(memory.Options{}).Now().Year())
}

func TestAllObjects(t *testing.T) {
	c := memory.New(memory.Options{})
	require.NoError(t, c.Load(t.Context(), []byte(`{apiVersion: v1, kind: Secret, metadata: {name: c}}
---
{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: h}, spec: {maxReplicas: 2, scaleTargetRef: {kind: Deployment, name: d}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`)))
	var names []string
	for obj := range c.All() {
		names = append(names, obj.GetName())
	}
	require.Equal(t, []string{"a", "b", "h", "c"}, names)
	for obj := range c.All() {
		require.Equal(t, "a", obj.GetName())
		break
	}
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
