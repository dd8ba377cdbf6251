package scheduling

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/resources"
)

// A NodeInfo is a Node with the fields that plugins read, its Pods, and the sum of their requests.
// It must not be used from several goroutines at once.
type NodeInfo struct {
	Name string
	// Node is nil if the Node does not exist: a Pod can name a Node that is gone or not known yet.
	// It must not be changed.
	Node *unstructured.Unstructured
	// Allocatable are the amounts that the Node has for Pods. Requested is the sum of the requests
	// of its Pods. Both have the units of package resources. They must not be changed.
	Allocatable, Requested resources.Amounts
	// Pods are the Pods that use the Node: bound to it, or about to be bound, and not terminal.
	// They must not be changed.
	Pods []*PodInfo

	unschedulable    bool
	labels           map[string]any
	taints           []Taint          // that keep Pods away
	softTaints       []Taint          // that are only to be avoided
	images           map[string]int64 // bytes, by name
	ports            map[hostPort]int // in use by Pods
	withAffinity     []*PodInfo       // Pods that have terms of Pod affinity or anti-affinity
	withAntiAffinity []*PodInfo       // Pods with required anti-affinity
	capacity         scoredAmounts    // Allocatable, as scores read it
	used             scoredAmounts    // Requested, as scores read it, with defaults for Pods without requests
	requested        scoredAmounts    // Requested, as scores read it
	zone             string           // region and zone
	added            int              // in which order Nodes came
	at               int              // among the Nodes of a Cycle
	counts           *podCounts       // of Pods; nil until the first use
}

// scoredAmounts are the amounts that a score is made of. The score is computed for every Pod and
// Node, and maps are slow.
type scoredAmounts struct{ cpu, memory int64 }

func scoredAmountsOf(a resources.Amounts) scoredAmounts {
	return scoredAmounts{a["cpu"], a["memory"]}
}

func (a *scoredAmounts) add(b scoredAmounts, times int64) {
	a.cpu += times * b.cpu
	a.memory += times * b.memory
}

// NewNodeInfo returns a Node without Pods. The caller adds its Pods that are not terminal.
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
	n.labels = labelsOfNode(node)
	n.taints = Taints(node)
	n.softTaints = taintsWith(node, preferNoSchedule)
	n.images = imagesOn(node)
	n.Allocatable = resources.Allocatable(node)
	n.capacity = scoredAmountsOf(n.Allocatable)
	n.zone = fields.String(n.labels, "topology.kubernetes.io/region") + "/" + fields.String(n.labels, labelZone)
}

// labelsOfNode returns the labels of a Node, with the label of its host name, which every kubelet
// sets.
func labelsOfNode(node *unstructured.Unstructured) map[string]any {
	labels := labelsOf(node)
	if fields.Value(labels, labelHostname) != nil {
		return labels
	}
	all := map[string]any{labelHostname: node.GetName()}
	maps.Copy(all, labels)
	return all
}

// AddPod counts a Pod that is bound to the Node, or about to be bound.
func (n *NodeInfo) AddPod(p *PodInfo) {
	n.count(p, 1)
	n.Pods = append(n.Pods, p)
	if p.affinity.hasTerms() {
		n.withAffinity = append(n.withAffinity, p)
	}
	if len(p.affinity.requiredAnti) > 0 {
		n.withAntiAffinity = append(n.withAntiAffinity, p)
	}
}

// RemovePod takes a Pod away that was added.
func (n *NodeInfo) RemovePod(p *PodInfo) {
	n.count(p, -1)
	n.Pods = without(n.Pods, p)
	n.withAffinity = without(n.withAffinity, p)
	n.withAntiAffinity = without(n.withAntiAffinity, p)
}

// without takes one Pod out and puts the last one in its place, as kube-scheduler does: the order of
// Pods decides between victims that are alike.
func without[T comparable](list []T, p T) []T {
	at := slices.Index(list, p)
	if at < 0 {
		return list
	}
	last := len(list) - 1
	list[at] = list[last]
	clear(list[last:])
	return list[:last]
}

func (n *NodeInfo) count(p *PodInfo, times int64) {
	n.counts.change(p, times)
	n.Requested.Add(p.Requests, times)
	n.used.add(p.counted, times)
	n.requested.add(scoredAmountsOf(p.Requests), times)
	for _, port := range p.ports {
		if n.ports == nil {
			n.ports = map[hostPort]int{}
		}
		if n.ports[port] += int(times); n.ports[port] == 0 {
			delete(n.ports, port)
		}
	}
}

// updatePod takes in a later state of a Pod of the Node.
func (n *NodeInfo) updatePod(p *PodInfo, pod *unstructured.Unstructured) {
	n.counts.change(p, -1)
	p.setPod(pod)
	n.counts.change(p, 1)
}

// selected is how many Pods of a namespace a selector matches, without Pods that are being deleted.
func (n *NodeInfo) selected(s *selector, namespace string) int64 {
	if n.counts == nil {
		n.counts = countPods(n.Pods)
	}
	return n.counts.selected(s, namespace)
}

// Free returns the rest of Allocatable. Its amount of "pods" is how many more Pods the Node takes.
// The caller may change the result. An amount is negative if more is requested than the Node has.
func (n *NodeInfo) Free() resources.Amounts {
	free := resources.Amounts{}
	free.Add(n.Allocatable, 1)
	free.Add(n.Requested, -1)
	free["pods"] -= int64(len(n.Pods))
	return free
}

// Clone returns a copy to which Pods can be added without a change of n, to try out a placement.
func (n *NodeInfo) Clone() *NodeInfo {
	c := *n
	c.counts = nil
	c.Requested, c.ports = maps.Clone(n.Requested), maps.Clone(n.ports)
	c.Pods, c.withAffinity = slices.Clone(n.Pods), slices.Clone(n.withAffinity)
	c.withAntiAffinity = slices.Clone(n.withAntiAffinity)
	return &c
}
