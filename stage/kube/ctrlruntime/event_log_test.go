package ctrlruntime

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var things = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}

func thing(name, version, app string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(things)
	obj.SetName(name)
	obj.SetUID(types.UID("uid of " + name))
	obj.SetResourceVersion(version)
	obj.SetLabels(map[string]string{"app": app})
	return obj
}

// An informer that a test controls.
type informer struct {
	cache.Informer
	toolscache.ResourceEventHandler

	stopped, synced atomic.Bool
	refuses         error // the answer of the server
	handlers        int
}

func (i *informer) AddEventHandler(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	i.ResourceEventHandler = h
	i.handlers++
	return handle{i: i}, nil
}

func (i *informer) IsStopped() bool { return i.stopped.Load() }

type handle struct {
	toolscache.ResourceEventHandlerRegistration
	i *informer
}

func (h handle) HasSynced() bool { return h.i.synced.Load() }

// A store is a cache with an informer, and the server behind it.
type store struct {
	cache.Cache
	i *informer
}

func (s store) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return s.i, nil
}

func (s store) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return s.i.refuses
}

func newStore(i *informer) *cached { return newCached(store{i: i}, store{i: i}) }

// told returns the next event of a watch.
func told(t *testing.T, w watch.Interface) string {
	t.Helper()
	e, open := <-w.ResultChan()
	if !open {
		return "the end"
	}
	if status, ok := e.Object.(*metav1.Status); ok {
		return fmt.Sprint(e.Type, " ", status.Reason)
	}
	obj := e.Object.(*unstructured.Unstructured)
	return fmt.Sprint(e.Type, " ", obj.GetName(), " ", obj.GetResourceVersion())
}

func filled(objs ...*unstructured.Unstructured) (*informer, *cached) {
	i := &informer{}
	i.synced.Store(true)
	c := newStore(i)
	f, _ := c.on(i, things)
	for _, obj := range objs {
		f.set(obj)
	}
	return i, c
}

// TestAWatchGoesOnFromAList checks that a watch reports what happened after the list before it,
// including deleted objects.
func TestAWatchGoesOnFromAList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i, c := filled(thing("b", "2", "web"), thing("a", "1", "web"))
		list, err := c.List(t.Context(), things, "", metav1.ListOptions{})
		require.NoError(t, err)
		require.Equal(t, []string{"a", "b"}, []string{list.Items[0].GetName(), list.Items[1].GetName()})

		i.OnDelete(toolscache.DeletedFinalStateUnknown{Obj: thing("a", "1", "web")})
		i.OnUpdate(nil, thing("b", "2", "web")) // a resync
		w, err := c.Watch(t.Context(), things, "", metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
		require.NoError(t, err)
		i.OnAdd(thing("c", "4", "web"), false)
		for _, want := range []string{"DELETED a 1", "ADDED c 4"} {
			require.Equal(t, want, told(t, w))
		}
		synctest.Wait()
		w.Stop()
		require.Equal(t, "the end", told(t, w))
		require.Equal(t, 1, i.handlers)
	})
}

func TestAWatchFromNowhereBeginsWithAll(t *testing.T) {
	_, c := filled(thing("b", "2", "web"), thing("a", "1", "web"))
	for _, version := range []string{"", "0"} {
		w, err := c.Watch(t.Context(), things, "", metav1.ListOptions{ResourceVersion: version})
		require.NoError(t, err)
		require.Equal(t, "ADDED a 1", told(t, w))
		require.Equal(t, "ADDED b 2", told(t, w))
		w.Stop()
	}
}

// TestWatchesOfACacheSelect has an object that comes into a selection, changes, leaves it, and
// comes back to be deleted there.
func TestWatchesOfACacheSelect(t *testing.T) {
	i, c := filled(thing("a", "1", "db"))
	w, err := c.Watch(t.Context(), things, "", metav1.ListOptions{LabelSelector: "app=web"})
	require.NoError(t, err)
	defer w.Stop()
	for _, app := range []string{"web", "web", "db", "db", "web"} {
		f := c.logs[things]
		i.OnUpdate(nil, thing("a", fmt.Sprint(f.count()+2), app))
	}
	i.OnDelete(thing("a", "9", "db"))
	for _, want := range []string{"ADDED a 3", "MODIFIED a 4", "DELETED a 5", "ADDED a 7", "DELETED a 7"} {
		require.Equal(t, want, told(t, w))
	}
}

func TestVersionsThatACacheDoesNotRemember(t *testing.T) {
	i, c := filled(thing("a", "1", "web"))
	list, err := c.List(t.Context(), things, "", metav1.ListOptions{})
	require.NoError(t, err)
	for _, version := range []string{"1", "cache-1-", "cache-1-7", "cache-2-1", "cache-1-1 "} {
		_, err := c.Watch(t.Context(), things, "", metav1.ListOptions{ResourceVersion: version})
		require.True(t, apierrors.IsResourceExpired(err), "%s: %v", version, err)
	}
	for n := range 3 * remembered {
		i.OnUpdate(nil, thing("a", fmt.Sprint(n+2), "web"))
	}
	w, err := c.Watch(t.Context(), things, "", metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	require.NoError(t, err)
	require.Equal(t, "ERROR Expired", told(t, w))
	require.Equal(t, "the end", told(t, w))
}

// TestACacheThatEnds ends its watches; another informer of the same kind has another feed.
func TestACacheThatEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i, c := filled()
		list, err := c.List(t.Context(), things, "", metav1.ListOptions{})
		require.NoError(t, err)
		w, err := c.Watch(t.Context(), things, "", metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
		require.NoError(t, err)
		i.stopped.Store(true)
		require.Equal(t, "the end", told(t, w))

		i.stopped.Store(false)
		delete(c.logs, things)
		_, err = c.Watch(t.Context(), things, "", metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
		require.True(t, apierrors.IsResourceExpired(err), err)
	})
}

// TestACacheThatDoesNotFill says why, if the server does; else it waits as long as it may.
func TestACacheThatDoesNotFill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &informer{refuses: apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "", nil)}
		_, err := newStore(i).List(t.Context(), things, "", metav1.ListOptions{})
		require.True(t, apierrors.IsForbidden(err), err)

		i.refuses = nil
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err = newStore(i).List(ctx, things, "", metav1.ListOptions{})
		require.ErrorIs(t, err, context.DeadlineExceeded)

		time.AfterFunc(time.Minute, func() { i.synced.Store(true) })
		_, err = newStore(i).List(t.Context(), things, "", metav1.ListOptions{})
		require.NoError(t, err)

		i.synced.Store(false)
		i.stopped.Store(true)
		_, err = newStore(i).List(t.Context(), things, "", metav1.ListOptions{})
		require.ErrorIs(t, err, errStopped)
	})
}
