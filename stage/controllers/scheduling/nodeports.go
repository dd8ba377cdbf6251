package scheduling

import (
	"cmp"

	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/fields"
)

// A hostPort is a port of the Node that a container takes.
type hostPort struct {
	ip, protocol string
	port         int64
}

const anyIP = "0.0.0.0"

// hostPortsOf returns the host ports of containers and sidecars. With hostNetwork, those are all
// their ports.
func hostPortsOf(spec map[string]any) (ports []hostPort) {
	hostNetwork := fields.Bool(spec, "hostNetwork")
	add := func(container map[string]any) {
		for _, p := range fields.Maps(container, "ports") {
			port := fields.Int64(p, 0, "hostPort")
			if port == 0 && hostNetwork {
				port = fields.Int64(p, 0, "containerPort")
			}
			if port > 0 {
				ports = append(ports, hostPort{cmp.Or(fields.String(p, "hostIP"), anyIP), cmp.Or(fields.String(p, "protocol"), "TCP"), port})
			}
		}
	}
	for _, container := range fields.Maps(spec, "containers") {
		add(container)
	}
	for _, container := range fields.Maps(spec, "initContainers") {
		if fields.String(container, "restartPolicy") == "Always" {
			add(container)
		}
	}
	return ports
}

// conflicts reports whether both cannot be taken on one Node.
func (a hostPort) conflicts(b hostPort) bool {
	return a.port == b.port && a.protocol == b.protocol && (a.ip == b.ip || a.ip == anyIP || b.ip == anyIP)
}

// nodePorts keeps Pods from Nodes where a host port of theirs is taken.
type nodePorts struct{}

func (nodePorts) Name() string { return "NodePorts" }

func (nodePorts) PreFilter(c *Cycle) Status { return Status{Skip: len(c.Pod.ports) == 0} }

func (nodePorts) Filter(c *Cycle, n *NodeInfo) Status {
	for _, wanted := range c.Pod.ports {
		for used := range n.ports {
			if wanted.conflicts(used) {
				return Status{Reasons: []string{"node(s) didn't have free ports for the requested pod ports"}}
			}
		}
	}
	return Status{}
}
