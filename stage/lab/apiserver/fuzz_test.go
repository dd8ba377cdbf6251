package apiserver_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

const (
	pod        = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}}`
	scale      = `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"d"},"spec":{"replicas":-1}}`
	binding    = `{"apiVersion":"v1","kind":"Binding","metadata":{"name":"p"},"target":{"kind":"Node"}}`
	definition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"a.x.io"},"spec":{"group":"x.io","scope":"Cluster",` +
		`"names":{"plural":"a","kind":"A"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":` +
		`{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"n":{"type":"integer","default":1,"x-kubernetes-validations":[{"rule":"self < 9"}]}}}},` +
		`"additionalPrinterColumns":[{"name":"B","type":"integer","jsonPath":".spec[?(@.b)]"}],"subresources":{"scale":{"specReplicasPath":".spec.n","statusReplicasPath":".status.n"}}}]}}`
)

// A request is what a client sends.
type request struct{ method, uri, contentType, accept, body string }

var rawRequests = []request{
	{"GET", "/api/v1/pods?limit=-1&continue=%00&resourceVersion=x", "", "application/json;as=Table;g=meta.k8s.io;v=v1", ""},
	{"GET", "/api/v1/pods?watch=1&resourceVersion=99999999999999999999&timeoutSeconds=-1&sendInitialEvents=true", "", "", ""},
	{"GET", "/apis/apps/v1/deployments?labelSelector=a+in+(&fieldSelector=%3D", "", "application/vnd.kubernetes.protobuf", ""},
	{"GET", "//apis/..//%2e%2e/x/", "", "application/json;as=PartialObjectMetadataList;g=;v=", ""},
	{"GET", "/openapi/v3/apis/x.io/v1", "", "*/*;q=x", ""},
	{"POST", "/api/v1/namespaces/default/pods?dryRun=All&fieldValidation=Strict", "application/json", "", pod},
	{"POST", "/api/v1/namespaces/default/pods?dryRun=Some", "application/yaml", "", "a: &a [*a]"},
	{"POST", "/api/v1/namespaces/default/pods", "application/vnd.kubernetes.protobuf", "", "k8s\x00\x0a\xff\xff\xff\xff\x0f"},
	{"POST", "/api/v1/namespaces/default/pods/p/binding", "", "", binding},
	{"POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "application/json", "", definition},
	{"POST", "/apis/x.io/v1/a", "application/json", "", `{"apiVersion":"x.io/v1","kind":"A","metadata":[],"spec":1}`},
	{"POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "application/json", "", `{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","spec":null}`},
	{"PUT", "/apis/apps/v1/namespaces/default/deployments/d/scale", "application/json", "", scale},
	{"PUT", "/api/v1/namespaces/default/finalize", "application/json", "", `{"spec":{"finalizers":{}}}`},
	{"PATCH", "/api/v1/namespaces/default/configmaps/kube-root-ca.crt", "application/json-patch+json", "", `[{"op":"move","from":"/data","path":"/data/x"}]`},
	{"PATCH", "/api/v1/namespaces/default/pods/p", "application/strategic-merge-patch+json", "", `{"spec":{"containers":[{"$patch":"delete"}],"$setElementOrder/containers":[1]}}`},
	{"PATCH", "/api/v1/namespaces/default/serviceaccounts/default?fieldManager=f&force=x", "application/apply-patch+yaml", "", "metadata: {name: default, managedFields: [1]}"},
	{"PATCH", "/api/v1/namespaces/default/serviceaccounts/default", "application/merge-patch+json", "", `{"metadata":null,"kind":[]}`},
	{"DELETE", "/api/v1/namespaces/default?propagationPolicy=x", "application/json", "", `{"kind":"DeleteOptions","preconditions":{"uid":1}}`},
	{"DELETE", "/apis/x.io/v1/a?fieldSelector=spec.b%3D1", "", "", ""},
	{"\x00", "/api", "", "", ""},
}

// Whatever is sent, the server answers: never with a panic, which it would report as an error of its own,
// and afterwards it answers others. Longer: go test -run "^$" -fuzz FuzzRequests -fuzztime 10m .
func FuzzRequests(f *testing.F) {
	for _, r := range rawRequests {
		f.Add(r.method, r.uri, r.contentType, r.accept, r.body)
	}
	f.Fuzz(func(t *testing.T, method, uri, contentType, accept, body string) {
		s, err := apiserver.New(memory.New(memory.Options{}), apiserver.Options{})
		require.NoError(t, err)
		require.Equal(t, http.StatusCreated, ask(t, s, request{method: "POST", uri: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body: definition}))
		require.Equal(t, http.StatusCreated, ask(t, s, request{method: "POST", uri: "/api/v1/namespaces/default/pods", body: pod}))
		ask(t, s, request{method, uri, contentType, accept, body})
		require.Equal(t, http.StatusOK, ask(t, s, request{method: "GET", uri: "/api/v1/nodes"}), "others get no answer")
	})
}

// ask sends a request and returns the code of its answer, 0 if net/http does not take the URI.
func ask(t *testing.T, s *apiserver.Server, q request) int {
	at, err := url.ParseRequestURI(q.uri)
	if err != nil {
		return 0
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := (&http.Request{Method: q.method, URL: at, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(q.body))}).WithContext(ctx)
	r.Header.Set("Content-Type", q.contentType)
	r.Header.Set("Accept", q.accept)
	w := &flushed{httptest.NewRecorder(), cancel}
	s.ServeHTTP(w, r)
	if w.Code == http.StatusInternalServerError {
		require.NotContains(t, w.Body.String(), "panic: ", "%s %s", q.method, q.uri)
	}
	return w.Code
}

// flushed is a client that leaves when the first part of an answer is there: a watch ends then.
type flushed struct {
	*httptest.ResponseRecorder
	leave func()
}

// Flush leaves.
func (w *flushed) Flush() {
	w.ResponseRecorder.Flush()
	w.leave()
}
