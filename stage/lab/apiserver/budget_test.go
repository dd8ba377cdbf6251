package apiserver

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

const configMapsPath = "/api/v1/namespaces/default/configmaps"

// ask sends a request to a server without a connection.
func ask(s http.Handler, method, path, kind, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", kind)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func newServerOf(t *testing.T, o Options) (*Server, *memory.Cluster) {
	c := memory.New(memory.Options{})
	s, err := New(c, o)
	require.NoError(t, err)
	return s, c
}

// TestLargeBodiesWaitForEachOther checks that at most four requests with large bodies are answered at
// once, that others do not wait for them, and that one gives up when its client leaves.
func TestLargeBodiesWaitForEachOther(t *testing.T) {
	s, c := newServerOf(t, Options{})
	begun, goOn := make(chan struct{}), make(chan struct{})
	var answered atomic.Int32
	c.Extend(memory.Hooks{Name: "slow", Validate: func(v *memory.Review) error {
		if strings.HasPrefix(v.Name.Name, "large") {
			begun <- struct{}{}
			<-goOn
		}
		return nil
	}})
	object := func(name string, size int) string {
		return fmt.Sprintf(`{"metadata": {"name": %q}, "data": {"a": "%s"}}`, name, strings.Repeat("x", size))
	}
	done := make(chan int)
	for i := range 6 {
		go func() {
			w := ask(s, "POST", configMapsPath, "application/json", object(fmt.Sprint("large", i), largeBody))
			answered.Add(1)
			done <- w.Code
		}()
	}
	for range mostLarge {
		<-begun
	}
	require.Equal(t, http.StatusCreated, ask(s, "POST", configMapsPath, "application/json", object("small", 100)).Code)
	require.Equal(t, http.StatusOK, ask(s, "GET", configMapsPath, "", "").Code)
	ctx, leave := context.WithCancel(t.Context())
	leave()
	r := httptest.NewRequestWithContext(ctx, "POST", configMapsPath, strings.NewReader(object("gone", largeBody)))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	require.Equal(t, http.StatusTooManyRequests, w.Code)
	require.Equal(t, "1", w.Header().Get("Retry-After"))
	require.Zero(t, answered.Load())
	require.Empty(t, begun)
	close(goOn)
	for range 6 - mostLarge {
		<-begun
	}
	for range 6 {
		require.Equal(t, http.StatusCreated, <-done)
	}
}

// TestWhoWaitsHasNoPlace checks that requests with large bodies that wait for their client or for a webhook do not
// keep others waiting.
func TestWhoWaitsHasNoPlace(t *testing.T) {
	const hook = `{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "slow"}, "webhooks": [{
		"name": "slow.example.com", "clientConfig": {"url": "https://slow:443/"}, "sideEffects": "None", "admissionReviewVersions": ["v1"],
		"rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["secrets"]}]}]}`
	large := strings.Repeat("x", largeBody)
	goOn, waiting := make(chan struct{}), make(chan struct{})
	wait := func() { waiting <- struct{}{}; <-goOn }
	s, _ := newServerOf(t, Options{turns: make(turns, 2), Webhooks: func(string) http.Handler {
		return http.HandlerFunc(func(http.ResponseWriter, *http.Request) { wait() })
	}})
	require.Equal(t, 1, cap(s.large))
	require.Equal(t, http.StatusCreated, ask(s, "POST", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", "application/json", hook).Code)
	ended := make(chan struct{}, 10)
	for i := range 5 {
		go func() {
			defer func() { ended <- struct{}{} }()
			ask(s, "POST", "/api/v1/namespaces/default/secrets", "application/json", fmt.Sprintf(`{"metadata": {"name": "a%d"}, "stringData": {"a": %q}}`, i, large))
		}()
		go func() {
			defer func() { ended <- struct{}{} }()
			r := httptest.NewRequest("POST", configMapsPath, strings.NewReader(fmt.Sprintf(`{"metadata": {"name": "a%d"}, "data": {"a": %q}}`, i, large)))
			s.ServeHTTP(unread{httptest.NewRecorder(), wait}, r)
		}()
	}
	for range 10 {
		<-waiting
	}
	require.Equal(t, http.StatusCreated, ask(s, "POST", configMapsPath, "application/json", fmt.Sprintf(`{"metadata": {"name": "b"}, "data": {"a": %q}}`, large)).Code)
	close(goOn)
	for range 10 {
		<-ended
	}
	require.Empty(t, s.large)
}

// An unread answer waits for its client.
type unread struct {
	http.ResponseWriter
	wait func()
}

func (w unread) Write(data []byte) (int, error) {
	w.wait()
	return w.ResponseWriter.Write(data)
}

// TestObjectsHaveALimit checks the size of one object, however it grows.
func TestObjectsHaveALimit(t *testing.T) {
	s, _ := newServerOf(t, Options{})
	const tooLarge = "etcdserver: request is too large"
	large := fmt.Sprintf(`{"metadata": {"name": "large"}, "data": {"a": "%s"}}`, strings.Repeat("x", maxStored))
	require.Contains(t, ask(s, "POST", configMapsPath, "application/json", large).Body.String(), tooLarge)
	const roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles"
	w := ask(s, "POST", roles, "application/json", `{"metadata": {"name": "grows"}, "rules": []}`)
	require.Equal(t, http.StatusCreated, w.Code, w.Body)
	rule := fmt.Sprintf(`[{"op": "add", "path": "/rules/-", "value": {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["%s"]}}]`, strings.Repeat("x", 100_000))
	ask(s, "PATCH", roles+"/grows", "application/merge-patch+json", `{"rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]}`)
	for range 30 {
		if w = ask(s, "PATCH", roles+"/grows", "application/json-patch+json", rule); w.Code >= 300 {
			break
		}
	}
	require.Contains(t, w.Body.String(), tooLarge)
	require.Less(t, ask(s, "GET", roles+"/grows", "", "").Body.Len(), maxStored+1000)
}

// TestStreamedListsAreTheSame compares lists that are written object by object with json.Marshal.
func TestStreamedListsAreTheSame(t *testing.T) {
	s, c := newServerOf(t, Options{})
	for _, n := range []int{0, 1, 300} {
		for i := range n {
			u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": fmt.Sprint("m", i), "namespace": "default"},
				"data": map[string]any{"<a>&": "\u2028 é \"", "long": strings.Repeat("x", 1000)}}}
			_, _ = c.Create(t.Context(), u, metav1.CreateOptions{})
		}
		for _, query := range []string{"", "?limit=7"} {
			w := ask(s, "GET", configMapsPath+query, "", "")
			var fields any
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &fields))
			want, err := json.Marshal(fields)
			require.NoError(t, err)
			require.Equal(t, string(want)+"\n", w.Body.String())
		}
	}
}

