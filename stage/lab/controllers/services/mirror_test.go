package services_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/clustertest"
)

const copies = "endpointslice.kubernetes.io/managed-by=endpointslicemirroring-controller.k8s.io"

const database = `
apiVersion: v1
kind: Service
metadata: {name: database}
spec: {ports: [{name: sql, port: 5432}]}
---
apiVersion: v1
kind: Endpoints
metadata: {name: database, labels: {tier: data}, annotations: {note: hand-made, kubectl.kubernetes.io/last-applied-configuration: "{}"}}
subsets:
- addresses: [{ip: 10.9.0.2, hostname: b}, {ip: 10.9.0.1, nodeName: node-000}]
  notReadyAddresses: [{ip: 10.9.0.3}]
  ports: [{name: sql, port: 5432, protocol: TCP}]
- addresses: [{ip: "fd00::1"}]
  ports: [{name: sql, port: 5432, protocol: TCP}, {name: admin, port: 8080, protocol: TCP}]
`

// TestEndpointsAreMirrored checks that the Endpoints of a Service without a selector have copies, which
// follow them and end with them.
func TestEndpointsAreMirrored(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{Nodes: 1})
	c.Load(database)
	c.Settle()
	slices := c.List("EndpointSlice", copies)
	require.Len(t, slices, 3)
	byType := map[string][]map[string]any{}
	for _, s := range slices {
		require.Equal(t, "hand-made", s.GetAnnotations()["note"])
		require.Len(t, s.GetAnnotations(), 1)
		require.Equal(t, "data", s.GetLabels()["tier"])
		require.Equal(t, "database", s.GetLabels()["kubernetes.io/service-name"])
		require.Equal(t, "Endpoints", s.GetOwnerReferences()[0].Kind)
		require.Equal(t, "database-", s.GetGenerateName())
		byType[s.Object["addressType"].(string)] = append(byType[s.Object["addressType"].(string)], s.Object)
	}
	// The port sql has four addresses, the port admin one of them.
	require.Len(t, byType["IPv6"], 2)
	sql := map[string]any{"name": "sql", "port": int64(5432), "protocol": "TCP"}
	require.Equal(t, []any{sql}, byType["IPv4"][0]["ports"])
	require.Equal(t, []any{
		map[string]any{"addresses": []any{"10.9.0.1"}, "conditions": map[string]any{"ready": true}, "nodeName": "node-000"},
		map[string]any{"addresses": []any{"10.9.0.2"}, "conditions": map[string]any{"ready": true}, "hostname": "b"},
		map[string]any{"addresses": []any{"10.9.0.3"}, "conditions": map[string]any{"ready": false}},
	}, byType["IPv4"][0]["endpoints"])

	c.Patch("Endpoints", "database", `{subsets: [{addresses: [{ip: 10.9.0.7}], ports: [{name: other, port: 1, protocol: TCP}]}]}`)
	c.Settle()
	slices = c.List("EndpointSlice", copies)
	require.Len(t, slices, 1)
	require.Equal(t, "IPv4", slices[0].Object["addressType"])
	require.Equal(t, []any{map[string]any{"name": "other", "port": int64(1), "protocol": "TCP"}}, slices[0].Object["ports"])
	before := slices[0].GetResourceVersion()
	c.Settle()
	require.Equal(t, before, c.List("EndpointSlice", copies)[0].GetResourceVersion(), "nothing is written without a change")

	c.DeleteNow("EndpointSlice", slices[0].GetName())
	c.Settle()
	require.Len(t, c.List("EndpointSlice", copies), 1, "it is there again")
	c.Delete("Endpoints", "database")
	c.Settle()
	require.Empty(t, c.List("EndpointSlice", copies))
}

// TestEndpointsThatAreNotMirrored checks which Endpoints have no copies: without a Service, with the label or the
// annotation for it, or of a Service that has a selector now.
func TestEndpointsThatAreNotMirrored(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{Nodes: 1})
	c.Load(database)
	c.Settle()
	require.NotEmpty(t, c.List("EndpointSlice", copies))
	for _, change := range []struct{ kind, with, without string }{
		{"Endpoints", `{metadata: {labels: {endpointslice.kubernetes.io/skip-mirror: "true"}}}`, `{metadata: {labels: {endpointslice.kubernetes.io/skip-mirror: null}}}`},
		{"Endpoints", `{metadata: {annotations: {control-plane.alpha.kubernetes.io/leader: "{}"}}}`, `{metadata: {annotations: {control-plane.alpha.kubernetes.io/leader: null}}}`},
		{"Service", `{spec: {selector: {app: none}}}`, `{spec: {selector: null}}`},
	} {
		c.Patch(change.kind, "database", change.with)
		c.Settle()
		require.Empty(t, c.List("EndpointSlice", copies), change.with)
		c.Patch(change.kind, "database", change.without)
		c.Patch("Endpoints", "database", `{subsets: [{addresses: [{ip: 10.9.0.7}]}]}`) // a Service that had a selector has none of these
		c.Settle()
		require.Len(t, c.List("EndpointSlice", copies), 1, change.without)
	}
	c.Delete("Service", "database")
	c.Settle()
	require.Empty(t, c.List("EndpointSlice", copies))
}
