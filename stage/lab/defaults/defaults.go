// Package defaults fills in what the sender of an object of a built-in kind leaves open, as
// kube-apiserver 1.36 does before it stores the object:
//
//	cluster := memory.New(memory.Options{})
//	cluster.Extend(defaults.Hooks())
//
// A lab, see package labtest, and the server of package stage/lab/apiserver have it. A simulation has
// it by simulation.Options.Defaults.
//
// What is filled in was written by the functions of Kubernetes themselves; see stage/lab/internal/builtin. It
// is that of the Go types and their versions, fields that are always there included (a Deployment
// has a status, a container resources). Beside that objects get what the server itself adds: Pods
// their priority, default tolerations and QoS class, Services an address, Jobs a selector, new Nodes
// the taint not-ready. It is not what a controller adds, and not what package
// stage/lab/controllers/admission does. Not filled in is the field timeAdded of taints of devices; the
// admission plugin ServiceAccount is an option of package stage/lab/apiserver.
package defaults

import (
	"maps"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/builtin"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// Hooks are the hooks of a cluster that fill in.
func Hooks() memory.Hooks { return memory.Hooks{Name: "defaults", Default: Fill, Admit: strategies} }

// Fill fills in what follows from the object of a write alone. It is a memory.Hooks.Default. Objects
// of kinds that are not built in stay as they are.
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

// leastGrace makes a negative terminationGracePeriodSeconds of a Pod 1. Those of templates stay, as in
// the API server.
func leastGrace(v *memory.Review) {
	if seconds, given := object.Int64(v.New.Object, "spec", grace); given && seconds < 0 {
		set(v, "spec", grace, int64(1))
	}
}

const grace = "terminationGracePeriodSeconds"
