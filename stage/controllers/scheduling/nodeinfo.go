package scheduling

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/controllers/resources"
)

// A NodeInfo is a Node with what filters and scores read of it, and the sum of what its Pods
// request. It must not be used from several goroutines at once.
type NodeInfo struct {
	Name string
	// Node is nil if there is none: Pods may name a Node that is gone or that is not known yet. It
	// must not be changed.
	Node *unstructured.Unstructured
	// Allocatable is what the Node has for Pods, Requested the sum of what its Pods request, in the
	// units of package resources. They must not be changed.
	Allocatable, Requested resources.Amounts
	// Pods is how many Pods are on the Node.
	Pods int64

	unschedulable bool
	labels        map[string]any
	taints        []Taint
	capacity      scoredAmounts // Allocatable, as scores read it
	used          scoredAmounts // Requested, as scores read it
}

// scoredAmounts are the amounts that a score is made of. The score is computed for every Pod and
// Node, and maps are slow.
type scoredAmounts struct{ cpu, memory, pods int64 }

func scoredAmountsOf(a resources.Amounts) scoredAmounts {
	return scoredAmounts{a["cpu"], a["memory"], a["pods"]}
}

// NewNodeInfo returns a Node without Pods. Its Pods that are not terminal are to be added.
func NewNodeInfo(node *unstructured.Unstructured) *NodeInfo {
	n := &NodeInfo{Name: node.GetName(), Requested: resources.Amounts{}}
	n.setNode(node)
	return n
}

// setNode takes in a new state of the Node, nil if it was deleted.
func (n *NodeInfo) setNode(node *unstructured.Unstructured) {
	n.Node = node
	if node == nil {
		return
	}
	n.unschedulable = fields.Bool(node.Object, "spec", "unschedulable")
	n.labels = fields.Map(node.Object, "metadata", "labels")
	n.taints = Taints(node)
	n.Allocatable = resources.Allocatable(node)
	n.capacity = scoredAmountsOf(n.Allocatable)
}

// AddPod counts a Pod that is on the Node, or is to be.
func (n *NodeInfo) AddPod(pod *unstructured.Unstructured) { n.add(resources.OfPod(pod), 1) }

// RemovePod takes a Pod away that was added.
func (n *NodeInfo) RemovePod(pod *unstructured.Unstructured) { n.add(resources.OfPod(pod), -1) }

// add counts Pods with the same requests; times is negative if they are removed.
func (n *NodeInfo) add(requests resources.Amounts, times int64) {
	n.Requested.Add(requests, times)
	n.Pods += times
	n.used = scoredAmountsOf(n.Requested)
}

// Free returns what is left of Allocatable, and of its "pods" how many more Pods the Node takes.
// The caller may change it. An amount is negative if more is requested than the Node has.
func (n *NodeInfo) Free() resources.Amounts {
	free := resources.Amounts{}
	free.Add(n.Allocatable, 1)
	free.Add(n.Requested, -1)
	free["pods"] -= n.Pods
	return free
}

// Clone returns a copy to which Pods can be added without a change of n, to try out a placement.
func (n *NodeInfo) Clone() *NodeInfo {
	c := *n
	c.Requested = maps.Clone(n.Requested)
	return &c
}

// Containers that request nothing count like this in scores, as in kube-scheduler.
const (
	defaultCPU    = 100       // millicores
	defaultMemory = 200 << 20 // bytes
)

// leastAllocated scores a Node by the free shares of CPU, memory and places for Pods that it has
// once the Pod is there.
func leastAllocated(p *PodInfo, n *NodeInfo) float64 {
	return freeShare(n.used.cpu+p.scored.cpu, n.capacity.cpu) +
		freeShare(n.used.memory+p.scored.memory, n.capacity.memory) +
		freeShare(n.Pods+1, n.capacity.pods)
}

func freeShare(used, capacity int64) float64 {
	if capacity <= 0 || used > capacity {
		return 0
	}
	return float64(capacity-used) / float64(capacity)
}
