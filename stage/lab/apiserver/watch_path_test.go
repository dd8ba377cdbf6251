package apiserver_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// TestOldWatchPaths: kube-apiserver serves /watch/ before the resource, which clients in other languages use.
func TestOldWatchPaths(t *testing.T) {
	synctest.Test(t, testOldWatchPaths)
}

func testOldWatchPaths(t *testing.T) {
	cluster := memory.New(memory.Options{})
	s, err := apiserver.New(cluster, apiserver.Options{Bare: true})
	require.NoError(t, err)
	require.NoError(t, cluster.Load(t.Context(), []byte("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}\n"+
		"---\n{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, "+
		"spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}")))
	get := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w
	}
	for path, want := range map[string]int{
		"/api/v1/watch/configmaps":                             2,
		"/api/v1/watch/namespaces/default/configmaps":          2,
		"/api/v1/watch/namespaces/default/configmaps/a":        1,
		"/apis/apps/v1/watch/deployments":                      1,
		"/apis/apps/v1/watch/namespaces/default/deployments/b": 0,
		"/api/v1/watch/namespaces/default":                     1,
	} {
		answer := get(path + "?timeoutSeconds=1")
		require.Equal(t, http.StatusOK, answer.Code, path)
		require.Equal(t, want, strings.Count(answer.Body.String(), `"ADDED"`), path)
	}
	require.Equal(t, http.StatusNotFound, get("/api/v1/watch").Code)
}
