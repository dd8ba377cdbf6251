package memory_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// TestBookmarksComeEachMinute checks that a watch learns which version it has seen, also if only
// objects of other kinds have changed. A watch without AllowWatchBookmarks gets no bookmark.
func TestBookmarksComeEachMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := memory.New(memory.Options{})
		quiet, err := c.Watch(t.Context(), configMap, "", metav1.ListOptions{})
		require.NoError(t, err)
		defer quiet.Stop()
		w, err := c.Watch(t.Context(), configMap.GroupVersion().WithKind("Secret"), "", metav1.ListOptions{AllowWatchBookmarks: true})
		require.NoError(t, err)
		defer w.Stop()
		begin := time.Now()
		require.Contains(t, (<-w.ResultChan()).Object.(*unstructured.Unstructured).GetAnnotations(), metav1.InitialEventsAnnotationKey)
		made, err := c.Create(t.Context(), newConfigMap(nil), metav1.CreateOptions{})
		require.NoError(t, err)
		require.Equal(t, watch.Added, (<-quiet.ResultChan()).Type)
		for range 2 {
			e := <-w.ResultChan()
			require.Equal(t, watch.Bookmark, e.Type)
			require.Equal(t, made.GetResourceVersion(), e.Object.(*unstructured.Unstructured).GetResourceVersion())
		}
		require.Equal(t, 2*time.Minute, time.Since(begin))
		select {
		case e := <-quiet.ResultChan():
			t.Fatal(e)
		default:
		}
	})
}
