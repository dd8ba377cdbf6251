package kwok

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// check refuses ports that no connection can have, and rules that lead nowhere.
func (s *forwardSpec) check(d *decoder, n *yaml.Node) {
	for i, f := range s.Forwards {
		at := spot{d, find(n, "spec", "forwards", i), fmt.Sprintf("spec.forwards[%d]", i)}
		for j, port := range f.Ports {
			at.at(fmt.Sprintf(".ports[%d]", j), "ports", j).checkPort(port)
		}
		switch {
		case f.Target != nil:
			at.at(".target.port", "target", "port").checkPort(f.Target.Port)
		case len(f.Command) == 0:
			at.refuse("want target or command")
		}
	}
}

func (s spot) checkPort(port int32) {
	if port < 1 || port > 65535 {
		s.refuse("want a port from 1 to 65535, got %d", port)
	}
}
