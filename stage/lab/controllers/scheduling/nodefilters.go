package scheduling

import (
	"slices"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/pods"
)

// unresolvable is a Status that preemption would not change.
func unresolvable(reasons ...string) Status { return Status{Reasons: reasons, Unresolvable: true} }

// nodeUnschedulable keeps Pods from Nodes that are cordoned, unless they tolerate
// node.kubernetes.io/unschedulable:NoSchedule.
type nodeUnschedulable struct{}

func (nodeUnschedulable) Name() string { return "NodeUnschedulable" }

func (nodeUnschedulable) Filter(c *Cycle, n *NodeInfo) Status {
	if n.unschedulable && !c.Pod.Tolerates(Taint{Key: taintUnschedulable, Effect: noSchedule}) {
		return unresolvable("node(s) were unschedulable")
	}
	return Status{}
}

// nodeName keeps a Pod to the Node that it names.
type nodeName struct{}

func (nodeName) Name() string { return "NodeName" }

func (nodeName) Filter(c *Cycle, n *NodeInfo) Status {
	if name := pods.Of(c.Pod.Pod).NodeName(); name != "" && name != n.Name {
		return unresolvable("node(s) didn't match the requested node name")
	}
	return Status{}
}

// taintToleration keeps Pods from Nodes with taints that they do not tolerate, and prefers Nodes
// with few taints of the effect PreferNoSchedule.
type taintToleration struct{}

func (taintToleration) Name() string { return "TaintToleration" }

func (taintToleration) Filter(c *Cycle, n *NodeInfo) Status {
	for _, taint := range n.taints {
		if !c.Pod.Tolerates(taint) {
			return unresolvable("node(s) had untolerated taint(s)")
		}
	}
	return Status{}
}

func (taintToleration) Score(c *Cycle, n *NodeInfo) (count int64) {
	for _, taint := range n.softTaints {
		if !c.Pod.Tolerates(taint) {
			count++
		}
	}
	return count
}

func (taintToleration) NormalizeScore(_ *Cycle, scores []int64) { normalize(scores, true) }

// nodeAffinity keeps Pods from Nodes that their nodeSelector or their required node affinity does
// not match, and prefers Nodes by their preferred node affinity.
type nodeAffinity struct{}

func (nodeAffinity) Name() string { return "NodeAffinity" }

func (nodeAffinity) PreFilter(c *Cycle) Status {
	if !c.Pod.hasRequired {
		return Status{Skip: len(c.Pod.nodeSelector) == 0}
	}
	var names []string
	for _, term := range c.Pod.required {
		named, restricted := term.nodeNames()
		if !restricted {
			return Status{}
		}
		names = append(names, named...)
	}
	if len(c.Pod.required) > 0 && len(names) == 0 {
		return unresolvable("pod affinity terms conflict")
	}
	return Status{NodeNames: names}
}

// nodeNames returns the Nodes that a term names. It returns false if the term names no Node.
func (t *nodeTerm) nodeNames() (names []string, restricted bool) {
	for _, r := range t.onFields {
		switch {
		case r.key != "metadata.name" || r.operator != "In":
		case !restricted:
			names, restricted = slices.Clone(r.values), true
		default:
			names = slices.DeleteFunc(names, func(name string) bool { return !slices.Contains(r.values, name) })
		}
	}
	return names, restricted
}

func (nodeAffinity) Filter(c *Cycle, n *NodeInfo) Status {
	if c.Pod.matchesNode(n.Name, n.labels) {
		return Status{}
	}
	return unresolvable("node(s) didn't match Pod's node affinity/selector")
}

func (nodeAffinity) PreScore(c *Cycle, _ []*NodeInfo) Status {
	return Status{Skip: len(c.Pod.preferred) == 0}
}

func (nodeAffinity) Score(c *Cycle, n *NodeInfo) (sum int64) {
	for i := range c.Pod.preferred {
		if term := &c.Pod.preferred[i]; term.matches(n.Name, n.labels) {
			sum += term.weight
		}
	}
	return sum
}

func (nodeAffinity) NormalizeScore(_ *Cycle, scores []int64) { normalize(scores, false) }
