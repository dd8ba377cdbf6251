package kube_test

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/stagecraft-go/stagecraft/stage/kube"
)

// TestWritesAreSentOnce: a server that answers with Retry-After gets each write once, and says so to the caller. Reads, which change
// nothing, are sent again by client-go.
func TestWritesAreSentOnce(t *testing.T) {
	for _, code := range []int{http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable, http.StatusGatewayTimeout} {
		var mu sync.Mutex
		asked := map[string]int{}
		refuse := func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			asked[r.Method]++
			if r.Method == http.MethodGet && asked[r.Method] > 1 {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}}`))
				return
			}
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(code)
		}
		s := newServer(t)
		whole := s.Config.Handler
		proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == podsPath || r.URL.Path == podsPath+"/"+web.Name {
				refuse(w, r)
				return
			}
			whole.ServeHTTP(w, r)
		}))
		defer proxy.Close()
		c, err := kube.Open(&rest.Config{Host: proxy.URL, QPS: -1}, kube.Options{})
		require.NoError(t, err)
		ctx := t.Context()
		pod := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": web.Name, "namespace": web.Namespace}}}
		for verb, write := range map[string]func(*kube.Cluster) error{
			http.MethodPost:   func(c *kube.Cluster) error { _, err := c.Create(ctx, pod, metav1.CreateOptions{}); return err },
			http.MethodPut:    func(c *kube.Cluster) error { _, err := c.Update(ctx, pod, metav1.UpdateOptions{}); return err },
			http.MethodPatch:  func(c *kube.Cluster) error { _, err := patch(ctx, c); return err },
			http.MethodDelete: func(c *kube.Cluster) error { return c.Delete(ctx, pods, web, metav1.DeleteOptions{}) },
		} {
			err := write(c)
			require.Error(t, err, verb)
			seconds, ok := apierrors.SuggestsClientDelay(err)
			require.True(t, ok, "%s: %v", verb, err)
			require.Equal(t, 1, seconds, verb)
			require.Equal(t, 1, asked[verb], "%s answered %d", verb, code)
		}
		shared, _ := c.Share().(*kube.Cluster)
		_, err = patch(ctx, shared)
		require.Error(t, err)
		_, err = patch(ctx, c.As("alice").(patcher))
		require.Error(t, err)
		require.Equal(t, 3, asked[http.MethodPatch])
		_, err = c.Get(ctx, pods, web)
		require.NoError(t, err)
		require.Equal(t, 2, asked[http.MethodGet])
	}
}

// TestAnOccurrenceKeepsItsNumber: an occurrence whose answer was lost is counted once, although others came before it was sent again.
func TestAnOccurrenceKeepsItsNumber(t *testing.T) {
	n := newEventServer(t, newEvents)
	require.NoError(t, n.tell("a.1", "no", noon))
	lose := n.loses()
	require.Error(t, n.tell("a.2", "no", noon))
	*lose = false
	require.NoError(t, n.tell("a.3", "no", noon))
	n.want("a.1 no x3")
	require.True(t, apierrors.IsAlreadyExists(n.tell("a.2", "no", noon)), "a.3 wrote the count of both")
	n.want("a.1 no x3")

	*lose = true
	require.Error(t, n.tell("b.1", "yes", noon), "created, but the answer is lost")
	*lose = false
	require.NoError(t, n.tell("b.2", "yes", noon))
	require.True(t, apierrors.IsAlreadyExists(n.tell("b.1", "yes", noon)))
	n.want("a.1 no x3", "b.1 yes x2")

	*lose = true
	require.Error(t, n.tell("b.3", "yes", noon))
	*lose = false
	require.NoError(t, n.tell("b.4", "yes", noon.Add(time.Hour)), "a new Event")
	require.NoError(t, n.tell("b.3", "yes", noon))
	n.want("a.1 no x3", "b.1 yes x3", "b.4 yes x1")
	require.NoError(t, n.cluster.Delete(t.Context(), newEvents, types.NamespacedName{Namespace: "shop", Name: "b.4"}, metav1.DeleteOptions{}))
	*lose = true
	require.Error(t, n.tell("b.5", "yes", noon.Add(time.Hour)))
	*lose = false
	require.True(t, apierrors.IsAlreadyExists(n.tell("b.5", "yes", noon.Add(time.Hour))), "b.4 was gone, so b.5 was created")
	n.want("a.1 no x3", "b.1 yes x3", "b.5 yes x1")
}
