package render

import (
	"hash/fnv"
	"net/netip"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// Env gives templates the addresses of nodes and pods. An Env must be safe for concurrent use if
// the renderings that share it are concurrent. Renderings do not change the lists that an Env
// returns. [Network] is an Env.
type Env interface {
	// Node returns the node with the name, or the simulator's own node for "". An unknown node has
	// the simulator's addresses.
	Node(name string) Node
	// PodIPs returns the addresses of a pod; the first one is its podIP. Each call for the same pod
	// returns the same addresses.
	PodIPs(p Pod) ([]string, error)
}

// Node has the fields of a node that templates read.
type Node struct {
	Name string
	IPs  []string // NodeIP returns the first
	Port int      // of the kubelet; 0 if it has none
}

// Pod is the pod that an address is for.
type Pod struct {
	Node                 string // name of its node
	HostNetwork          bool   // the Pod has the addresses of its node
	UID, Name, Namespace string // two Pods are the same if their UIDs are equal; without UIDs, if namespace and name are
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

// key identifies a pod. No UID contains a slash.
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
