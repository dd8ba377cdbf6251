package scheduling

import (
	"math"
)

// The requests that scores assume for containers without requests, as in kube-scheduler.
const (
	defaultCPU    = 100       // millicores
	defaultMemory = 200 << 20 // bytes
)

// NodeResourcesFit says whether a Node has enough resources left for a Pod, and a place for one
// more Pod.
func NodeResourcesFit(p *PodInfo, n *NodeInfo) Status {
	var s Status
	if int64(len(n.Pods))+1 > n.Allocatable["pods"] {
		s.Reasons = append(s.Reasons, "Too many pods")
	}
	for name, wanted := range p.Requests {
		if allocatable := n.Allocatable[name]; wanted > allocatable-n.Requested[name] {
			s.Reasons = append(s.Reasons, "Insufficient "+name)
			s.Unresolvable = s.Unresolvable || wanted > allocatable
		}
	}
	return s
}

// nodeResourcesFit is the plugin of [NodeResourcesFit]. It prefers Nodes with much CPU and memory
// left (LeastAllocated).
type nodeResourcesFit struct{}

func (nodeResourcesFit) Name() string { return "NodeResourcesFit" }

func (nodeResourcesFit) Filter(c *Cycle, n *NodeInfo) Status { return NodeResourcesFit(c.Pod, n) }

func (nodeResourcesFit) Score(c *Cycle, n *NodeInfo) int64 {
	var sum, resources int64
	add := func(requested, capacity int64) {
		if capacity == 0 {
			return
		}
		resources++
		if requested <= capacity {
			sum += (capacity - requested) * maxScore / capacity
		}
	}
	add(n.used.cpu+c.Pod.scored.cpu, n.capacity.cpu)
	add(n.used.memory+c.Pod.scored.memory, n.capacity.memory)
	if resources == 0 {
		return 0
	}
	return sum / resources
}

// balancedAllocation prefers Nodes on which the Pod brings the shares of CPU and memory that are
// requested closer together.
type balancedAllocation struct{}

func (balancedAllocation) Name() string { return "NodeResourcesBalancedAllocation" }

func (balancedAllocation) PreScore(c *Cycle, _ []*NodeInfo) Status {
	return Status{Skip: c.Pod.Requests["cpu"] == 0 && c.Pod.Requests["memory"] == 0}
}

func (balancedAllocation) Score(c *Cycle, n *NodeInfo) int64 {
	with := n.requested
	with.add(scoredAmountsOf(c.Pod.Requests), 1)
	return maxScore/2 + (maxScore/2+balance(with, n.capacity)-balance(n.requested, n.capacity))/2
}

// balance is 100 if the same share of CPU and of memory is requested, and less the more they differ.
func balance(requested, capacity scoredAmounts) int64 {
	deviation := 0.0
	if capacity.cpu != 0 && capacity.memory != 0 {
		cpu := min(float64(requested.cpu)/float64(capacity.cpu), 1)
		memory := min(float64(requested.memory)/float64(capacity.memory), 1)
		deviation = math.Abs((cpu - memory) / 2)
	}
	return int64((1 - deviation) * maxScore)
}
