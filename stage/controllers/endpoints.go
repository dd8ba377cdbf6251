package controllers

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/internal/patch"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// EndpointSlices returns the controller that lists the Pods that a Service selects, in EndpointSlices and, as before these, in Endpoints. A Pod is listed
// with its first address.
//
// The controller has a state. Give each loop one of its own.
func EndpointSlices() reconcile.Controller {
	told := triggers{}
	selecting := func(c *reconcile.Cache, ch reconcile.Change) (names []types.NamespacedName) {
		for _, s := range c.List(services, ch.Object().GetNamespace()) {
			if selectsPod(s, ch.Old) || selectsPod(s, ch.New) {
				names = append(names, nameOf(s))
			}
		}
		return names
	}
	return reconcile.Controller{
		Name: "endpointslice", For: services,
		Watches: []reconcile.Watch{
			{Kind: pods, Map: selecting},
			{Kind: endpointSlices},
			{Kind: endpoints, Map: func(_ *reconcile.Cache, ch reconcile.Change) []types.NamespacedName {
				return []types.NamespacedName{nameOf(ch.Object())}
			}},
		},
		Reconcile: func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
			service := r.Cache.Get(services, r.Name)
			if service == nil {
				delete(told, r.Name)
				return reconcile.Result{}, nil
			}
			return reconcile.Result{}, reconcileEndpoints(call{Request: r, ctx: ctx}, service, told)
		},
	}
}

const (
	serviceNameLabel = "kubernetes.io/service-name"
	managedByLabel   = "endpointslice.kubernetes.io/managed-by"
	sliceManager     = "endpointslice-controller.k8s.io"
	largestSlice     = 100
)

func serviceSelector(service *unstructured.Unstructured) selector {
	return selector{plain: tree(service.Object, "spec", "selector")}
}

func selectsPod(service, p *unstructured.Unstructured) bool {
	return p != nil && serviceSelector(service).matches(p)
}

// A portGroup is Pods of a Service that have the same ports: a named port may be another one in each Pod.
type portGroup struct {
	ports []any
	pods  []pod
}

func reconcileEndpoints(c call, service *unstructured.Unstructured, told triggers) error {
	if len(tree(service.Object, "spec", "selector")) == 0 || isTerminating(service) {
		return nil // without a selector somebody else keeps the endpoints
	}
	selected := keep(podsOf(c.Cache.List(pods, service.GetNamespace())), func(p pod) bool { return selectsPod(service, p.Unstructured) })
	groups := portGroups(service, selected)
	w := sliceWriter{call: c, service: service, changed: told.next(service, selected)}
	if err := w.sync(groups); err != nil {
		return err
	}
	return c.syncEndpoints(service, groups)
}

func portGroups(service *unstructured.Unstructured, selected []pod) (groups []*portGroup) {
	for _, p := range selected {
		if p.ip() == "" || p.ended() {
			continue
		}
		ports := portsOf(service, p)
		i := slices.IndexFunc(groups, func(g *portGroup) bool { return patch.Equal(g.ports, ports) })
		if i < 0 {
			i, groups = len(groups), append(groups, &portGroup{ports: ports})
		}
		groups[i].pods = append(groups[i].pods, p)
	}
	return groups
}

func (p pod) ip() string { return text(p.Object, "status", "podIP") }

// portsOf are the ports of a Service in a Pod. A name that no container has is left out.
func portsOf(service *unstructured.Unstructured, p pod) []any {
	ports := []any{}
	for _, port := range trees(service.Object, "spec", "ports") {
		protocol := cmp.Or(text(port, "protocol"), "TCP")
		n, ok := object.ToInt64(port["targetPort"])
		if name, named := port["targetPort"].(string); named {
			n, ok = p.portNamed(name, protocol)
		} else if !ok {
			n, ok = object.ToInt64(port["port"])
		}
		if ok {
			ports = append(ports, map[string]any{"name": text(port, "name"), "port": n, "protocol": protocol})
		}
	}
	return ports
}

func (p pod) portNamed(name, protocol string) (int64, bool) {
	for _, c := range trees(p.Object, "spec", "containers") {
		for _, port := range trees(c, "ports") {
			if text(port, "name") == name && cmp.Or(text(port, "protocol"), "TCP") == protocol {
				return object.Int64(port, "containerPort")
			}
		}
	}
	return 0, false
}

func podRef(p pod) map[string]any {
	return map[string]any{"kind": "Pod", "namespace": p.GetNamespace(), "name": p.GetName(), "uid": string(p.GetUID())}
}

// A sliceWriter writes the slices of one Service.
type sliceWriter struct {
	call
	service *unstructured.Unstructured
	changed string                       // when what is to be told happened; "" if the Service does not know
	old     []*unstructured.Unstructured // the slices that are still to be used, by name
}

