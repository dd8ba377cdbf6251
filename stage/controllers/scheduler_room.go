package controllers

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// resources are amounts by name: CPU in thousandths, the others in their unit.
type resources map[string]int64

func (r resources) add(other resources, sign int64) {
	for name, n := range other {
		r[name] += sign * n
	}
}

// most makes each amount at least that of other.
func (r resources) most(other resources) {
	for name, n := range other {
		r[name] = max(r[name], n)
	}
}

func (r resources) plain() map[string]any {
	m := make(map[string]any, len(r))
	for name, n := range r {
		m[name] = n
	}
	return m
}

// readResources reads quantities. One that cannot be read counts as nothing.
func readResources(m map[string]any) resources {
	r := make(resources, len(m))
	for name := range m {
		q, err := resource.ParseQuantity(quantityText(m[name]))
		switch {
		case err != nil:
		case name == "cpu":
			r[name] = q.MilliValue()
		default:
			r[name] = q.Value()
		}
	}
	return r
}

// requestsOf is what a Pod needs: the sum of its containers, or what an init container needs if that is more, beside the sidecars that were
// started before it.
func requestsOf(obj *unstructured.Unstructured) resources {
	spec := tree(obj.Object, "spec")
	sum, first := resources{}, resources{}
	sidecars := resources{}
	for _, c := range trees(spec, "initContainers") {
		need := containerRequests(c)
		if text(c, "restartPolicy") == "Always" {
			sidecars.add(need, 1)
			first.most(sidecars)
			continue
		}
		need.add(sidecars, 1)
		first.most(need)
	}
	for _, c := range trees(spec, "containers") {
		sum.add(containerRequests(c), 1)
	}
	sum.add(sidecars, 1)
	sum.most(first)
	sum.add(readResources(tree(spec, "overhead")), 1)
	maps.DeleteFunc(sum, func(_ string, n int64) bool { return n == 0 })
	return sum
}

// containerRequests are its requests, and its limits where it says no more.
func containerRequests(c map[string]any) resources {
	r := readResources(tree(c, "resources", "limits"))
	maps.Copy(r, readResources(tree(c, "resources", "requests")))
	return r
}

// A nodeRoom is a node and what Pods use of it.
type nodeRoom struct {
	name        string
	there       bool // the node exists
	cordoned    bool
	labels      map[string]any
	taints      []map[string]any // those that keep Pods away
	allocatable resources
	used        resources
	pods        int64
}

func (n *nodeRoom) isEmpty() bool { return n.pods == 0 }

// see takes in the state of the node, nil if it is gone.
func (n *nodeRoom) see(obj *unstructured.Unstructured) {
	if n.there = obj != nil; obj == nil {
		return
	}
	n.cordoned = flag(obj.Object, "spec", "unschedulable")
	n.labels = tree(obj.Object, "metadata", "labels")
	n.allocatable = readResources(tree(obj.Object, "status", "allocatable"))
	n.taints = taintsOf(obj)
}

// taintsOf are the taints of a node that keep Pods away. One that is not ready has that of the node lifecycle controller.
func taintsOf(obj *unstructured.Unstructured) []map[string]any {
	taints := keep(trees(obj.Object, "spec", "taints"), func(t map[string]any) bool {
		return slices.Contains([]string{"NoSchedule", "NoExecute"}, text(t, "effect"))
	})
	if !conditionsOf(obj).find("Ready").is() {
		taints = append(taints, map[string]any{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"})
	}
	return taints
}

func (n *nodeRoom) take(r resources) {
	n.used.add(r, 1)
	n.pods++
}

func (n *nodeRoom) release(r resources) {
	n.used.add(r, -1)
	n.pods--
}

// Pods that request nothing count like this when nodes are compared, as in kube-scheduler.
const (
	assumedCPU    = 100       // thousandths
	assumedMemory = 200 << 20 // bytes
)

// score is the mean free share of CPU, memory and places for Pods after the Pod has come.
func (n *nodeRoom) score(r *podRequest) float64 {
	cpu := max(r.resources["cpu"], assumedCPU) + n.used["cpu"]
	memory := max(r.resources["memory"], assumedMemory) + n.used["memory"]
	return free(cpu, n.allocatable["cpu"]) + free(memory, n.allocatable["memory"]) + free(n.pods+1, n.allocatable["pods"])
}

func free(used, of int64) float64 {
	if of <= 0 || used > of {
		return 0
	}
	return float64(of-used) / float64(of)
}
