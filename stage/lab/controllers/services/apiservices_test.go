package services_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/clustertest"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/services"
)

// TestAPIServices checks what the condition Available says while a Service becomes ready, by the
// controller and at once.
func TestAPIServices(t *testing.T) {
	for name, isAtOnce := range map[string]bool{"controller": false, "at once": true} {
		t.Run(name, func(t *testing.T) {
			c := clustertest.New(t, clustertest.Options{Nodes: 1})
			c.Load(`
{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.x.io}, spec: {group: x.io, version: v1, service: {name: s, namespace: default, port: 443}}}
---
{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.y.io}, spec: {group: y.io, version: v1}}
`)
			look := func(name string) string {
				if isAtOnce {
					require.NoError(t, services.CheckAPIServices(t.Context(), c.Cluster(), c.Now()))
				} else {
					c.Advance(10 * time.Second)
				}
				conditions, _, _ := unstructured.NestedSlice(c.Get("APIService", name).Object, "status", "conditions")
				require.Len(t, conditions, 1)
				condition := conditions[0].(map[string]any)
				return condition["status"].(string) + " " + condition["reason"].(string) + ": " + condition["message"].(string)
			}
			require.Equal(t, "True Local: Local APIServices are always available", look("v1.y.io"))
			require.Equal(t, `False ServiceNotFound: service/s in "default" is not present`, look("v1.x.io"))
			c.Load(`{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {type: ClusterIP, ports: [{name: web, port: 80}]}}`)
			require.Equal(t, `False ServicePortError: service/s in "default" is not listening on port 443`, look("v1.x.io"))
			c.Patch("Service", "s", `{spec: {ports: [{name: web, port: 80}, {name: web, port: 443}]}}`)
			require.Equal(t, `False EndpointsNotFound: cannot find endpointslices for service/s in "default"`, look("v1.x.io"))
			slice := func(ready string) string {
				return `{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: s-1, labels: {kubernetes.io/service-name: s}}, addressType: IPv4,
  endpoints: [{addresses: [10.0.0.1], conditions: {ready: ` + ready + `}}], ports: [{name: web, port: 6443}]}`
			}
			c.Load(slice("false"))
			require.Equal(t, `False MissingEndpoints: endpointslices for service/s in "default" have no addresses with port name "web"`, look("v1.x.io"))
			c.Patch("EndpointSlice", "s-1", `{endpoints: [{addresses: [10.0.0.1], conditions: {ready: true}}]}`)
			require.Equal(t, "True Passed: all checks passed", look("v1.x.io"))
			before := c.Get("APIService", "v1.x.io").GetResourceVersion()
			require.Equal(t, "True Passed: all checks passed", look("v1.x.io"))
			require.Equal(t, before, c.Get("APIService", "v1.x.io").GetResourceVersion(), "nothing has changed")
			c.Delete("Service", "s")
			require.Equal(t, `False ServiceNotFound: service/s in "default" is not present`, look("v1.x.io"))
		})
	}
}
