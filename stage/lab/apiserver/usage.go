package apiserver

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	discoveryv2 "k8s.io/api/apidiscovery/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage/lab/containers"
)

var (
	metricsAPI  = schema.GroupVersion{Group: "metrics.k8s.io", Version: "v1beta1"}
	nodeMetrics = metricsAPI.WithKind("NodeMetrics")
	podMetrics  = metricsAPI.WithKind("PodMetrics")
)

// usageGroup is the API of metrics-server.
func usageGroup() group {
	of := func(name string, kind schema.GroupVersionKind, scope discoveryv2.ResourceScope, path string) *resource {
		columns := map[string]any{"additionalPrinterColumns": []any{
			map[string]any{"name": "cpu", "type": "string", "jsonPath": path + ".cpu"},
			map[string]any{"name": "memory", "type": "string", "jsonPath": path + ".memory"},
			map[string]any{"name": "Window", "type": "string", "jsonPath": ".window"},
		}}
		return &resource{kind: kind, storage: kind, version: metricsAPI, measured: true, columns: columnsOf(columns), APIResourceDiscovery: discoveryv2.APIResourceDiscovery{
			Resource: name, Scope: scope, Verbs: []string{"get", "list"},
			ResponseKind: &metav1.GroupVersionKind{Group: kind.Group, Version: kind.Version, Kind: kind.Kind},
		}}
	}
	return group{metricsAPI, []*resource{
		of("nodes", nodeMetrics, discoveryv2.ScopeCluster, ".usage"),
		of("pods", podMetrics, discoveryv2.ScopeNamespace, ".containers[*].usage"),
	}}
}

// measurements answers with what nodes or Pods use. What runs nothing, or has nothing that says what
// it uses, has no metrics.
func (c *call) measurements() error {
	switch verb := c.verb(c.r); {
	case c.subresource != "":
		return errUnknown()
	case verb == "get" && c.name != "":
		return c.measurement()
	case verb != "list":
		return errMethod()
	}
	o, err := c.listOptions()
	if err != nil {
		return err
	}
	o.Limit, o.Continue = 0, ""
	list, err := c.cluster.List(c.ctx, c.measuredKind(), c.namespace, o)
	if err != nil {
		return err
	}
	measure := c.measure()
	found := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": metricsAPI.String(), "kind": c.of.kind.Kind + "List", "metadata": map[string]any{}}}
	for i := range list.Items {
		m, err := measure(&list.Items[i])
		if err != nil {
			c.leaveOut(err)
		}
		if m != nil {
			found.Items = append(found.Items, *m)
		}
	}
	return c.writeList(found)
}

// mostLeftOut is how many warnings of an answer name Pods without usage.
const mostLeftOut = 10

// leaveOut warns the client that an answer is without a Pod, because the usage of the Pod has an error.
func (c *call) leaveOut(err error) {
	switch c.leftOut++; {
	case c.leftOut <= mostLeftOut:
		warn(c.w, "a Pod is left out: "+err.Error())
	case c.leftOut == mostLeftOut+1:
		warn(c.w, "more Pods are left out: the usage of each has an error")
	}
}

func (c *call) measurement() error {
	obj, err := c.cluster.Get(c.ctx, c.measuredKind(), c.key())
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	var m *unstructured.Unstructured
	if err == nil {
		m, err = c.measure()(obj)
	}
	if m == nil && (err == nil || apierrors.IsNotFound(err)) {
		name := c.name
		if c.namespace != "" {
			name = c.namespace + "/" + c.name
		}
		return apierrors.NewNotFound(schema.GroupResource{Group: metricsAPI.Group, Resource: map[string]string{"nodes": "nodemetrics", "pods": "podmetrics"}[c.of.Resource]}, name)
	}
	if err != nil {
		return err
	}
	return c.write(http.StatusOK, m)
}

func (c *call) measuredKind() schema.GroupVersionKind {
	if c.of.kind == nodeMetrics {
		return nodes
	}
	return pods
}

// measure returns the function that measures a Node or a Pod; it returns nil for one without metrics.
func (c *call) measure() func(*unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if c.of.kind == podMetrics {
		return c.measurePod
	}
	var byNode map[string][]*unstructured.Unstructured // read once
	return func(node *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		if byNode == nil {
			list, err := c.cluster.List(c.ctx, pods, "", metav1.ListOptions{})
			if err != nil {
				return nil, err
			}
			byNode = map[string][]*unstructured.Unstructured{}
			for i := range list.Items {
				name, _, _ := unstructured.NestedString(list.Items[i].Object, "spec", "nodeName")
				byNode[name] = append(byNode[name], &list.Items[i])
			}
		}
		return c.measureNode(node, byNode[node.GetName()])
	}
}

func (c *call) measurePod(pod *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	used, err := containers.Of(c.cluster).Usage(c.ctx, pod)
	if errors.Is(err, containers.ErrNotSimulated) || err == nil && len(used) == 0 {
		return nil, nil //nolint:nilnil // it has no metrics
	}
	if err != nil {
		return nil, err
	}
	var all []any
	at := time.Time{}
	for _, name := range sortedNames(used) {
		all = append(all, map[string]any{"name": name, "usage": usageFields(used[name])})
		at = earliest(at, used[name].Time)
	}
	m := c.newMetrics(pod, at)
	m.Object["containers"] = all
	return m, nil
}

// measureNode adds up what the Pods of a Node use, without those whose usage has an error.
func (c *call) measureNode(node *unstructured.Unstructured, onNode []*unstructured.Unstructured) (*unstructured.Unstructured, error) {
	sum, at := containers.Usage{}, time.Time{}
	for _, pod := range onNode {
		used, err := containers.Of(c.cluster).Usage(c.ctx, pod)
		if err != nil && !errors.Is(err, containers.ErrNotSimulated) {
			c.leaveOut(err)
		}
		for _, u := range used {
			sum.CPU.Add(u.CPU)
			sum.Memory.Add(u.Memory)
			at = earliest(at, u.Time)
		}
	}
	m := c.newMetrics(node, earliest(at, c.cluster.Now()))
	m.Object["usage"] = usageFields(sum)
	return m, nil
}

func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// newMetrics returns the metrics of an object without the usage.
func (c *call) newMetrics(of *unstructured.Unstructured, at time.Time) *unstructured.Unstructured {
	m := &unstructured.Unstructured{Object: map[string]any{"timestamp": at.UTC().Format(time.RFC3339), "window": fmt.Sprint(containers.Window)}}
	m.SetGroupVersionKind(c.of.kind)
	m.SetName(of.GetName())
	m.SetNamespace(of.GetNamespace())
	m.SetLabels(of.GetLabels())
	m.SetCreationTimestamp(metav1.NewTime(c.cluster.Now()))
	return m
}

func usageFields(u containers.Usage) map[string]any {
	return map[string]any{"cpu": u.CPU.String(), "memory": u.Memory.String()}
}

func sortedNames(used map[string]containers.Usage) []string {
	return slices.Sorted(maps.Keys(used))
}
