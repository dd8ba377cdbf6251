package apiserver_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

func askHealth(t *testing.T, s http.Handler, path string) (int, string) {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	return w.Code, w.Body.String()
}

func TestChecksOfHealth(t *testing.T) {
	s, err := apiserver.New(memory.New(memory.Options{}), apiserver.Options{})
	require.NoError(t, err)
	for path, want := range map[string]int{
		"/readyz": 200, "/livez": 200, "/readyz/etcd": 200, "/readyz/poststarthook/rbac/bootstrap-roles": 200, "/livez/ping": 200,
		"/livez/nothing-such": 404, "/livez/shutdown": 404, "/readyz/loopback-serving-certificate": 404,
	} {
		code, text := askHealth(t, s, path)
		require.Equal(t, want, code, path)
		require.Equal(t, map[int]string{200: "ok", 404: "404 page not found\n"}[want], text, path)
	}
	_, text := askHealth(t, s, "/readyz?verbose&exclude=etcd&exclude=nope")
	require.True(t, strings.HasPrefix(text, "[+]ping ok\n[+]log ok\n[+]etcd excluded: ok\n[+]etcd-readiness ok\n"), text)
	require.True(t, strings.HasSuffix(text, "[+]shutdown ok\nwarn: some health checks cannot be excluded: no matches for \"nope\"\nreadyz check passed\n"), text)
}

// TestTimeoutsOfClients: a client says how long it waits for an answer.
func TestTimeoutsOfClients(t *testing.T) {
	s, err := apiserver.New(memory.New(memory.Options{}), apiserver.Options{})
	require.NoError(t, err)
	for path, want := range map[string]int{
		"/api/v1/configmaps?timeout=5s": 200, "/api/v1/configmaps?timeout=0": 200, "/api/v1/configmaps?timeout=-1s": 200, "/api/v1/configmaps?timeout=": 200,
		"/api/v1/configmaps?timeout=invalid": 400, "/version?timeout=x": 400,
	} {
		code, text := askHealth(t, s, path)
		require.Equal(t, want, code, path)
		if want == http.StatusBadRequest {
			require.Contains(t, text, "invalid timeout specified in the request URL - time: invalid duration")
		}
	}
}

// TestListenOnAllAddresses checks that the URL of such a server is one that clients of this machine reach.
func TestListenOnAllAddresses(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", ":0"} {
		l, err := apiserver.Listen(memory.New(memory.Options{}), apiserver.ListenOptions{Address: address})
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(l.URL(), "https://127.0.0.1:"), l.URL())
		_, err = kubernetes.NewForConfigOrDie(l.Config()).CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.NoError(t, l.Close())
	}
}

// TestStorageVersionHashes checks some that were recorded from kube-apiserver.
func TestStorageVersionHashes(t *testing.T) {
	config := apiserver.Start(t, memory.New(memory.Options{}), apiserver.Options{})
	list, err := kubernetes.NewForConfigOrDie(config).Discovery().ServerResourcesForGroupVersion("v1")
	require.NoError(t, err)
	hashes := map[string]string{}
	for _, r := range list.APIResources {
		hashes[r.Name] = r.StorageVersionHash
	}
	require.Equal(t, "qFsyl6wFWjQ=", hashes["configmaps"])
	require.Empty(t, hashes["bindings"])
	require.Empty(t, hashes["pods/status"])
}
