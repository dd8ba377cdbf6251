// Package resources adds up and compares the resources that Pods request and Nodes offer, as a
// scheduler or a quota needs it.
//
// # Usage
//
//	free := resources.Allocatable(node)
//	for _, pod := range podsOnTheNode {
//		free.Add(resources.OfPod(pod), -1)
//	}
//	fits := free.Covers(resources.OfPod(next))
//
// # Units
//
// An amount is an int64. CPU is in thousandths of a core: 1500 for the quantity 1500m. Everything
// else is in its base unit, which is bytes for memory and storage, and pieces for Pods and extended
// resources such as GPUs. Fractions are rounded up.
//
// # Concurrency
//
// The functions are safe for concurrent use; they do not change their arguments, except for Add.
// Amounts are a map: Add must not be called while another goroutine uses the same map.
//
// # Compatibility
//
// OfPod counts as kube-scheduler 1.36 does, without resource claims.
package resources

import (
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
)

// Amounts are resources by name, such as cpu, memory or nvidia.com/gpu. A missing name means 0. The
// package comment defines the units.
type Amounts map[string]int64

// Add adds other amounts a number of times; -1 subtracts them.
func (a Amounts) Add(other Amounts, times int64) {
	for name, n := range other {
		a[name] += times * n
	}
}

// Covers reports whether there is at least as much of every resource as is wanted. A resource with
// a wanted amount of 0 is covered unless the amount is negative.
func (a Amounts) Covers(wanted Amounts) bool {
	for name, n := range wanted {
		if n > a[name] {
			return false
		}
	}
	return true
}

// raiseTo makes each amount at least the amount in other.
func (a Amounts) raiseTo(other Amounts) {
	for name, n := range other {
		a[name] = max(a[name], n)
	}
}

// Parse reads Kubernetes quantities by name, for example the field status.allocatable of a Node. A
// quantity that cannot be read is left out.
func Parse(quantities map[string]any) Amounts {
	a := make(Amounts, len(quantities))
	for name, v := range quantities {
		q, err := resource.ParseQuantity(quantityText(v))
		switch {
		case err != nil:
		case name == "cpu":
			a[name] = q.MilliValue()
		default:
			a[name] = q.Value()
		}
	}
	return a
}

// quantityText returns a quantity as text: YAML turns a quantity that looks like a number into one.
func quantityText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return fmt.Sprint(v)
}

// Allocatable returns the amounts that a Node has for Pods, from status.allocatable. The amount of
// "pods" is the largest number of Pods.
func Allocatable(node *unstructured.Unstructured) Amounts {
	quantities, _ := object.Map(node.Object, "status", "allocatable")
	return Parse(quantities)
}

// OfPod returns the requests of a Pod, see [OfPodSpec].
func OfPod(pod *unstructured.Unstructured) Amounts {
	spec, _ := object.Map(pod.Object, "spec")
	return OfPodSpec(spec)
}

// OfPodSpec returns what a Pod with this spec, for example the spec of a template, requests. It is
// the sum of its containers, or the request of an init container if that is higher. Both include
// the sidecars that run at that time. What the Pod as a whole requests of CPU, memory and huge
// pages (spec.resources) replaces that sum; spec.overhead is added. A container that has a limit
// and no request for a resource requests its limit. The result leaves out resources whose request
// is 0. It does not count the place that the Pod takes among the "pods" of a Node.
func OfPodSpec(spec map[string]any) Amounts { return OfPodSpecOr(spec, nil) }

// OfPodSpecOr is like OfPodSpec, but each container without a request for a resource requests the
// amount in byDefault. kube-scheduler scores Nodes in this way.
func OfPodSpecOr(spec map[string]any, byDefault Amounts) Amounts {
	sum := ofContainers(spec, byDefault)
	if limits, _ := object.Map(spec, "resources", "limits"); limits != nil {
		requested := ofContainers(spec, nil)
		for name, limit := range Parse(limits) {
			if _, ok := requested[name]; !ok && isOfWholePods(name) {
				sum[name] = limit
			}
		}
	}
	requests, _ := object.Map(spec, "resources", "requests")
	for name, request := range Parse(requests) {
		if isOfWholePods(name) {
			sum[name] = request
		}
	}
	overhead, _ := object.Map(spec, "overhead")
	sum.Add(Parse(overhead), 1)
	maps.DeleteFunc(sum, func(_ string, n int64) bool { return n == 0 })
	return sum
}

// isOfWholePods reports whether spec.resources of a Pod may have a resource.
func isOfWholePods(name string) bool {
	return name == "cpu" || name == "memory" || strings.HasPrefix(name, "hugepages-")
}

// ofContainers returns what the containers of a Pod need at the same time.
func ofContainers(spec map[string]any, byDefault Amounts) Amounts {
	sum, highest, sidecars := Amounts{}, Amounts{}, Amounts{}
	for _, c := range containers(spec, "initContainers") {
		request := ofContainer(c, byDefault)
		if policy, _ := object.String(c, "restartPolicy"); policy == "Always" {
			sidecars.Add(request, 1)
			highest.raiseTo(sidecars)
			continue
		}
		request.Add(sidecars, 1)
		highest.raiseTo(request)
	}
	for _, c := range containers(spec, "containers") {
		sum.Add(ofContainer(c, byDefault), 1)
	}
	sum.Add(sidecars, 1)
	sum.raiseTo(highest)
	return sum
}

func containers(spec map[string]any, field string) (found []map[string]any) {
	list, _ := object.Slice(spec, field)
	for _, v := range list {
		if c, ok := object.ToMap(v); ok {
			found = append(found, c)
		}
	}
	return found
}

// ofContainer returns the requests of a container. A resource without a request has its limit, and
// a resource with neither has the default.
func ofContainer(c map[string]any, byDefault Amounts) Amounts {
	limits, _ := object.Map(c, "resources", "limits")
	requests, _ := object.Map(c, "resources", "requests")
	a := Amounts{}
	maps.Copy(a, byDefault)
	maps.Copy(a, Parse(limits))
	maps.Copy(a, Parse(requests))
	return a
}
