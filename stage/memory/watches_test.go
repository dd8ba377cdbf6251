package memory_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

func TestWatchGoesOnFromAListWithoutAGap(t *testing.T) {
	c := memory.New(memory.Options{})
	create(t, c, object(pods, "a"))
	list, err := c.List(t.Context(), pods, "", metav1.ListOptions{})
	require.NoError(t, err)
	create(t, c, object(pods, "b"))
	w, err := c.Watch(t.Context(), pods, "", metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	require.NoError(t, err)
	defer w.Stop()
	merge(t, c, pods, "a", `{"metadata": {"labels": {"x": "1"}}}`)
	require.NoError(t, c.Delete(t.Context(), pods, at("b"), metav1.DeleteOptions{}))
	require.Equal(t, []string{"ADDED b", "MODIFIED a", "MODIFIED b", "DELETED b"}, story(w, 4))
}

func TestWatchBeginsWithWhatIsThere(t *testing.T) {
	c := memory.New(memory.Options{})
	create(t, c, object(pods, "b"))
	create(t, c, object(pods, "a"))
	for _, version := range []string{"", "0"} {
		w, err := c.Watch(t.Context(), pods, "", metav1.ListOptions{ResourceVersion: version})
		require.NoError(t, err)
		require.Equal(t, []string{"ADDED a", "ADDED b"}, story(w, 2))
		w.Stop()
	}
	w, err := c.Watch(t.Context(), pods, "", metav1.ListOptions{SendInitialEvents: new(true), AllowWatchBookmarks: true})
	require.NoError(t, err)
	defer w.Stop()
	require.Equal(t, []string{"ADDED a", "ADDED b"}, story(w, 2))
	e := <-w.ResultChan()
	require.Equal(t, watch.Bookmark, e.Type)
	require.Equal(t, "true", e.Object.(*unstructured.Unstructured).GetAnnotations()[metav1.InitialEventsAnnotationKey])
}

func TestASelectorTurnsChangesIntoComingAndGoing(t *testing.T) {
	c := memory.New(memory.Options{})
	create(t, c, object(pods, "a"))
	w, err := c.Watch(t.Context(), pods, "default", metav1.ListOptions{LabelSelector: "x=1"})
	require.NoError(t, err)
	defer w.Stop()
	merge(t, c, pods, "a", `{"metadata": {"labels": {"x": "1"}}}`)
	merge(t, c, pods, "a", `{"metadata": {"labels": {"y": "1"}}}`)
	merge(t, c, pods, "a", `{"metadata": {"labels": {"x": "2"}}}`)
	merge(t, c, pods, "a", `{"metadata": {"labels": {"x": "1"}}}`)
	require.NoError(t, c.Delete(t.Context(), pods, at("a"), metav1.DeleteOptions{}))
	require.Equal(t, []string{"ADDED a", "MODIFIED a", "DELETED a", "ADDED a", "MODIFIED a", "DELETED a"}, story(w, 6))
}

func TestAWatchFromAVersionThatIsGoneIsExpired(t *testing.T) {
	c := memory.New(memory.Options{History: 4})
	create(t, c, object(pods, "a"))
	for i := range 20 {
		merge(t, c, pods, "a", fmt.Sprintf(`{"metadata": {"labels": {"x": "%d"}}}`, i))
	}
	w, err := c.Watch(t.Context(), pods, "", metav1.ListOptions{ResourceVersion: "2"})
	require.NoError(t, err)
	require.Equal(t, []string{"ERROR Expired"}, story(w, 1))
	_, open := <-w.ResultChan()
	require.False(t, open)
}

// TestAWatchFromALaterVersion: it waits for that version, and then reports changes. With initial events
// it is told that there is no such version.
func TestAWatchFromALaterVersion(t *testing.T) {
	c := memory.New(memory.Options{})
	create(t, c, object(pods, "a"))
	stored, err := c.Get(t.Context(), pods, at("a"))
	require.NoError(t, err)
	version, err := strconv.Atoi(stored.GetResourceVersion())
	require.NoError(t, err)
	later := fmt.Sprint(version + 2)
	w, err := c.Watch(t.Context(), pods, "", metav1.ListOptions{ResourceVersion: later})
	require.NoError(t, err)
	defer w.Stop()
	for i := range 3 {
		merge(t, c, pods, "a", fmt.Sprintf(`{"metadata": {"labels": {"x": "%d"}}}`, i))
	}
	require.Equal(t, map[string]string{"x": "2"}, (<-w.ResultChan()).Object.(*unstructured.Unstructured).GetLabels())

	w, err = c.Watch(t.Context(), pods, "", metav1.ListOptions{ResourceVersion: "1000", SendInitialEvents: new(true), ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan})
	require.NoError(t, err)
	require.Equal(t, []string{"ERROR Timeout"}, story(w, 1))
	_, open := <-w.ResultChan()
	require.False(t, open)
}

func TestWatchesEndWithContextStopAndTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // fails if a goroutine is left
		c := memory.New(memory.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		byContext, err := c.Watch(ctx, pods, "", metav1.ListOptions{})
		require.NoError(t, err)
		byStop, err := c.Watch(t.Context(), pods, "", metav1.ListOptions{})
		require.NoError(t, err)
		byTimeout, err := c.Watch(t.Context(), pods, "", metav1.ListOptions{TimeoutSeconds: new(int64(60))})
		require.NoError(t, err)
		create(t, c, object(pods, "unread"))
		cancel()
		byStop.Stop()
		byStop.Stop()
		for _, w := range []watch.Interface{byContext, byStop, byTimeout} {
			for range w.ResultChan() {
			}
		}
	})
}

// TestManyWatchesMissNothing has more watches than are woken at once. Some of them end while others are
// woken.
func TestManyWatchesMissNothing(t *testing.T) {
	const writes = 40
	c := memory.New(memory.Options{})
	create(t, c, object(configMaps, "a"))
	list, err := c.List(t.Context(), configMaps, "", metav1.ListOptions{})
	require.NoError(t, err)
	var all sync.WaitGroup
	for i := range 300 {
		w, err := c.Watch(t.Context(), configMaps, "", metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
		require.NoError(t, err)
		all.Go(func() {
			defer w.Stop()
			for n := range writes {
				e := <-w.ResultChan()
				require.Equal(t, fmt.Sprint(n), e.Object.(*unstructured.Unstructured).GetLabels()["n"])
				if i%3 == 0 && n == i%writes {
					return
				}
			}
		})
	}
	for n := range writes {
		_, err := c.Patch(t.Context(), configMaps, at("a"), types.MergePatchType, fmt.Appendf(nil, `{"metadata": {"labels": {"n": "%d"}}}`, n), metav1.PatchOptions{})
		require.NoError(t, err)
	}
	all.Wait()
}
