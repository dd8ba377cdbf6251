package services

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
)

// A sliceCopy is what a slice says that is a copy of Endpoints.
type sliceCopy struct {
	addressType      string
	ports, endpoints []any
}

func (s sliceCopy) key() string { return s.addressType + keyOfPorts(s.ports) }

// keyOfPorts returns a text that is the same for the same ports in any order.
func keyOfPorts(ports []any) string {
	var keys []string
	for _, v := range ports {
		port, _ := object.ToMap(v)
		keys = append(keys, fmt.Sprintf("%q %d %s %q", fields.String(port, "name"), fields.Int64(port, 0, "port"), fields.String(port, "protocol"), fields.String(port, "appProtocol")))
	}
	slices.Sort(keys)
	return strings.Join(keys, ";")
}

// skippedAddresses counts the addresses that have no copy.
type skippedAddresses struct{ invalid, tooMany int }

// copiesOf returns the slices for Endpoints.
func copiesOf(endpoints *unstructured.Unstructured) (copies []sliceCopy, skipped skippedAddresses) {
	for _, group := range repacked(fields.Maps(endpoints.Object, "subsets")) {
		ipv4, ipv6 := sliceCopy{addressType: "IPv4", ports: group.ports}, sliceCopy{addressType: "IPv6", ports: group.ports}
		taken := 0
		for _, a := range group.addresses {
			ip, err := netip.ParseAddr(a.ip)
			switch {
			case taken == most:
				skipped.tooMany++
				continue
			case err != nil:
				skipped.invalid++
				continue
			}
			to := &ipv6
			if ip = ip.Unmap(); ip.Is4() {
				to = &ipv4
			}
			to.endpoints = append(to.endpoints, endpointOf(a, ip))
			taken++
		}
		for _, s := range []sliceCopy{ipv4, ipv6} {
			if len(s.endpoints) > 0 {
				copies = append(copies, s)
			}
		}
	}
	return copies, skipped
}

func endpointOf(a mirroredAddress, ip netip.Addr) map[string]any {
	e := map[string]any{"addresses": []any{ip.String()}, "conditions": map[string]any{"ready": a.ready}}
	for _, field := range []string{"hostname", "nodeName", "targetRef"} {
		if v := fields.Value(a.address, field); v != nil && v != "" {
			e[field] = v
		}
	}
	return e
}

// A mirroredAddress is an address in Endpoints.
type mirroredAddress struct {
	ip, uid string // they identify it
	address map[string]any
	ready   bool
}

// A mirroredGroup is the addresses that have the same ports.
type mirroredGroup struct {
	ports     []any
	addresses []mirroredAddress // the ready ones first
}

// repacked returns subsets in the form in which kube-controller-manager compares them: ports with
// the same addresses are in one group. An address that is not ready in one subset is not ready in
// all of them with this port.
func repacked(subsets []map[string]any) (groups []mirroredGroup) {
	ports, byPort := map[string]map[string]any{}, map[string]map[string]mirroredAddress{}
	for _, subset := range subsets {
		list := fields.Maps(subset, "ports")
		if len(list) == 0 {
			list = []map[string]any{nil} // addresses without a port are also a group
		}
		for _, port := range list {
			key := "no port"
			if port != nil {
				key = keyOfPorts([]any{port})
			}
			if ports[key] = port; byPort[key] == nil {
				byPort[key] = map[string]mirroredAddress{}
			}
			gather(byPort[key], fields.Maps(subset, "addresses"), true)
			gather(byPort[key], fields.Maps(subset, "notReadyAddresses"), false)
		}
	}
	byAddresses := map[string]int{}
	for _, key := range slices.Sorted(maps.Keys(byPort)) {
		list := slices.SortedFunc(maps.Values(byPort[key]), readyFirst)
		var same strings.Builder
		for _, a := range list {
			fmt.Fprintln(&same, a.ip, a.uid, a.ready)
		}
		at, found := byAddresses[same.String()]
		if !found {
			at = len(groups)
			groups, byAddresses[same.String()] = append(groups, mirroredGroup{addresses: list}), at
		}
		if port := ports[key]; port != nil {
			groups[at].ports = append(groups[at].ports, portOf(port))
		}
	}
	return groups
}

func readyFirst(a, b mirroredAddress) int {
	if a.ready != b.ready {
		return map[bool]int{true: -1, false: 1}[a.ready]
	}
	return cmp.Or(cmp.Compare(a.ip, b.ip), cmp.Compare(a.uid, b.uid))
}

func gather(known map[string]mirroredAddress, addresses []map[string]any, ready bool) {
	for _, address := range addresses {
		a := mirroredAddress{ip: fields.String(address, "ip"), uid: fields.String(address, "targetRef", "uid"), address: address, ready: ready}
		if before, found := known[a.ip+" "+a.uid]; found {
			a.address, a.ready = before.address, ready && before.ready
		}
		known[a.ip+" "+a.uid] = a
	}
}

// portOf returns a port of an EndpointSlice, which has a name even if it is empty.
func portOf(port map[string]any) map[string]any {
	p := map[string]any{"name": fields.String(port, "name"), "port": fields.Int64(port, 0, "port"), "protocol": cmp.Or(fields.String(port, "protocol"), "TCP")}
	if protocol := fields.String(port, "appProtocol"); protocol != "" {
		p["appProtocol"] = protocol
	}
	return p
}
