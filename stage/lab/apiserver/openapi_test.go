package apiserver_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

const cakes = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: cakes.x.io}, spec: {group: x.io, scope: Namespaced,
  names: {plural: cakes, kind: Cake}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object}}}}}]}}`

// Documents have the schemas of their kinds with all that these refer to, and their hash changes with
// definitions.
func TestOpenAPI(t *testing.T) {
	cluster := memory.New(memory.Options{})
	c := kubernetes.NewForConfigOrDie(apiserver.Start(t, cluster, apiserver.Options{})).RESTClient()
	read := func(path string, into any) {
		data, err := c.Get().AbsPath(path).DoRaw(t.Context())
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(data, into))
	}
	var document struct {
		Paths      map[string]map[string]any
		Components struct{ Schemas map[string]any }
	}
	read("/openapi/v3/apis/apps/v1", &document)
	require.Contains(t, document.Paths, "/apis/apps/v1/namespaces/{namespace}/deployments/{name}")
	require.Contains(t, document.Components.Schemas, "io.k8s.api.apps.v1.Deployment")
	require.Contains(t, document.Components.Schemas, "io.k8s.api.core.v1.Container")
	require.NotContains(t, document.Components.Schemas, "io.k8s.api.core.v1.Service")

	var index struct {
		Paths map[string]struct{ ServerRelativeURL string }
	}
	read("/openapi/v3", &index)
	require.NotContains(t, index.Paths, "apis/x.io/v1")
	require.NoError(t, cluster.Load(t.Context(), []byte(cakes)))
	read("/openapi/v3", &index)
	require.Contains(t, index.Paths, "apis/x.io/v1")
	document.Components.Schemas = nil
	read("/openapi/v3/apis/x.io/v1", &document)
	require.Contains(t, document.Components.Schemas, "io.x.v1.Cake")
	require.Contains(t, document.Components.Schemas, "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")
}

// TestBindingsAreFound checks that a client which looks for the resource of a Binding finds it, as
// clients of controller-runtime do.
func TestBindingsAreFound(t *testing.T) {
	c := kubernetes.NewForConfigOrDie(apiserver.Start(t, memory.New(memory.Options{}), apiserver.Options{}))
	found, err := c.Discovery().ServerResourcesForGroupVersion("v1")
	require.NoError(t, err)
	isBinding := func(r metav1.APIResource) bool { return r.Kind == "Binding" && r.Name == "bindings" && r.Namespaced }
	require.True(t, slices.ContainsFunc(found.APIResources, isBinding))
}

// TestDocumentsStayAsTheyAre checks that a client which reads a document with the types of
// kube-openapi and writes it again has the same document.
func TestDocumentsStayAsTheyAre(t *testing.T) {
	cluster := memory.New(memory.Options{})
	require.NoError(t, cluster.Load(t.Context(), []byte(cakes)))
	c := kubernetes.NewForConfigOrDie(apiserver.Start(t, cluster, apiserver.Options{})).RESTClient()
	for _, path := range []string{"apis/x.io/v1", "api/v1", "apis/apps/v1", "apis/authorization.k8s.io/v1"} {
		data, err := c.Get().AbsPath("/openapi/v3/" + path).DoRaw(t.Context())
		require.NoError(t, err)
		var first, second spec3.OpenAPI
		require.NoError(t, json.Unmarshal(data, &first))
		again, err := json.Marshal(&first)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(again, &second))
		require.Equal(t, first, second, path)
	}
}

// A field that a kind does not have is refused in a patch, or told and left out of it.
func TestUnknownFieldsOfPatches(t *testing.T) {
	cluster := memory.New(memory.Options{})
	require.NoError(t, cluster.Load(t.Context(), []byte(`{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: default}, data: {a: b}}`)))
	c := kubernetes.NewForConfigOrDie(apiserver.Start(t, cluster, apiserver.Options{})).CoreV1().ConfigMaps("default")
	patch := func(kind types.PatchType, body, validation string) error {
		_, err := c.Patch(t.Context(), "c", kind, []byte(body), metav1.PatchOptions{FieldValidation: validation, FieldManager: "m"})
		return err
	}
	require.ErrorContains(t, patch(types.MergePatchType, `{"dat":{"a":"c"}}`, "Strict"), `strict decoding error: unknown field "dat"`)
	require.NoError(t, patch(types.MergePatchType, `{"dat":{"a":"c"},"data":{"a":"d"}}`, "Ignore"))
	require.NoError(t, patch(types.StrategicMergePatchType, `{"$setElementOrder/x":[],"data":{"e":"f"}}`, "Ignore"))
	require.ErrorContains(t, patch(types.ApplyYAMLPatchType, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"dat":{"a":"b"}}`, "Ignore"),
		`failed to create typed patch object (/c; /v1, Kind=ConfigMap): .dat: field not declared in schema`)
	require.ErrorContains(t, patch(types.JSONPatchType, `[{"op":"add","path":"/dat","value":{"a":"c"}}]`, "Strict"), `strict decoding error: unknown field "dat"`)
	require.NoError(t, patch(types.JSONPatchType, `[{"op":"add","path":"/dat","value":{"a":"c"}},{"op":"add","path":"/data/g","value":"h"}]`, "Ignore"))
	list, err := cluster.List(t.Context(), schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, "default", metav1.ListOptions{FieldSelector: "metadata.name=c"})
	require.NoError(t, err)
	require.NotContains(t, list.Items[0].Object, "dat")
	require.Subset(t, list.Items[0].Object["data"], map[string]any{"a": "d", "e": "f", "g": "h"})
}

// TestOpenAPIv2 holds that the document of v2 can be read as protobuf, and follows definitions.
func TestOpenAPIv2(t *testing.T) {
	config := apiserver.Start(t, memory.New(memory.Options{}), apiserver.Options{})
	names := func() map[string]bool {
		document, err := kubernetes.NewForConfigOrDie(config).Discovery().OpenAPISchema()
		require.NoError(t, err)
		found := map[string]bool{}
		for _, d := range document.GetDefinitions().GetAdditionalProperties() {
			found[d.GetName()] = true
		}
		return found
	}
	require.True(t, names()["io.k8s.api.core.v1.Pod"])
	require.False(t, names()["io.x.v1.Oven"])
	_, err := dynamic.NewForConfigOrDie(config).Resource(definitionKind).Create(t.Context(), fields(t, ovens), metav1.CreateOptions{})
	require.NoError(t, err)
	require.True(t, names()["io.x.v1.Oven"])
}

// TestOpenAPIv2IsSwagger holds that the document is what libraries take for one.
func TestOpenAPIv2IsSwagger(t *testing.T) {
	s, err := apiserver.New(memory.New(memory.Options{}), apiserver.Options{})
	require.NoError(t, err)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/openapi/v2", nil))
	var swagger spec.Swagger
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &swagger))
	ofPod := swagger.Definitions["io.k8s.api.core.v1.Pod"].Properties["spec"].Ref
	require.Equal(t, "#/definitions/io.k8s.api.core.v1.PodSpec", ofPod.String())
	r := httptest.NewRequest(http.MethodGet, "/openapi/v2", nil)
	r.Header.Set("If-None-Match", w.Header().Get("Etag"))
	again := httptest.NewRecorder()
	s.ServeHTTP(again, r)
	require.Equal(t, http.StatusNotModified, again.Code)
}
