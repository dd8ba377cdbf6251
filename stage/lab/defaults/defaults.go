// Package defaults fills in the fields that the sender of an object of a built-in kind leaves open,
// as kube-apiserver 1.36 does before it stores the object:
//
//	cluster := memory.New(memory.Options{})
//	cluster.Extend(defaults.Hooks())
//
// A lab (package labtest) and the server of package stage/lab/apiserver use it. A simulation uses
// it with simulation.Options.Hooks.
//
// The defaults were recorded from Kubernetes' own functions; see stage/lab/internal/builtin. They
// are those of the Go types and their versions, including fields that are always present (a
// Deployment has a status, a container has resources). In addition, objects get what the server
// itself adds:
//
//   - Pods get their priority, default tolerations and QoS class
//   - Services get an address
//   - Jobs get a selector
//   - new Nodes get the taint not-ready
//
// The package does not add what a controller adds, nor what package stage/lab/controllers/admission
// adds. It does not fill in the field timeAdded of device taints. The admission plugin
// ServiceAccount is an option of package stage/lab/apiserver.
package defaults

import (
	"maps"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/builtin"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// Hooks returns the hooks of a cluster that fill in defaults.
func Hooks() memory.Hooks { return memory.Hooks{Name: "defaults", Default: Fill, Admit: strategies} }

// Fill fills in the fields that follow from the object of a write alone. It is a
// memory.Hooks.Default. Objects of kinds that are not built in stay as they are.
func Fill(v *memory.Review) error {
	var before map[string]any
	if v.Old != nil {
		before = v.Old.Object
	}
	root := v.New.Object
	filled := builtin.Fill(root, before)
	if !builtin.Same(root, filled) {
		clear(root)
		maps.Copy(root, filled)
	}
	switch v.Resource {
	case daemonSets:
		countsTemplates(v)
	case pods:
		leastGrace(v)
	}
	return nil
}

// leastGrace sets a negative terminationGracePeriodSeconds of a Pod to 1. A template keeps its
// value, as in the API server.
func leastGrace(v *memory.Review) {
	if seconds, given := object.Int64(v.New.Object, "spec", grace); given && seconds < 0 {
		set(v, "spec", grace, int64(1))
	}
}

const grace = "terminationGracePeriodSeconds"
