package kube_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/stagecraft-go/stagecraft/stage/kube"
)

func TestUnknownKindsDoNotHammerDiscovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, mapper, _ := newFake()
		gone := schema.GroupVersionKind{Group: "example.com", Version: "v2", Kind: "Gone"}
		for range 100 {
			_, err := c.List(t.Context(), gone, "", metav1.ListOptions{})
			require.True(t, apierrors.IsNotFound(err), "%v", err)
			time.Sleep(100 * time.Millisecond)
		}
		require.Equal(t, 5, mapper.resets, "in ten seconds")
	})
}

// A slow mapper takes its time over Widgets.
type slow struct {
	meta.RESTMapper
	answer chan struct{}
}

func (s slow) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	if kind == widgets.GroupKind() {
		<-s.answer
	}
	return s.RESTMapper.RESTMapping(kind, versions...)
}

func TestKnownKindsDoNotWaitForDiscovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, mapper, client := newFake()
		answer, done := make(chan struct{}), make(chan error)
		c := kube.New(client, slow{mapper, answer})
		_, err := c.List(t.Context(), nodes, "", metav1.ListOptions{})
		require.NoError(t, err)
		go func() {
			_, err := c.List(t.Context(), widgets, "", metav1.ListOptions{})
			done <- err
		}()
		synctest.Wait()
		_, err = c.List(t.Context(), nodes, "", metav1.ListOptions{})
		require.NoError(t, err)
		close(answer)
		require.True(t, apierrors.IsNotFound(<-done), "this mapper cannot be reset")
	})
}

// vanished is the answer of an API server to requests for a resource that it does not have.
func vanished(client *fake.FakeDynamicClient) (back func()) {
	gone := true
	client.PrependReactor("*", "widgets", func(action clienttesting.Action) (bool, runtime.Object, error) {
		return gone, nil, apierrors.NewGenericServerResponse(http.StatusNotFound, action.GetVerb(), schema.GroupResource{}, "", "404 page not found", 0, true)
	})
	return func() { gone = false }
}

func TestKindsThatVanishAreAskedForAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, mapper, client := newFake()
		_, err := c.List(t.Context(), widgets, "", metav1.ListOptions{})
		require.NoError(t, err)
		require.Equal(t, 1, mapper.resets)

		back := vanished(client)
		for range 3 {
			_, err = c.List(t.Context(), widgets, "", metav1.ListOptions{})
			require.True(t, apierrors.IsNotFound(err), "%v", err)
			require.ErrorContains(t, err, "Kind=Widget is no known kind")
		}
		require.Equal(t, 1, mapper.resets, "too soon")
		time.Sleep(2 * time.Second)
		_, err = c.Get(t.Context(), widgets, types.NamespacedName{Namespace: "shop", Name: "a"})
		require.ErrorContains(t, err, "Kind=Widget is no known kind")
		require.Equal(t, 2, mapper.resets)

		back()
		_, err = c.List(t.Context(), widgets, "", metav1.ListOptions{})
		require.NoError(t, err)
	})
}

func TestObjectsThatAreMissingAreNoKindsThatVanished(t *testing.T) {
	c, mapper, _ := newFake()
	for range 3 {
		_, err := c.Get(t.Context(), nodes, types.NamespacedName{Name: "n"})
		require.EqualError(t, err, `nodes "n" not found`)
	}
	require.Zero(t, mapper.resets)
}

func TestStrategicMergePatchesOfCustomResourcesAreExplained(t *testing.T) {
	c, _, client := newFake()
	client.PrependReactor("patch", "widgets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewGenericServerResponse(http.StatusUnsupportedMediaType, "patch", schema.GroupResource{}, "", "the body of the request was in an unknown format", 0, false)
	})
	at := types.NamespacedName{Namespace: "shop", Name: "a"}
	_, err := c.Patch(t.Context(), widgets, at, types.StrategicMergePatchType, []byte(`{}`), metav1.PatchOptions{})
	require.True(t, apierrors.IsUnsupportedMediaType(err))
	require.ErrorContains(t, err, "a custom resource such as example.com/v1, Kind=Widget takes no strategic merge patch; want type merge or json")
	_, err = c.Patch(t.Context(), widgets, at, types.MergePatchType, []byte(`{}`), metav1.PatchOptions{})
	require.NotContains(t, err.Error(), "custom resource")
}

func TestSubresourcesThatAreMissingAreNamed(t *testing.T) {
	c, mapper, _ := newFake()
	_, err := c.Patch(t.Context(), nodes, types.NamespacedName{Name: "n"}, types.MergePatchType, []byte(`{}`), metav1.PatchOptions{}, "status")
	require.True(t, apierrors.IsNotFound(err))
	require.EqualError(t, err, `nodes "n" not found, or Node has no subresource status`)
	_, err = c.Patch(t.Context(), nodes, types.NamespacedName{Name: "n"}, types.MergePatchType, []byte(`{}`), metav1.PatchOptions{})
	require.EqualError(t, err, `nodes "n" not found`)
	require.Zero(t, mapper.resets)
}