// TestAListEndsWithItsClient checks that a list of many objects is not encoded to its end for
// nobody.
func TestAListEndsWithItsClient(t *testing.T) {
	s, c := newServerOf(t, Options{})
	for i := range 100 {
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": fmt.Sprint("m", i), "namespace": "default"},
			"data": map[string]any{"a": strings.Repeat("x", 100_000)}}}
		_, err := c.Create(t.Context(), u, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	ctx, leave := context.WithCancel(t.Context())
	w := &leaving{ResponseRecorder: httptest.NewRecorder(), leave: leave}
	s.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", configMapsPath, nil))
	require.Less(t, w.Body.Len(), 300_000)
}

// A leaving client reads once.
type leaving struct {
	*httptest.ResponseRecorder
	leave func()
}

func (l *leaving) Write(data []byte) (int, error) {
	l.leave()
	return l.ResponseRecorder.Write(data)
}

// TestPatchesOfOthersAreBounded checks the patches of a webhook and of a MutatingAdmissionPolicy: a
// few operations that make gigabytes, and very many.
func TestPatchesOfOthersAreBounded(t *testing.T) {
	var doubling, many []map[string]any
	for i := range 40 {
		doubling = append(doubling, map[string]any{"op": "copy", "from": "/data", "path": fmt.Sprint("/data/k", i)})
	}
	for range 20_000 {
		many = append(many, map[string]any{"op": "add", "path": "/data/a", "value": "b"})
	}
	for want, patch := range map[string]any{"the patch copies more than 3145728 bytes": doubling, "The allowed maximum operations in a JSON patch is 10000, got 20000": many} {
		text, err := json.Marshal(patch)
		require.NoError(t, err)
		webhook := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked, _ := io.ReadAll(r.Body)
			_, uid, _ := strings.Cut(string(asked), `"uid":"`)
			uid, _, _ = strings.Cut(uid, `"`)
			_, _ = fmt.Fprintf(w, `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": {"uid": %q, "allowed": true, "patchType": "JSONPatch", "patch": %q}}`,
				uid, base64.StdEncoding.EncodeToString(text))
		})
		s, _ := newServerOf(t, Options{Webhooks: func(string) http.Handler { return webhook }})
		w := ask(s, "POST", "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", "application/json", `{"metadata": {"name": "w"}, "webhooks": [{
			"name": "a.b.c", "admissionReviewVersions": ["v1"], "sideEffects": "None", "clientConfig": {"url": "https://127.0.0.1:1"},
			"rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}]}]}`)
		require.Equal(t, http.StatusCreated, w.Code, w.Body)
		w = ask(s, "POST", configMapsPath, "application/json", `{"metadata": {"name": "a"}, "data": {"a": "`+strings.Repeat("x", 1000)+`"}}`)
		require.Contains(t, w.Body.String(), want)
	}
	s, _ := newServerOf(t, Options{})
	var steps []string
	for i := range 40 {
		steps = append(steps, fmt.Sprintf(`JSONPatch{op: "copy", from: "/data", path: "/data/k%d"}`, i))
	}
	expression := "[" + strings.Join(steps, ", ") + "]"
	for path, object := range map[string]string{
		"mutatingadmissionpolicies": `{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicy", "metadata": {"name": "p"}, "spec": {"failurePolicy": "Fail", "reinvocationPolicy": "Never", "matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"],
			"resources": ["configmaps"]}]}, "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": ` + quoted(expression) + `}}]}}`,
		"mutatingadmissionpolicybindings": `{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicyBinding", "metadata": {"name": "p"}, "spec": {"policyName": "p"}}`,
	} {
		w := ask(s, "POST", "/apis/admissionregistration.k8s.io/v1/"+path, "application/json", object)
		require.Equal(t, http.StatusCreated, w.Code, w.Body)
	}
	w := ask(s, "POST", configMapsPath, "application/json", `{"metadata": {"name": "a"}, "data": {"a": "b"}}`)
	require.Contains(t, w.Body.String(), "the patch copies more than 3145728 bytes")
}

