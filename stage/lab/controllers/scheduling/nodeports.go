package scheduling

import "github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/pods"

// A hostPort is a port of the Node that a container takes.
type hostPort = pods.HostPort

// nodePorts keeps a Pod from Nodes where one of its host ports is taken.
type nodePorts struct{}

func (nodePorts) Name() string { return "NodePorts" }

func (nodePorts) PreFilter(c *Cycle) Status { return Status{Skip: len(c.Pod.ports) == 0} }

func (nodePorts) Filter(c *Cycle, n *NodeInfo) Status {
	for _, wanted := range c.Pod.ports {
		for used := range n.ports {
			if wanted.Conflicts(used) {
				return Status{Reasons: []string{"node(s) didn't have free ports for the requested pod ports"}}
			}
		}
	}
	return Status{}
}