// sync writes the Pods into as many slices as it takes, and deletes what is left over. Without Pods one is kept, without endpoints.
func (w *sliceWriter) sync(groups []*portGroup) error {
	w.old = keep(w.Cache.Owned(endpointSlices, w.service.GetUID()), func(s *unstructured.Unstructured) bool { return !isTerminating(s) })
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
	return w.deleteAll(w.old)
}

func newSlice(service *unstructured.Unstructured, ports []any, chunk []pod) *unstructured.Unstructured {
	s := newObject(endpointSlices, service.GetNamespace(), "")
	metadata := s.Object["metadata"].(map[string]any)
	delete(metadata, "name")
	metadata["generateName"] = service.GetName() + "-"
	metadata["labels"] = map[string]any{serviceNameLabel: service.GetName(), managedByLabel: sliceManager}
	metadata["ownerReferences"] = []any{controllerRef(service)}
	var found []any
	s.Object["addressType"] = "IPv4"
	publish := flag(service.Object, "spec", "publishNotReadyAddresses")
	for _, p := range chunk {
		if strings.Contains(p.ip(), ":") {
			s.Object["addressType"] = "IPv6"
		}
		found = append(found, endpoint(p, publish))
	}
	if len(found) > 0 {
		s.Object["endpoints"] = found
	}
	if len(ports) > 0 {
		s.Object["ports"] = ports
	}
	return s
}

func endpoint(p pod, publish bool) map[string]any {
	e := map[string]any{
		"addresses":  []any{p.ip()},
		"conditions": map[string]any{"ready": publish || p.ready() && !p.terminating(), "serving": p.ready(), "terminating": p.terminating()},
		"targetRef":  podRef(p),
	}
	if node := p.node(); node != "" {
		e["nodeName"] = node
	}
	if host := text(p.Object, "spec", "hostname"); host != "" && text(p.Object, "spec", "subdomain") != "" {
		e["hostname"] = host
	}
	return e
}

// write turns the next of the old slices into one, or makes it.
func (w *sliceWriter) write(next *unstructured.Unstructured) error {
	if len(w.old) == 0 {
		if w.changed != "" {
			next.SetAnnotations(map[string]string{triggerTimeKey: w.changed})
		}
		_, err := w.create(next)
		return err
	}
	var old *unstructured.Unstructured
	old, w.old = w.old[0], w.old[1:]
	change := map[string]any{}
	for _, field := range []string{"endpoints", "ports", "addressType"} {
		if !patch.Equal(old.Object[field], next.Object[field]) {
			change[field] = next.Object[field]
		}
	}
	if len(change) == 0 {
		return nil
	}
	var at any // null takes it away
	if w.changed != "" {
		at = w.changed
	}
	change["metadata"] = map[string]any{"annotations": map[string]any{triggerTimeKey: at}}
	_, err := w.merge(old, change)
	return err
}

// syncEndpoints writes the object of the name of the Service.
func (c call) syncEndpoints(service *unstructured.Unstructured, groups []*portGroup) error {
	publish := flag(service.Object, "spec", "publishNotReadyAddresses")
	var subsets []any
	for _, g := range groups {
		if s := subset(g, publish); s != nil {
			subsets = append(subsets, s)
		}
	}
	old := c.Cache.Get(endpoints, nameOf(service))
	if old == nil {
		e := newObject(endpoints, service.GetNamespace(), service.GetName())
		e.Object["metadata"].(map[string]any)["ownerReferences"] = []any{controllerRef(service)}
		if subsets != nil {
			e.Object["subsets"] = subsets
		}
		_, err := c.create(e)
		return err
	}
	if patch.Equal(list(old.Object, "subsets"), subsets) {
		return nil
	}
	change := map[string]any{"subsets": subsets}
	if subsets == nil {
		change["subsets"] = nil
	}
	_, err := c.merge(old, change)
	return err
}

func subset(g *portGroup, publish bool) map[string]any {
	s := map[string]any{}
	for _, p := range g.pods {
		field := "notReadyAddresses"
		if publish || p.ready() && !p.terminating() {
			field = "addresses"
		} else if p.terminating() {
			continue
		}
		address := map[string]any{"ip": p.ip(), "targetRef": podRef(p)}
		if node := p.node(); node != "" {
			address["nodeName"] = node
		}
		s[field] = append(list(s, field), address)
	}
	if len(s) == 0 {
		return nil
	}
	if len(g.ports) > 0 {
		s["ports"] = withoutEmptyNames(g.ports)
	}
	return s
}

// withoutEmptyNames: unlike in slices, a port without a name does not say so.
func withoutEmptyNames(ports []any) []any {
	bare := make([]any, len(ports))
	for i, v := range ports {
		port, _ := object.ToMap(v)
		if port = maps.Clone(port); port["name"] == "" {
			delete(port, "name")
		}
		bare[i] = port
	}
	return bare
}