func quoted(text string) string {
	data, _ := json.Marshal(text)
	return string(data)
}

// TestVersionsOfReads checks the resourceVersion of requests over HTTP, as kube-apiserver answers.
func TestVersionsOfReads(t *testing.T) {
	s, c := newServerOf(t, Options{})
	_, err := c.List(t.Context(), schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, "", metav1.ListOptions{})
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, ask(s, "POST", configMapsPath, "application/json", `{"metadata": {"name": "a"}}`).Code)
	for query, code := range map[string]int{
		"/a?resourceVersion=": 200, "/a?resourceVersion=0": 200, "/a?resourceVersion=1": 200, "/a?resourceVersion=999999": 504, "/a?resourceVersion=x": 500,
		"?resourceVersion=-1": 400, "?resourceVersion=x": 400, "?resourceVersion=999999": 504, "?resourceVersion=999999&resourceVersionMatch=Exact": 504,
		"?resourceVersion=1&resourceVersionMatch=NotOlderThan": 200, "?resourceVersionMatch=Exact": 422, "?resourceVersion=0&resourceVersionMatch=Exact": 422,
		"?resourceVersion=1&resourceVersionMatch=x": 422, "?continue=x": 400, "?continue=1:1&resourceVersion=5": 400, "?sendInitialEvents=true": 422,
		"?watch=1&timeoutSeconds=1&resourceVersion=999999": 200, "?watch=1&continue=x": 422, "?watch=1&sendInitialEvents=true": 422, "?watch=1&resourceVersionMatch=NotOlderThan": 422,
	} {
		w := ask(s, "GET", configMapsPath+query, "", "")
		require.Equal(t, code, w.Code, "%s: %s", query, w.Body)
		if code == http.StatusGatewayTimeout {
			require.Equal(t, "1", w.Header().Get("Retry-After"))
			require.Contains(t, w.Body.String(), `"reason":"ResourceVersionTooLarge"`)
		}
	}
}

// TestAliasesOfRequestsAreBounded checks each body that is read as YAML.
func TestAliasesOfRequestsAreBounded(t *testing.T) {
	s, _ := newServerOf(t, Options{})
	bomb := `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: &a "` + strings.Repeat("y", 1<<20) + `", b: [*a, *a, *a, *a]}}`
	ask(s, "POST", configMapsPath, "application/json", `{"metadata": {"name": "a"}}`)
	for _, w := range []*httptest.ResponseRecorder{
		ask(s, "POST", configMapsPath, "application/yaml", bomb),
		ask(s, "PUT", configMapsPath+"/a", "application/yaml", bomb),
		ask(s, "PATCH", configMapsPath+"/a?fieldManager=x", "application/apply-patch+yaml", bomb),
		ask(s, "DELETE", configMapsPath+"/a", "application/json", bomb),
	} {
		require.Equal(t, http.StatusBadRequest, w.Code)
		require.Contains(t, w.Body.String(), "line 1: aliases make the document longer by more than 3 MiB")
	}
}
