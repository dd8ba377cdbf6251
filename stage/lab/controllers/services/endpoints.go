package services

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/lists"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/pods"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/selectors"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// EndpointSlices returns the controller that lists the Pods that a Service selects, in
// EndpointSlices and in the older Endpoints. A Pod is listed with its first address.
//
// The controller keeps state. Create a separate controller for each loop.
func EndpointSlices() reconcile.Controller {
	tracker := triggerTimeTracker{}
	bySelector := &reconcile.SelectorIndex{Kind: kinds.Service, Selector: serviceSelector}
	selecting := func(c *reconcile.Cache, ch reconcile.Change) []types.NamespacedName {
		return control.Selecting(c, bySelector, ch)
	}
	return reconcile.Controller{
		Name: "endpointslice", For: kinds.Service,
		Watches: []reconcile.Watch{
			{Kind: kinds.Pod, Map: selecting},
			{Kind: kinds.EndpointSlice},
			{Kind: kinds.Endpoints, Map: deleted},
		},
		Reconcile: func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
			service := r.Cache.Get(kinds.Service, r.Name)
			if service == nil {
				delete(tracker, r.Name)
				return reconcile.Result{}, deleteEndpoints(control.NewCall(ctx, r), r.Name)
			}
			return reconcile.Result{}, reconcileEndpoints(control.NewCall(ctx, r), service, tracker)
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
	serviceNameLabel = "kubernetes.io/service-name"
	managedByLabel   = "endpointslice.kubernetes.io/managed-by"
	sliceManager     = "endpointslice-controller.k8s.io"
	largestSlice     = 100
)

// serviceSelector returns the selector of a Service, nil if it selects nothing.
func serviceSelector(service *unstructured.Unstructured) labels.Selector {
	return selectors.Selector{MatchLabels: fields.Map(service.Object, "spec", "selector")}.Labels()
}

// A portGroup is the Pods of a Service that have the same ports: a named port can be a different
// number in each Pod.
type portGroup struct {
	ports []any
	pods  []pods.Pod
}

func reconcileEndpoints(c control.Call, service *unstructured.Unstructured, tracker triggerTimeTracker) error {
	selector := serviceSelector(service)
	if selector == nil || fields.IsTerminating(service) {
		return nil // the endpoints of a Service without a selector are kept by somebody else
	}
	selected := pods.OfAll(c.Cache.Select(kinds.Pod, service.GetNamespace(), selector))
	groups := portGroups(service, selected)
	w := sliceWriter{Call: c, service: service, triggerTime: tracker.next(service, selected)}
	if err := w.sync(groups); err != nil {
		return err
	}
	return endpointsWriter{c, service, w.triggerTime}.sync(groups)
}

func portGroups(service *unstructured.Unstructured, selected []pods.Pod) (groups []*portGroup) {
	for _, p := range selected {
		if podIP(p) == "" || p.IsTerminal() {
			continue
		}
		ports := portsOf(service, p)
		i := slices.IndexFunc(groups, func(g *portGroup) bool { return object.DeepEqual(g.ports, ports) })
		if i < 0 {
			i, groups = len(groups), append(groups, &portGroup{ports: ports})
		}
		groups[i].pods = append(groups[i].pods, p)
	}
	return groups
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

// A sliceWriter writes the slices of one Service.
type sliceWriter struct {
	control.Call
	service     *unstructured.Unstructured
	triggerTime string                       // of the changes that are written; "" if it is not known
	old         []*unstructured.Unstructured // the slices that are not used yet, by name
}

// sync writes the Pods into as many slices as necessary, and deletes the others. Without Pods it
// writes one slice without endpoints.
func (w *sliceWriter) sync(groups []*portGroup) error {
	w.old = lists.Filter(w.Cache.Owned(kinds.EndpointSlice, w.service.GetUID()), func(s *unstructured.Unstructured) bool { return !fields.IsTerminating(s) })
	for _, g := range groups {
		for chunk := range slices.Chunk(g.pods, largestSlice) {
			if err := w.write(newSlice(w.service, g.ports, chunk)); err != nil {
				return err
			}
		}
	}
	if len(groups) == 0 {
		if err := w.write(newSlice(w.service, nil, nil)); err != nil {
			return err
		}
	}
	return w.DeleteAll(w.old)
}

func newSlice(service *unstructured.Unstructured, ports []any, chunk []pods.Pod) *unstructured.Unstructured {
	s := control.NewGenerated(kinds.EndpointSlice, service)
	control.Metadata(s)["labels"] = sliceLabels(service)
	var found []any
	s.Object["addressType"] = "IPv4"
	publish := fields.Bool(service.Object, "spec", "publishNotReadyAddresses")
	for _, p := range chunk {
		if strings.Contains(podIP(p), ":") {
			s.Object["addressType"] = "IPv6"
		}
		found = append(found, endpoint(service, p, publish))
	}
	if len(found) > 0 {
		s.Object["endpoints"] = found
	}
	if len(ports) > 0 {
		s.Object["ports"] = ports
	}
	return s
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

// write changes the next of the old slices into a new one, or creates the new one without an old
// one.
func (w *sliceWriter) write(next *unstructured.Unstructured) error {
	if len(w.old) == 0 {
		if w.triggerTime != "" {
			next.SetAnnotations(map[string]string{triggerTimeKey: w.triggerTime})
		}
		_, err := w.Create(next)
		return err
	}
	var old *unstructured.Unstructured
	old, w.old = w.old[0], w.old[1:]
	change := map[string]any{}
	for _, field := range []string{"endpoints", "ports", "addressType"} {
		if !object.DeepEqual(old.Object[field], next.Object[field]) {
			change[field] = next.Object[field]
		}
	}
	labels := changedLabels(old, sliceLabels(w.service))
	if len(change) == 0 && len(labels) == 0 {
		return nil
	}
	change["metadata"] = changedMetadata(labels, w.triggerTime)
	_, err := w.MergePatch(old, change)
	return err
}
