package scheduling

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/selectors"
)

// A Status is what a filter says of a Pod on a Node. The zero value is that the Pod may run there.
type Status struct {
	// Reasons are why the Pod may not run on the Node, in kube-scheduler's words.
	Reasons []string
	// Unresolvable is whether the reasons hold whatever Pods leave the Node, so that preemption
	// would not help.
	Unresolvable bool
}

// Fits reports whether the Pod may run on the Node.
func (s Status) Fits() bool { return len(s.Reasons) == 0 }

// A Filter says whether a Pod may run on a Node.
type Filter func(*PodInfo, *NodeInfo) Status

// defaultFilters are in the order of kube-scheduler.
var defaultFilters = []Filter{NodeUnschedulable, TaintToleration, NodeAffinity, NodeResourcesFit}

// RunFilters asks NodeUnschedulable, TaintToleration, NodeAffinity and NodeResourcesFit, in this
// order. The first one that says no decides, as in kube-scheduler.
func RunFilters(p *PodInfo, n *NodeInfo) Status {
	for _, filter := range defaultFilters {
		if s := filter(p, n); !s.Fits() {
			return s
		}
	}
	return Status{}
}

// NodeUnschedulable keeps Pods from Nodes that are cordoned, unless they tolerate
// node.kubernetes.io/unschedulable:NoSchedule.
func NodeUnschedulable(p *PodInfo, n *NodeInfo) Status {
	if n.unschedulable && !p.Tolerates(Taint{Key: taintUnschedulable, Effect: noSchedule}) {
		return Status{Reasons: []string{"node(s) were unschedulable"}, Unresolvable: true}
	}
	return Status{}
}

// TaintToleration keeps Pods from Nodes with a taint of [Taints] that they do not tolerate.
func TaintToleration(p *PodInfo, n *NodeInfo) Status {
	for _, taint := range n.taints {
		if !p.Tolerates(taint) {
			return Status{Reasons: []string{"node(s) had untolerated taint(s)"}, Unresolvable: true}
		}
	}
	return Status{}
}

// NodeAffinity keeps Pods from Nodes that their nodeSelector or their required node affinity does
// not match.
func NodeAffinity(p *PodInfo, n *NodeInfo) Status {
	if p.matchesNode(n.Name, n.labels) {
		return Status{}
	}
	return Status{Reasons: []string{"node(s) didn't match Pod's node affinity/selector"}, Unresolvable: true}
}

// MatchesNode reports whether the nodeSelector and the required node affinity of the Pod match a
// Node.
func (p *PodInfo) MatchesNode(node *unstructured.Unstructured) bool {
	return p.matchesNode(node.GetName(), fields.Map(node.Object, "metadata", "labels"))
}

func (p *PodInfo) matchesNode(name string, labels map[string]any) bool {
	if !selectors.HasLabels(labels, p.nodeSelector) {
		return false
	}
	return !p.hasAffinity || slices.ContainsFunc(p.affinityTerms, func(term map[string]any) bool {
		return matchesTerm(term, name, labels)
	})
}

// matchesTerm reports whether a node selector term matches a Node. An empty term matches nothing.
func matchesTerm(term map[string]any, name string, labels map[string]any) bool {
	onLabels, onFields := fields.Maps(term, "matchExpressions"), fields.Maps(term, "matchFields")
	for _, requirement := range onLabels {
		if !selectors.MatchesRequirement(labels, requirement) {
			return false
		}
	}
	for _, requirement := range onFields {
		if !selectors.MatchesRequirement(map[string]any{"metadata.name": name}, requirement) {
			return false
		}
	}
	return len(onLabels)+len(onFields) > 0
}

// NodeResourcesFit keeps Pods from Nodes that have too little left of what they request, or no
// place for one more Pod.
func NodeResourcesFit(p *PodInfo, n *NodeInfo) Status {
	var s Status
	if n.Pods+1 > n.capacity.pods {
		s.Reasons = append(s.Reasons, "Too many pods")
	}
	for name, wanted := range p.Requests {
		if wanted > n.Allocatable[name]-n.Requested[name] {
			s.Reasons = append(s.Reasons, "Insufficient "+name)
		}
		s.Unresolvable = s.Unresolvable || wanted > n.Allocatable[name]
	}
	slices.Sort(s.Reasons)
	return s
}
