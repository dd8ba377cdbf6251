package render

import (
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

const (
	defaultNodeIP = "10.0.0.1"
	defaultCIDR   = "10.0.0.0/8"
)

// NetworkOptions of NewNetwork. The zero value is the default.
type NetworkOptions struct {
	// Node is the simulator's own node. Without IPs it has 10.0.0.1.
	Node Node
	// CIDRs give addresses to pods on nodes without podCIDRs: one address from each CIDR, so two
	// for dual stack. Default 10.0.0.0/8.
	CIDRs []netip.Prefix
}

// Network is an Env that hands out addresses to pods. Call Observe with Nodes and Pods; the Network
// does not hand out the addresses that they already have.
//
// A pod gets one address from each podCIDR of its node, and keeps it until Forget, or until another pod
// is observed with the address: another simulator can have given the same address. No two pods or
// nodes have the same address. A pod on the host network has the addresses of its node. All methods
// take amortized constant time.
//
// A Network is safe for concurrent use.
type Network struct {
	self  Node
	cidrs []netip.Prefix

	mu    sync.Mutex
	nodes map[string]knownNode
	pods  map[string][]string
	given map[netip.Addr]string // by address: the pod that got it, and was not observed with it so far
	held  map[netip.Addr]int    // the number of users of an address
	pools map[netip.Prefix]*pool
	bits  []int // lengths of the prefixes of pools, each once
}

// knownNode has the fields that were read from a Node.
type knownNode struct {
	Node
	cidrs []netip.Prefix // none: the default ones
}

// NewNetwork returns a Network without pods, and with no other node than the simulator's own.
func NewNetwork(o NetworkOptions) *Network {
	n := &Network{
		self:  o.Node,
		cidrs: masked(o.CIDRs),
		nodes: map[string]knownNode{},
		pods:  map[string][]string{},
		given: map[netip.Addr]string{},
		held:  map[netip.Addr]int{},
		pools: map[netip.Prefix]*pool{},
	}
	if len(n.self.IPs) == 0 {
		n.self.IPs = []string{defaultNodeIP}
	}
	if len(n.cidrs) == 0 {
		n.cidrs = []netip.Prefix{netip.MustParsePrefix(defaultCIDR)}
	}
	n.hold(n.self.IPs)
	return n
}

// Node implements Env. The IPs of an observed Node are its first InternalIP, or ExternalIP if it
// has none, and the first of the other family in the same order.
func (n *Network) Node(name string) Node {
	n.mu.Lock()
	defer n.mu.Unlock()
	known, ok := n.nodes[name]
	if name == "" || !ok || len(known.IPs) == 0 {
		return n.self
	}
	return known.Node
}

// PodIPs implements Env. It fails if a CIDR has no address left.
func (n *Network) PodIPs(p Pod) ([]string, error) {
	if p.HostNetwork {
		return n.Node(p.Node).IPs, nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	list, ok := n.pods[p.key()]
	if !ok {
		var err error
		if list, err = n.allocate(p.Node); err != nil {
			return nil, fmt.Errorf("pod %s/%s: %w", p.Namespace, p.Name, err)
		}
		n.pods[p.key()] = list
		for _, ip := range list {
			n.given[address(ip)] = p.key()
		}
	}
	return list, nil
}

// Observe reads the addresses and podCIDRs of a Node, or the addresses in the status of a Pod. It
// ignores other objects. A pod without addresses in its status keeps the addresses that PodIPs gave
// it.
func (n *Network) Observe(obj map[string]any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch kind(obj) {
	case "Node":
		n.observeNode(obj)
	case "Pod":
		n.observePod(obj)
	}
}

// Forget releases the addresses of the Node or Pod. It reads only the names and the UID of the
// object.
func (n *Network) Forget(obj map[string]any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := podOf(obj)
	switch kind(obj) {
	case "Node":
		n.release(n.nodes[p.Name].IPs)
		delete(n.nodes, p.Name)
	case "Pod":
		n.drop(p.key())
	}
}

// drop releases the addresses of a pod.
func (n *Network) drop(pod string) {
	n.release(n.pods[pod])
	for _, ip := range n.pods[pod] {
		if addr := address(ip); n.given[addr] == pod {
			delete(n.given, addr)
		}
	}
	delete(n.pods, pod)
}

func (n *Network) observeNode(obj map[string]any) {
	name, _ := object.String(obj, "metadata", "name")
	port, _ := object.Int64(obj, "status", "daemonEndpoints", "kubeletEndpoint", "Port")
	node := knownNode{Node{Name: name, IPs: nodeIPs(obj), Port: int(port)}, podCIDRs(obj)}
	if known := n.nodes[name].IPs; !slices.Equal(node.IPs, known) {
		n.hold(node.IPs)
		n.release(known)
	}
	n.nodes[name] = node
}

func (n *Network) observePod(obj map[string]any) {
	p := podOf(obj)
	seen, key := podIPs(obj), p.key()
	if p.HostNetwork || len(seen) == 0 {
		return
	}
	if !slices.Equal(seen, n.pods[key]) {
		n.hold(seen)
		n.drop(key)
		n.pods[key] = seen
	}
	n.settle(seen, key)
}

// settle takes addresses that a pod is observed with from other pods that were given them. Those get
// others.
func (n *Network) settle(seen []string, key string) {
	if len(n.given) == 0 {
		return
	}
	for _, ip := range seen {
		addr := address(ip)
		if other := n.given[addr]; other != "" && other != key {
			n.drop(other)
		}
		delete(n.given, addr)
	}
}

func (n *Network) allocate(node string) ([]string, error) {
	cidrs := n.nodes[node].cidrs
	if len(cidrs) == 0 {
		cidrs = n.cidrs
	}
	var list []string
	for _, cidr := range cidrs {
		addr, err := n.pool(cidr).take(n.held)
		if err != nil {
			n.release(list)
			return nil, err
		}
		list = append(list, addr.String())
		n.held[addr]++
	}
	return list, nil
}

func (n *Network) pool(cidr netip.Prefix) *pool {
	p := n.pools[cidr]
	if p == nil {
		p = newPool(cidr)
		n.pools[cidr] = p
		if !slices.Contains(n.bits, cidr.Bits()) {
			n.bits = append(n.bits, cidr.Bits())
		}
	}
	return p
}

func (n *Network) hold(ips []string) {
	for _, ip := range ips {
		n.held[address(ip)]++
	}
}

// release gives each unused address back to the pools of all prefixes that contain the address.
func (n *Network) release(ips []string) {
	for _, ip := range ips {
		addr := address(ip)
		if n.held[addr]--; n.held[addr] > 0 {
			continue
		}
		delete(n.held, addr)
		for _, bits := range n.bits {
			prefix, _ := addr.Prefix(bits)
			if p := n.pools[prefix]; p != nil {
				p.release(addr)
			}
		}
	}
}
