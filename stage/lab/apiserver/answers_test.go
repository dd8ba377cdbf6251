package apiserver_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// answered sends a request to a server and reads the answer, nil if that is a plain text.
func answered(t *testing.T, s http.Handler, method, path, accept string) (code int, answer map[string]any) {
	t.Helper()
	w, r := httptest.NewRecorder(), httptest.NewRequest(method, path, nil)
	r.Header.Set("Accept", accept)
	s.ServeHTTP(w, r)
	if !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
		require.NoError(t, yaml.Unmarshal(w.Body.Bytes(), &answer), w.Body.String())
	}
	return w.Code, answer
}

// TestTheIndexListsWhatIsServed: probes of clients ask for / to know whether the server can be reached.
func TestTheIndexListsWhatIsServed(t *testing.T) {
	cluster := memory.New(memory.Options{})
	s, err := apiserver.New(cluster, apiserver.Options{})
	require.NoError(t, err)
	require.NoError(t, cluster.Load(t.Context(), []byte(cakes)))
	code, index := answered(t, s, http.MethodGet, "/", "application/json")
	require.Equal(t, http.StatusOK, code)
	var paths []string
	for _, path := range index["paths"].([]any) {
		paths = append(paths, path.(string))
		code, _ := answered(t, s, http.MethodGet, path.(string), "application/json")
		require.Equal(t, http.StatusOK, code, path)
	}
	require.True(t, slices.IsSorted(paths), paths)
	require.Subset(t, paths, []string{"/api", "/api/v1", "/apis", "/apis/", "/apis/apps", "/apis/apps/v1", "/apis/x.io", "/apis/x.io/v1",
		"/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version"})
	code, _ = answered(t, s, http.MethodHead, "/", "application/json")
	require.Equal(t, http.StatusOK, code)
}

// TestNamespacesThatCannotBeDeleted: one command must not spoil a server for all.
func TestNamespacesThatCannotBeDeleted(t *testing.T) {
	s, err := apiserver.New(memory.New(memory.Options{}), apiserver.Options{})
	require.NoError(t, err)
	for _, name := range []string{"default", "kube-system", "kube-public"} {
		code, status := answered(t, s, http.MethodDelete, "/api/v1/namespaces/"+name, "application/json")
		require.Equal(t, http.StatusForbidden, code)
		require.Equal(t, "Forbidden", status["reason"])
		require.Equal(t, `namespaces "`+name+`" is forbidden: this namespace may not be deleted`, status["message"])
	}
}

// TestKindsOfItems holds that items of a list say what they are as those of kube-apiserver do: not if it has
// a Go type for them, but in a watch, a Table and in lists of metadata.
func TestKindsOfItems(t *testing.T) {
	cluster := memory.New(memory.Options{})
	s, err := apiserver.New(cluster, apiserver.Options{Bare: true})
	require.NoError(t, err)
	require.NoError(t, cluster.Load(t.Context(), []byte(cakes)))
	require.NoError(t, cluster.Load(t.Context(), []byte(`{apiVersion: x.io/v1, kind: Cake, metadata: {name: a, namespace: default}}`)))
	const (
		services    = "/api/v1/services"
		definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
		table       = "application/json;as=Table;v=v1;g=meta.k8s.io"
		partial     = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
	)
	for _, c := range []struct{ path, accept, kind, version string }{
		{services, "application/json", "", ""},
		{services, "application/yaml", "", ""},
		{definitions, "application/json", "", ""},
		{"/apis/x.io/v1/cakes", "application/json", "Cake", "x.io/v1"},
		{services, partial, "PartialObjectMetadata", "meta.k8s.io/v1"},
		{services, table + ",application/json", "PartialObjectMetadata", "meta.k8s.io/v1"},
		{services + "?includeObject=Object", table, "Service", "v1"},
	} {
		_, list := answered(t, s, http.MethodGet, c.path, c.accept)
		items, is := list["items"].([]any)
		if !is {
			items = list["rows"].([]any)
		}
		require.NotEmpty(t, items, c.path)
		require.NotEmpty(t, list["kind"])
		for _, item := range items {
			fields := item.(map[string]any)
			if !is {
				fields = fields["object"].(map[string]any)
			}
			require.NotNil(t, fields["metadata"], c)
			kind, _ := fields["kind"].(string)
			version, _ := fields["apiVersion"].(string)
			require.Equal(t, []string{c.kind, c.version}, []string{kind, version}, "%s as %s", c.path, c.accept)
		}
	}
	_, service := answered(t, s, http.MethodGet, "/api/v1/namespaces/default/services/kubernetes", "application/json")
	require.Equal(t, "Service", service["kind"], "lists change nothing that is stored")
	list, err := cluster.List(t.Context(), schema.GroupVersionKind{Version: "v1", Kind: "Service"}, "", metav1.ListOptions{})
	require.NoError(t, err)
	require.Equal(t, "Service", list.Items[0].GetKind())
}
