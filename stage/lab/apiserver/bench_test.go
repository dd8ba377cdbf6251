package apiserver_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/lab/apiserver"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

const benchedPod = `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "NAME", "namespace": "default", "labels": {"app": "web"}}, "spec": {"containers": [
	{"name": "web", "image": "web:1", "env": [{"name": "A", "value": "b"}], "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}}, "ports": [{"containerPort": 80}]},
	{"name": "log", "image": "log:1", "volumeMounts": [{"name": "v", "mountPath": "/v"}]}], "volumes": [{"name": "v", "emptyDir": {}}]}}`

// BenchmarkRequests has the usual requests, without a connection: their allocations are what the
// budgets of requests cost.
func BenchmarkRequests(b *testing.B) {
	const pods = "/api/v1/namespaces/default/pods"
	for _, c := range []struct {
		name, method, path, kind string
		body                     func(i int) string
	}{
		{"get", "GET", pods + "/target", "", nil},
		{"list", "GET", pods + "?labelSelector=app=web", "", nil},
		{"create", "POST", pods, "application/json", func(i int) string { return strings.Replace(benchedPod, "NAME", fmt.Sprint("p", i), 1) }},
		{"patch", "PATCH", pods + "/target/status", "application/merge-patch+json", func(i int) string { return fmt.Sprintf(`{"status": {"message": "%d"}}`, i) }},
		{"json patch", "PATCH", pods + "/target", "application/json-patch+json", func(i int) string {
			return fmt.Sprintf(`[{"op": "add", "path": "/metadata/labels/n", "value": "v%d"}]`, i)
		}},
		{"apply", "PATCH", pods + "/target?fieldManager=x&force=true", "application/apply-patch+yaml", func(i int) string {
			return fmt.Sprintf(`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "target", "annotations": {"n": "v%d"}}}`, i)
		}},
		{"custom create", "POST", "/apis/example.com/v1/namespaces/default/ovens", "application/json", func(i int) string {
			return fmt.Sprintf(`{"apiVersion": "example.com/v1", "kind": "Oven", "metadata": {"name": "o%d"}, "spec": {"name": "abc", "degrees": 200}}`, i)
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := benched(b)
			send(b, s, "POST", pods, "application/json", strings.Replace(benchedPod, "NAME", "target", 1))
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				i++
				body := ""
				if c.body != nil {
					body = c.body(i)
				}
				send(b, s, c.method, c.path, c.kind, body)
			}
		})
	}
}

func benched(b testing.TB) *apiserver.Server {
	s, err := apiserver.New(memory.New(memory.Options{}), apiserver.Options{})
	require.NoError(b, err)
	definition, err := os.ReadFile("testdata/oven.json")
	require.NoError(b, err)
	send(b, s, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "application/json", string(definition))
	return s
}

func send(b testing.TB, s http.Handler, method, path, kind, body string) {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", kind)
	w := httptest.NewRecorder()
	if s.ServeHTTP(w, r); w.Code >= 300 {
		b.Fatalf("%s %s: %d %.300s", method, path, w.Code, w.Body)
	}
}
