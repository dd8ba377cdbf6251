package services_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/clustertest"
)

// TestServiceCIDRs checks that a range gets a finalizer and becomes ready, and that a deleted one stays
// while an address would be without a range, and ten seconds longer.
func TestServiceCIDRs(t *testing.T) {
	c := clustertest.New(t, clustertest.Options{})
	c.Load(`{apiVersion: networking.k8s.io/v1, kind: ServiceCIDR, metadata: {name: small}, spec: {cidrs: [203.0.113.0/24]}}`)
	c.Advance(0)
	const kind = "ServiceCIDR"
	condition := func(name string) map[string]any {
		conditions, _, _ := unstructured.NestedSlice(c.Get(kind, name).Object, "status", "conditions")
		require.Len(t, conditions, 1)
		return conditions[0].(map[string]any)
	}
	require.Equal(t, []string{"networking.k8s.io/service-cidr-finalizer"}, c.Get(kind, "small").GetFinalizers())
	require.Equal(t, map[string]any{"type": "Ready", "status": "True", "reason": "", "message": "Kubernetes Service CIDR is ready", "lastTransitionTime": "2026-01-01T00:00:00Z"}, condition("small"))

	address := func(name, manager string) {
		c.Load(`{apiVersion: networking.k8s.io/v1, kind: IPAddress, metadata: {name: ` + name + `, labels: {ipaddress.kubernetes.io/managed-by: ` + manager + `}},
  spec: {parentRef: {resource: services, namespace: default, name: a}}}`)
	}
	address("203.0.113.10", "ipallocator.k8s.io")
	address("203.0.113.11", "somebody")
	address("203.0.113.255", "ipallocator.k8s.io")
	c.Delete(kind, "small")
	c.Advance(time.Minute)
	require.Equal(t, "False", condition("small")["status"])
	require.Equal(t, "Terminating: There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR",
		condition("small")["reason"].(string)+": "+condition("small")["message"].(string))
	c.Delete("IPAddress", "203.0.113.10")
	c.Advance(0)
	require.Empty(t, c.Names(kind, ""), "the broadcast address and that of another manager do not count; ten seconds have passed")

	c.Load(`{apiVersion: networking.k8s.io/v1, kind: ServiceCIDR, metadata: {name: small}, spec: {cidrs: [203.0.113.0/24]}}`)
	address("203.0.113.10", "ipallocator.k8s.io")
	c.Advance(0)
	c.Delete(kind, "small")
	c.Advance(time.Second)
	require.Equal(t, "False", condition("small")["status"])
	c.Load(`{apiVersion: networking.k8s.io/v1, kind: ServiceCIDR, metadata: {name: large}, spec: {cidrs: [203.0.0.0/16]}}`)
	c.Advance(8 * time.Second)
	require.Equal(t, []string{"large", "small"}, c.Names(kind, ""))
	c.Advance(time.Second)
	require.Equal(t, []string{"large"}, c.Names(kind, ""))
}
