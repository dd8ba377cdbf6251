package ctrlruntime_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/kstatus/wait"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/kube/ctrlruntime"
	"github.com/stagecraft-go/stagecraft/stage/player"
	"github.com/stagecraft-go/stagecraft/stage/presets"
)

var (
	podKind = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	gone    = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Gone"}
)

// TestPlayOnAFakeClient plays a Pod and waits for it, with controller-runtime's fake client in
// place of a cluster.
func TestPlayOnAFakeClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c := fakeClient(interceptor.Funcs{})
		cluster := ctrlruntime.New(c)
		done := make(chan error)
		go func() {
			done <- player.Play(ctx, stage.MustCompile(presets.PodGeneral()), cluster, player.Options{})
		}()
		time.Sleep(time.Second) // virtual
		pod := job()
		pod.OwnerReferences = nil
		require.NoError(t, c.Create(ctx, pod))
		refs := []wait.Ref{{Kind: podKind, Namespace: web.Namespace, Name: web.Name}}
		require.NoError(t, wait.For(ctx, cluster, refs, wait.Policy{Goal: wait.Goal{Timeout: time.Minute}}))
		require.Equal(t, corev1.PodRunning, phase(t, c))

		require.NoError(t, c.Delete(ctx, pod))
		require.NoError(t, wait.For(ctx, cluster, refs, wait.Policy{Goal: wait.Goal{Status: kstatus.NotFound, Timeout: time.Minute}}))
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
	})
}

func configMap(namespace, name string, labels map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}}
}

var configMaps = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}

