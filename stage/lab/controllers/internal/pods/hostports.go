package pods

import (
	"cmp"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
)

// A HostPort is a port of the Node that a container takes.
type HostPort struct {
	ip, protocol string
	port         int64
}

const anyIP = "0.0.0.0"

// HostPorts returns the host ports of the containers and sidecars of a spec. With hostNetwork,
// these are all ports of the containers.
func HostPorts(spec map[string]any) (ports []HostPort) {
	hostNetwork := fields.Bool(spec, "hostNetwork")
	add := func(container map[string]any) {
		for _, p := range fields.Maps(container, "ports") {
			port := fields.Int64(p, 0, "hostPort")
			if port == 0 && hostNetwork {
				port = fields.Int64(p, 0, "containerPort")
			}
			if port > 0 {
				ports = append(ports, HostPort{cmp.Or(fields.String(p, "hostIP"), anyIP), cmp.Or(fields.String(p, "protocol"), "TCP"), port})
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

// Conflicts reports whether both cannot be taken on one Node.
func (a HostPort) Conflicts(b HostPort) bool {
	return a.port == b.port && a.protocol == b.protocol && (a.ip == b.ip || a.ip == anyIP || b.ip == anyIP)
}
