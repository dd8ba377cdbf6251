package services

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// APIServices returns the controller that says whether APIServices are available: those without a Service
// are, and the others if the Service has the port and ready endpoints. A program that does not answer
// is taken to answer.
func APIServices() reconcile.Controller {
	return reconcile.Controller{
		Name: "apiservice", For: kinds.APIService,
		Watches: []reconcile.Watch{
			{Kind: kinds.Service, Map: func(c *reconcile.Cache, ch reconcile.Change) []types.NamespacedName {
				return served(c, control.NameOf(ch.Object()))
			}},
			{Kind: kinds.EndpointSlice, Map: func(c *reconcile.Cache, ch reconcile.Change) []types.NamespacedName {
				return served(c, types.NamespacedName{Namespace: ch.Object().GetNamespace(), Name: fields.Label(ch.Object(), serviceNameLabel)})
			}},
		},
		Reconcile: control.OnExisting(kinds.APIService, func(c control.Call, u *unstructured.Unstructured) (reconcile.Result, error) {
			service := serviceOf(u)
			return reconcile.Result{}, writeAvailable(c.Context, c.Client, u, c.Now, judge(u, c.Cache.Get(kinds.Service, service), c.Cache.List(kinds.EndpointSlice, service.Namespace)))
		}),
	}
}

// CheckAPIServices does the same at once for all APIServices of a cluster.
func CheckAPIServices(ctx context.Context, c transport.Transport, now time.Time) error {
	found, err := c.List(ctx, kinds.APIService, "", metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range found.Items {
		u := &found.Items[i]
		var service *unstructured.Unstructured
		var slices []*unstructured.Unstructured
		if name := serviceOf(u); name.Name != "" {
			if service, err = c.Get(ctx, kinds.Service, name); err != nil && !apierrors.IsNotFound(err) {
				return err
			}
			list, err := c.List(ctx, kinds.EndpointSlice, name.Namespace, metav1.ListOptions{LabelSelector: serviceNameLabel + "=" + name.Name})
			if err != nil {
				return err
			}
			for i := range list.Items {
				slices = append(slices, &list.Items[i])
			}
		}
		if err := writeAvailable(ctx, c, u, now, judge(u, service, slices)); err != nil {
			return err
		}
	}
	return nil
}

// served returns the APIServices that a Service serves.
func served(c *reconcile.Cache, service types.NamespacedName) (names []types.NamespacedName) {
	for _, u := range c.List(kinds.APIService, "") {
		if serviceOf(u) == service {
			names = append(names, control.NameOf(u))
		}
	}
	return names
}

func serviceOf(u *unstructured.Unstructured) types.NamespacedName {
	s := fields.Map(u.Object, "spec", "service")
	return types.NamespacedName{Namespace: fields.String(s, "namespace"), Name: fields.String(s, "name")}
}

// An availability is what the condition Available says.
type availability struct{ status, reason, message string }

// judge says whether an APIService is available.
func judge(u, service *unstructured.Unstructured, slices []*unstructured.Unstructured) availability {
	name, port := serviceOf(u), fields.Int64(u.Object, 443, "spec", "service", "port")
	not := func(reason, format string, args ...any) availability {
		return availability{"False", reason, fmt.Sprintf(format, args...)}
	}
	switch {
	case name.Name == "":
		return availability{"True", "Local", "Local APIServices are always available"}
	case service == nil:
		return not("ServiceNotFound", "service/%s in %q is not present", name.Name, name.Namespace)
	case fields.String(service.Object, "spec", "type") == "ClusterIP":
		portName, has := portNamed(service, port)
		if !has {
			return not("ServicePortError", "service/%s in %q is not listening on port %d", name.Name, name.Namespace, port)
		}
		own := ofService(slices, name.Name)
		if len(own) == 0 {
			return not("EndpointsNotFound", "cannot find endpointslices for service/%s in %q", name.Name, name.Namespace)
		}
		if !hasEndpoint(own, portName) {
			return not("MissingEndpoints", "endpointslices for service/%s in %q have no addresses with port name %q", name.Name, name.Namespace, portName)
		}
	}
	return availability{"True", "Passed", "all checks passed"}
}

// portNamed returns the name of a port of a Service.
func portNamed(service *unstructured.Unstructured, port int64) (name string, has bool) {
	for _, p := range fields.Maps(service.Object, "spec", "ports") {
		if fields.Int64(p, 0, "port") == port {
			return fields.String(p, "name"), true
		}
	}
	return "", false
}

func ofService(slices []*unstructured.Unstructured, name string) (own []*unstructured.Unstructured) {
	for _, s := range slices {
		if fields.Label(s, serviceNameLabel) == name {
			own = append(own, s)
		}
	}
	return own
}

// hasEndpoint reports whether a slice has a ready endpoint and a port of a name.
func hasEndpoint(slices []*unstructured.Unstructured, portName string) bool {
	for _, s := range slices {
		isReady, hasPort := false, false
		for _, e := range fields.Maps(s.Object, "endpoints") {
			ready, said := fields.Value(e, "conditions", "ready").(bool)
			isReady = isReady || ready || !said
		}
		for _, p := range fields.Maps(s.Object, "ports") {
			hasPort = hasPort || fields.Value(p, "port") != nil && fields.String(p, "name") == portName
		}
		if isReady && hasPort {
			return true
		}
	}
	return false
}

// writeAvailable writes the condition Available if it says something else. Its time is that of the last
// change of the status.
func writeAvailable(ctx context.Context, c transport.Writer, u *unstructured.Unstructured, now time.Time, a availability) error {
	next := map[string]any{"type": "Available", "status": a.status, "reason": a.reason, "message": a.message, "lastTransitionTime": now.UTC().Format(time.RFC3339)}
	all := []any{}
	for _, condition := range fields.Maps(u.Object, "status", "conditions") {
		switch {
		case fields.String(condition, "type") != "Available":
			all = append(all, condition)
		case fields.String(condition, "status") == a.status:
			next["lastTransitionTime"] = fields.String(condition, "lastTransitionTime")
		}
	}
	all = append(all, next)
	if object.DeepEqual(fields.Value(u.Object, "status", "conditions"), any(all)) {
		return nil
	}
	data, err := object.AppendJSON(nil, map[string]any{"metadata": map[string]any{"resourceVersion": u.GetResourceVersion()}, "status": map[string]any{"conditions": all}})
	if err != nil {
		return err
	}
	_, err = c.Patch(ctx, kinds.APIService, control.NameOf(u), types.MergePatchType, data, metav1.PatchOptions{FieldManager: "kube-apiserver"}, "status")
	return control.IgnoreNotFound(err)
}
