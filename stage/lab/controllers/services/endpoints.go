package services

import (
	"cmp"
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/pods"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/selectors"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// EndpointSlices returns the controller that lists the Pods that a Service selects, in
// EndpointSlices and in the older Endpoints. A Pod is listed with its first address.
//
// As kube-controller-manager, it changes as few slices as possible: a Pod stays in its slice, and a new
// one comes into the fullest slice that has room. Endpoints have at most 1000 addresses. A reconcile
// costs as much as the Pods that have changed, their slices, and these 1000.
//
// The controller keeps state. Create a separate controller for each loop.
func EndpointSlices() reconcile.Controller {
	var k keeper
	return reconcile.Controller{
		Name: endpointsController, For: kinds.Service,
		Watches: []reconcile.Watch{
			{Kind: kinds.Pod, Map: func(c *reconcile.Cache, ch reconcile.Change) []types.NamespacedName {
				names := control.Selecting(c, servicesBySelector, ch)
				k.podChanged(names, ch)
				return names
			}},
			{Kind: kinds.EndpointSlice}, {Kind: kinds.EndpointSlice, Map: k.sliceChanged},
			{Kind: kinds.Endpoints, Map: deleted},
		},
		Reconcile: func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
			c := control.NewCall(ctx, r)
			service := r.Cache.Get(kinds.Service, r.Name)
			if service == nil {
				k.forget(r.Name)
				return reconcile.Result{}, deleteEndpoints(c, r.Name)
			}
			return reconcile.Result{}, k.reconcile(c, service)
		},
	}
}

// deleted maps a deleted object to its key. Endpoints that a user changes stay as they are until a
// Pod changes, as in Kubernetes.
func deleted(_ *reconcile.Cache, ch reconcile.Change) []types.NamespacedName {
	if ch.New != nil {
		return nil
	}
	return []types.NamespacedName{control.NameOf(ch.Old)}
}

const (
	endpointsController = "endpointslice"
	serviceNameLabel    = "kubernetes.io/service-name"
	managedByLabel      = "endpointslice.kubernetes.io/managed-by"
	sliceManager        = "endpointslice-controller.k8s.io"
	largestSlice        = 100
)

var servicesBySelector = &reconcile.SelectorIndex{Kind: kinds.Service, Selector: serviceSelector}

// serviceSelector returns the selector of a Service, nil if it selects nothing.
func serviceSelector(service *unstructured.Unstructured) labels.Selector {
	return selectors.Selector{MatchLabels: fields.Map(service.Object, "spec", "selector")}.Labels()
}

func podIP(p pods.Pod) string { return fields.String(p.Object, "status", "podIP") }

// portsOf returns the ports of a Service in a Pod. A named port that no container has is left out.
func portsOf(service *unstructured.Unstructured, p pods.Pod) []any {
	ports := []any{}
	for _, port := range fields.Maps(service.Object, "spec", "ports") {
		protocol := cmp.Or(fields.String(port, "protocol"), "TCP")
		n, ok := object.ToInt64(fields.Value(port, "targetPort"))
		if name, named := fields.Value(port, "targetPort").(string); named {
			n, ok = namedPort(p, name, protocol)
		} else if !ok {
			n, ok = object.ToInt64(fields.Value(port, "port"))
		}
		if !ok {
			continue
		}
		found := map[string]any{"name": fields.String(port, "name"), "port": n, "protocol": protocol}
		if p := fields.String(port, "appProtocol"); p != "" {
			found["appProtocol"] = p
		}
		ports = append(ports, found)
	}
	return ports
}

func namedPort(p pods.Pod, name, protocol string) (int64, bool) {
	for _, c := range fields.Maps(p.Object, "spec", "containers") {
		for _, port := range fields.Maps(c, "ports") {
			if fields.String(port, "name") == name && cmp.Or(fields.String(port, "protocol"), "TCP") == protocol {
				return object.Int64(port, "containerPort")
			}
		}
	}
	return 0, false
}

func podRef(p pods.Pod) map[string]any {
	return map[string]any{"kind": "Pod", "namespace": p.GetNamespace(), "name": p.GetName(), "uid": string(p.GetUID())}
}

func sliceLabels(service *unstructured.Unstructured) map[string]any {
	labels := labelsOfService(service)
	labels[serviceNameLabel], labels[managedByLabel] = service.GetName(), sliceManager
	return labels
}

func endpoint(service *unstructured.Unstructured, p pods.Pod, publish bool) map[string]any {
	e := map[string]any{
		"addresses":  []any{podIP(p)},
		"conditions": map[string]any{"ready": publish || p.IsReady() && !p.IsTerminating(), "serving": p.IsReady(), "terminating": p.IsTerminating()},
		"targetRef":  podRef(p),
	}
	if node := p.NodeName(); node != "" {
		e["nodeName"] = node
	}
	if host := hostname(service, p); host != "" {
		e["hostname"] = host
	}
	return e
}
