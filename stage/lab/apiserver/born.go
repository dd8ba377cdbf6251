package apiserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"time"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	flowcontrol "k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"
)

// createBorn creates the objects that kube-apiserver creates in a new cluster, in addition to Namespaces,
// roles, its Service and its range of addresses.
func (s *Server) createBorn(ctx context.Context) error {
	for _, create := range []func(context.Context) error{s.createPriorities, s.prepareAPIServices, s.createFlows, s.createEndpoints, s.createAuthentication} {
		if err := create(ctx); err != nil {
			return err
		}
	}
	return nil
}

// createPriorities creates the PriorityClasses of the system.
func (s *Server) createPriorities(ctx context.Context) error {
	for _, class := range []struct {
		name, text string
		value      int64
	}{
		{"system-node-critical", "Used for system critical pods that must not be moved from their current node.", 2000001000},
		{"system-cluster-critical", "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.", 2000000000},
	} {
		u := named("scheduling.k8s.io/v1", "PriorityClass", "", class.name)
		u.Object["value"], u.Object["description"] = class.value, class.text
		if err := ensure(ctx, s.cluster, u, "kube-apiserver"); err != nil {
			return err
		}
	}
	return nil
}

// createFlows creates the FlowSchemas and PriorityLevelConfigurations that k8s.io/apiserver suggests.
// They are data here: no request waits for another one.
func (s *Server) createFlows(ctx context.Context) error {
	const manager = "api-priority-and-fairness-config-producer-v1"
	for _, levels := range [][]*flowcontrolv1.PriorityLevelConfiguration{flowcontrol.MandatoryPriorityLevelConfigurations, flowcontrol.SuggestedPriorityLevelConfigurations} {
		for _, level := range levels {
			u, err := unstructuredOf(level, "PriorityLevelConfiguration")
			if err != nil {
				return err
			}
			if err := ensure(ctx, s.cluster, u, manager); err != nil {
				return err
			}
		}
	}
	for _, schemas := range [][]*flowcontrolv1.FlowSchema{flowcontrol.MandatoryFlowSchemas, flowcontrol.SuggestedFlowSchemas} {
		for _, schema := range schemas {
			u, err := unstructuredOf(schema, "FlowSchema")
			if err != nil {
				return err
			}
			if err := ensure(ctx, s.cluster, u, manager); err != nil {
				return err
			}
			if err := s.foundLevel(ctx, u, schema.Spec.PriorityLevelConfiguration.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// foundLevel says in the status of a FlowSchema that its PriorityLevelConfiguration exists.
func (s *Server) foundLevel(ctx context.Context, schema *unstructured.Unstructured, level string) error {
	data, err := json.Marshal(map[string]any{
		"apiVersion": schema.GetAPIVersion(), "kind": schema.GetKind(), "metadata": map[string]any{"name": schema.GetName()},
		"status": map[string]any{"conditions": []any{map[string]any{"type": "Dangling", "status": "False", "reason": "Found", "lastTransitionTime": s.cluster.Now().UTC().Format(time.RFC3339),
			"message": fmt.Sprintf("This FlowSchema references the PriorityLevelConfiguration object named %q and it exists", level)}}},
	})
	if err != nil {
		return err
	}
	force := true
	_, err = s.cluster.Patch(ctx, schema.GroupVersionKind(), types.NamespacedName{Name: schema.GetName()}, types.ApplyPatchType, data,
		metav1.PatchOptions{FieldManager: "api-priority-and-fairness-config-consumer-v1", Force: &force}, "status")
	return err
}

func unstructuredOf(obj runtime.Object, kind string) (*unstructured.Unstructured, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, err
	}
	delete(fields, "status")
	u := &unstructured.Unstructured{Object: fields}
	u.SetAPIVersion("flowcontrol.apiserver.k8s.io/v1")
	u.SetKind(kind)
	u.SetCreationTimestamp(metav1.Time{})
	return u, nil
}

// endpointOfNobody is where the server is said to be if it listens on loopback or not at all: Endpoints
// must not be on loopback. The address is for documentation.
var endpointOfNobody = netip.MustParseAddrPort("192.0.2.1:6443")

// createEndpoints creates the Endpoints and the EndpointSlice of the Service kubernetes.
func (s *Server) createEndpoints(ctx context.Context) error {
	at := s.endpoint
	if !at.IsValid() || at.Addr().IsLoopback() || at.Addr().IsUnspecified() {
		at = endpointOfNobody
	}
	ip, port, kind := at.Addr().Unmap().String(), int64(at.Port()), "IPv4"
	if at.Addr().Unmap().Is6() {
		kind = "IPv6"
	}
	ports := func() []any { return []any{map[string]any{"name": "https", "port": port, "protocol": "TCP"}} }
	e := named("v1", "Endpoints", metav1.NamespaceDefault, "kubernetes")
	e.SetLabels(map[string]string{"endpointslice.kubernetes.io/skip-mirror": "true"})
	e.Object["subsets"] = []any{map[string]any{"addresses": []any{map[string]any{"ip": ip}}, "ports": ports()}}
	if err := ensure(ctx, s.cluster, e, "kube-apiserver"); err != nil {
		return err
	}
	slice := named("discovery.k8s.io/v1", "EndpointSlice", metav1.NamespaceDefault, "kubernetes")
	slice.SetLabels(map[string]string{"kubernetes.io/service-name": "kubernetes"})
	slice.Object["addressType"], slice.Object["ports"] = kind, ports()
	slice.Object["endpoints"] = []any{map[string]any{"addresses": []any{ip}, "conditions": map[string]any{"ready": true}}}
	return ensure(ctx, s.cluster, slice, "kube-apiserver")
}

// createAuthentication tells other API servers which authorities sign the certificates of clients.
func (s *Server) createAuthentication(ctx context.Context) error {
	if s.clientCA == "" {
		return nil
	}
	authentication := named("v1", "ConfigMap", metav1.NamespaceSystem, "extension-apiserver-authentication")
	authentication.Object["data"] = map[string]any{"client-ca-file": s.clientCA}
	return ensure(ctx, s.cluster, authentication, "kube-apiserver")
}

// endpointAt returns the address of a listener; an invalid one if it is none of TCP.
func endpointAt(a net.Addr) netip.AddrPort {
	host, port, err := net.SplitHostPort(a.String())
	if err != nil {
		return netip.AddrPort{}
	}
	ip, err := netip.ParseAddr(host)
	n, bad := strconv.ParseUint(port, 10, 16)
	if err != nil || bad != nil {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(ip, uint16(n))
}
