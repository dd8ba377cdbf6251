package controllers

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/internal/requests"
)

func plain(a requests.Amounts) map[string]any {
	m := make(map[string]any, len(a))
	for name, n := range a {
		m[name] = n
	}
	return m
}

// A nodeRoom is a node and what Pods use of it.
type nodeRoom struct {
	name        string
	there       bool // the node exists
	cordoned    bool
	labels      map[string]any
	taints      []map[string]any // those that keep Pods away
	allocatable requests.Amounts
	used        requests.Amounts
	pods        int64
	size, taken basics // the same, to compare nodes by
}

// basics are the amounts that nodes are compared by: CPU in thousandths, memory in bytes, places for Pods.
type basics struct{ cpu, memory, pods int64 }

func basicsOf(a requests.Amounts) basics { return basics{a["cpu"], a["memory"], a["pods"]} }

func (n *nodeRoom) isEmpty() bool { return n.pods == 0 }

// see takes in the state of the node, nil if it is gone.
func (n *nodeRoom) see(obj *unstructured.Unstructured) {
	if n.there = obj != nil; obj == nil {
		return
	}
	n.cordoned = flag(obj.Object, "spec", "unschedulable")
	n.labels = tree(obj.Object, "metadata", "labels")
	n.allocatable = requests.Read(tree(obj.Object, "status", "allocatable"))
	n.size = basicsOf(n.allocatable)
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

func (n *nodeRoom) take(r requests.Amounts) {
	n.used.Add(r, 1)
	n.pods++
	n.taken = basicsOf(n.used)
}

func (n *nodeRoom) release(r requests.Amounts) {
	n.used.Add(r, -1)
	n.pods--
	n.taken = basicsOf(n.used)
}

// Pods that request nothing count like this when nodes are compared, as in kube-scheduler.
const (
	assumedCPU    = 100       // thousandths
	assumedMemory = 200 << 20 // bytes
)

// score is the mean free share of CPU, memory and places for Pods after the Pod has come.
func (n *nodeRoom) score(r *podRequest) float64 {
	cpu, memory := r.basics.cpu+n.taken.cpu, r.basics.memory+n.taken.memory
	return free(cpu, n.size.cpu) + free(memory, n.size.memory) + free(n.pods+1, n.size.pods)
}

func free(used, of int64) float64 {
	if of <= 0 || used > of {
		return 0
	}
	return float64(of-used) / float64(of)
}
