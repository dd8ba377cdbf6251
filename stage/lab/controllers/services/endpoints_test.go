package services_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/clustertest"
)

func TestEndpointsListThePodsOfAService(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{Nodes: 1})
	c.Load(clustertest.Bundle())
	c.Settle()
	slices := c.List("EndpointSlice", "kubernetes.io/service-name=web")
	require.Len(t, slices, 1)
	found, _, _ := unstructured.NestedSlice(slices[0].Object, "endpoints")
	require.Len(t, found, 2)
	require.Equal(t, map[string]any{"ready": true, "serving": true, "terminating": false}, found[0].(map[string]any)["conditions"])
	require.Equal(t, []any{map[string]any{"name": "http", "port": int64(8080), "protocol": "TCP"}}, slices[0].Object["ports"])
	subsets, _, _ := unstructured.NestedSlice(c.Get("Endpoints", "web").Object, "subsets")
	require.Len(t, subsets[0].(map[string]any)["addresses"], 2)

	c.Patch("Service", "web", `{spec: {ports: [{port: 80, targetPort: web, name: http, appProtocol: kubernetes.io/h2c}]}}`)
	c.Settle()
	ports := []any{}
	for _, s := range c.List("EndpointSlice", "kubernetes.io/service-name=web") {
		ports = append(ports, s.Object["ports"])
	}
	require.Contains(t, ports, []any{map[string]any{"name": "http", "port": int64(8080), "protocol": "TCP", "appProtocol": "kubernetes.io/h2c"}})

	c.Load(clustertest.Pod("guest", clustertest.SmallPod))
	c.Patch("Pod", "guest", `{metadata: {labels: {app: web}, ownerReferences: [{apiVersion: v1, kind: Host, name: h, uid: u, controller: true}]}}`)
	c.Settle()
	subsetCount := func() int {
		subsets, _, _ := unstructured.NestedSlice(c.Get("Endpoints", "web").Object, "subsets")
		return len(subsets)
	}
	require.Equal(t, 2, subsetCount(), "it has no port of the name that is asked for")
	c.Patch("Pod", "guest", `{metadata: {labels: {app: other}}}`)
	c.Settle()
	require.Equal(t, 1, subsetCount(), "no longer selected")

	c.Patch("Deployment", "web", `{spec: {replicas: 0}}`)
	c.Settle()
	slices = c.List("EndpointSlice", "kubernetes.io/service-name=web")
	require.Len(t, slices, 1)
	require.Empty(t, slices[0].Object["endpoints"])
}

// TestEndpointsHaveTheLabelsOfTheirService checks that Endpoints and EndpointSlices have the labels
// of the Service. It also checks that Endpoints have no owner, are deleted with their Service, and
// are created again.
func TestEndpointsHaveTheLabelsOfTheirService(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{Nodes: 1})
	c.Load(clustertest.Bundle())
	c.Settle()
	c.Patch("Service", "web", `{metadata: {labels: {of: user, wrong: "no"}}}`)
	c.Settle()
	c.Patch("Service", "web", `{metadata: {labels: {wrong: null}}}`)
	c.Settle()
	endpoints, slice := c.Get("Endpoints", "web"), c.List("EndpointSlice", "kubernetes.io/service-name=web")[0]
	require.Equal(t, map[string]string{"of": "user", "endpoints.kubernetes.io/managed-by": "endpoint-controller"}, endpoints.GetLabels())
	require.Equal(t, map[string]string{"of": "user", "kubernetes.io/service-name": "web", "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io"}, slice.GetLabels())
	require.Empty(t, endpoints.GetOwnerReferences())
	require.Empty(t, endpoints.GetAnnotations(), "the last change was not of a Pod")

	c.Delete("Endpoints", "web")
	c.Settle()
	require.Equal(t, endpoints.Object["subsets"], c.Get("Endpoints", "web").Object["subsets"])
	c.Patch("Service", "web", `{spec: {clusterIP: None}}`)
	c.Settle()
	require.Contains(t, c.Get("Endpoints", "web").GetLabels(), "service.kubernetes.io/headless")
	c.Delete("Service", "web")
	c.Settle()
	require.NotContains(t, c.Names("Endpoints", ""), "web")
}