func TestRequestsOfAClient(t *testing.T) {
	ctx := t.Context()
	cluster := ctrlruntime.New(fakeClient(interceptor.Funcs{}, configMap("shop", "a", map[string]string{"app": "web"}), configMap("shop", "b", nil), configMap("farm", "c", nil)))
	names := func(namespace string, o metav1.ListOptions) (names []string) {
		list, err := cluster.List(ctx, configMaps, namespace, o)
		require.NoError(t, err)
		for _, item := range list.Items {
			require.Equal(t, configMaps, item.GroupVersionKind())
			names = append(names, item.GetName())
		}
		return names
	}
	require.ElementsMatch(t, []string{"a", "b", "c"}, names("", metav1.ListOptions{}))
	require.ElementsMatch(t, []string{"a", "b"}, names("shop", metav1.ListOptions{}))
	require.Equal(t, []string{"a"}, names("", metav1.ListOptions{LabelSelector: "app=web"}))
	require.Equal(t, []string{"b"}, names("", metav1.ListOptions{FieldSelector: "metadata.name=b"}))
	require.ElementsMatch(t, []string{"a", "b"}, names("", metav1.ListOptions{FieldSelector: "metadata.name!=c"}))

	at := types.NamespacedName{Namespace: "shop", Name: "new"}
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(configMaps)
	obj.SetNamespace(at.Namespace)
	obj.SetName(at.Name)
	before := obj.DeepCopy()
	created, err := cluster.Create(ctx, obj, metav1.CreateOptions{FieldManager: "test"})
	require.NoError(t, err)
	require.Equal(t, before, obj, "what is given is not changed")
	require.NotEmpty(t, created.GetResourceVersion())
	_, err = cluster.Create(ctx, obj, metav1.CreateOptions{})
	require.True(t, apierrors.IsAlreadyExists(err))

	patched, err := cluster.Patch(ctx, configMaps, at, types.MergePatchType, []byte(`{"data": {"k": "1"}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	value, _, _ := unstructured.NestedString(patched.Object, "data", "k")
	require.Equal(t, "1", value)
	_, err = cluster.Patch(ctx, configMaps, at, types.MergePatchType, []byte(`{"metadata": {"resourceVersion": "1"}, "data": {"k": "2"}}`), metav1.PatchOptions{})
	require.True(t, apierrors.IsConflict(err), err)
	_, err = cluster.Update(ctx, created, metav1.UpdateOptions{})
	require.True(t, apierrors.IsConflict(err), err)

	require.NoError(t, cluster.Delete(ctx, configMaps, at, metav1.DeleteOptions{}))
	_, err = cluster.Get(ctx, configMaps, at)
	require.True(t, apierrors.IsNotFound(err))
}

func TestNamespacesOfClusterScopedKindsAreIgnored(t *testing.T) {
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Node"), meta.RESTScopeRoot)
	cluster := ctrlruntime.New(fake.NewClientBuilder().WithRESTMapper(mapper).WithObjects(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}).Build())
	got, err := cluster.Get(t.Context(), schema.GroupVersionKind{Version: "v1", Kind: "Node"}, types.NamespacedName{Namespace: "shop", Name: "n"})
	require.NoError(t, err)
	require.Empty(t, got.GetNamespace())
}

func TestWatchOfAClient(t *testing.T) {
	c := fakeClient(interceptor.Funcs{})
	cluster := ctrlruntime.New(c)
	changes, err := cluster.Watch(t.Context(), configMaps, "shop", metav1.ListOptions{})
	require.NoError(t, err)
	defer changes.Stop()
	require.NoError(t, c.Create(t.Context(), configMap("farm", "c", nil)))
	require.NoError(t, c.Create(t.Context(), configMap("shop", "a", nil)))
	e := <-changes.ResultChan()
	require.Equal(t, watch.Added, e.Type)
	require.Equal(t, "a", e.Object.(*unstructured.Unstructured).GetName())
}

// TestAWatchThatIsStoppedLeavesNothingBehind stops a watch with an event that has no reader: the
// bubble fails if a goroutine stays.
func TestAWatchThatIsStoppedLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := fakeClient(interceptor.Funcs{})
		changes, err := ctrlruntime.New(c).Watch(t.Context(), configMaps, "", metav1.ListOptions{})
		require.NoError(t, err)
		require.NoError(t, c.Create(t.Context(), configMap("shop", "a", nil)))
		synctest.Wait()
		changes.Stop()
		changes.Stop()
	})
}

// TestWatchOfASelection has an object that comes into the selection and leaves it.
func TestWatchOfASelection(t *testing.T) {
	c := fakeClient(interceptor.Funcs{})
	cluster := ctrlruntime.New(c)
	changes, err := cluster.Watch(t.Context(), configMaps, "", metav1.ListOptions{LabelSelector: "app=web", FieldSelector: "metadata.name!=b"})
	require.NoError(t, err)
	defer changes.Stop()
	require.NoError(t, c.Create(t.Context(), configMap("shop", "b", map[string]string{"app": "web"})))
	a := configMap("shop", "a", nil)
	require.NoError(t, c.Create(t.Context(), a))
	a.Labels = map[string]string{"app": "web"}
	require.NoError(t, c.Update(t.Context(), a))
	a.Labels = nil
	require.NoError(t, c.Update(t.Context(), a))
	for _, want := range []watch.EventType{watch.Modified, watch.Deleted} {
		e := <-changes.ResultChan()
		require.Equal(t, "a", e.Object.(*unstructured.Unstructured).GetName())
		require.Equal(t, want, e.Type)
	}
}

func TestAClientThatCannotWatchIsPolled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := fakeClient(interceptor.Funcs{})
		time.AfterFunc(time.Minute, func() { _ = c.Create(context.Background(), configMap("shop", "late", nil)) })
		cluster := ctrlruntime.New(struct{ client.Client }{c}) // hides Watch
		refs := []wait.Ref{{Kind: configMaps, Namespace: "shop", Name: "late"}}
		require.NoError(t, wait.For(t.Context(), cluster, refs, wait.Policy{}))
	})
}

func TestUnknownKindsAreNotFound(t *testing.T) {
	cluster := ctrlruntime.New(unknowing{fakeClient(interceptor.Funcs{})})
	_, err := cluster.List(t.Context(), gone, "", metav1.ListOptions{})
	require.True(t, apierrors.IsNotFound(err), err)
	require.ErrorContains(t, err, "example.com/v1, Kind=Gone is no known kind")
}

func TestSelectorsThatAreNone(t *testing.T) {
	cluster := ctrlruntime.New(fakeClient(interceptor.Funcs{}))
	for _, o := range []metav1.ListOptions{{LabelSelector: "a in b"}, {FieldSelector: "a"}} {
		_, err := cluster.List(t.Context(), configMaps, "", o)
		require.True(t, apierrors.IsBadRequest(err), err)
		_, err = cluster.Watch(t.Context(), configMaps, "", o)
		require.True(t, apierrors.IsBadRequest(err), err)
	}
}

func TestImpersonationNeedsUsers(t *testing.T) {
	err := ctrlruntime.New(fakeClient(interceptor.Funcs{})).As("jane").Delete(t.Context(), configMaps, web, metav1.DeleteOptions{})
	require.True(t, apierrors.IsForbidden(err))
	require.ErrorContains(t, err, `cannot impersonate "jane"`)
}

// unknowing is a client whose mapper does not know a kind.
type unknowing struct{ client.WithWatch }

func (u unknowing) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	gvk := list.GetObjectKind().GroupVersionKind()
	return &meta.NoKindMatchError{GroupKind: gvk.GroupKind(), SearchedVersions: []string{gvk.Version}}
}
