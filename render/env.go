package render

import (
	"hash/fnv"
	"net/netip"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// Env answers what templates ask about the surroundings of an object. An Env must be safe for
// concurrent use if the renderings that share it are concurrent. Nobody changes the lists that it
// returns. [Network] is one.
type Env interface {
	// Node is the node of that name, and the simulator's own for "". A node that is not known has
	// the simulator's addresses.
	Node(name string) Node
	// PodIPs are the addresses of a pod, first the one that is its podIP; the same pod has the
	// same.
	PodIPs(p Pod) ([]string, error)
}

// Node is what templates read of a node.
type Node struct {
	Name string
	IPs  []string // first the one that NodeIP returns
	Port int      // of the kubelet; 0 if it has none
}

// Pod is the pod that an address is for.
type Pod struct {
	Node                 string // name of its node
	HostNetwork          bool   // its addresses are those of the node
	UID, Name, Namespace string // it is the same pod if the UID is, or the other two where there is none
}

// podOf reads the pod that is rendered.
func podOf(obj map[string]any) Pod {
	var p Pod
	spec, _ := object.Map(obj, "spec")
	p.Node, _ = object.String(spec, "nodeName")
	p.HostNetwork, _ = object.Bool(spec, "hostNetwork")
	metadata, _ := object.Map(obj, "metadata")
	p.UID, _ = object.String(metadata, "uid")
	p.Name, _ = object.String(metadata, "name")
	p.Namespace, _ = object.String(metadata, "namespace")
	return p
}

// key tells pods apart. No UID has a slash in it.
func (p Pod) key() string {
	if p.UID != "" {
		return p.UID
	}
	return p.Namespace + "/" + p.Name
}

// placeholder is the Env of an Input without one.
type placeholder struct{}

func (placeholder) Node(name string) Node { return Node{Name: name, IPs: []string{defaultNodeIP}} }

func (e placeholder) PodIPs(p Pod) ([]string, error) {
	if p.HostNetwork {
		return e.Node(p.Node).IPs, nil
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(p.key()))
	n := h.Sum64()
	return []string{netip.AddrFrom4([4]byte{10, 128 | byte(n>>16), byte(n >> 8), byte(n)}).String()}, nil
}
