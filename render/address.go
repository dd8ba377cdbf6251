package render

import (
	"net/netip"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

func kind(obj map[string]any) string {
	s, _ := object.String(obj, "kind")
	return s
}

// nodeIPs are the preferred address of a Node and the first of the other family.
func nodeIPs(obj map[string]any) []string {
	var list []string
	var family int
	for _, wanted := range []string{"InternalIP", "ExternalIP"} {
		for _, entry := range entries(obj, "status", "addresses") {
			kind, _ := object.String(entry, "type")
			ip, _ := object.String(entry, "address")
			addr, err := netip.ParseAddr(ip)
			if kind != wanted || err != nil || addr.BitLen() == family || len(list) == 2 {
				continue
			}
			list, family = append(list, ip), addr.BitLen()
		}
	}
	return list
}

// podCIDRs are spec.podCIDRs, or else spec.podCIDR; what is not a CIDR is left out.
func podCIDRs(obj map[string]any) []netip.Prefix {
	texts, _ := object.Strings(obj, "spec", "podCIDRs")
	if one, _ := object.String(obj, "spec", "podCIDR"); len(texts) == 0 {
		texts = []string{one}
	}
	var list []netip.Prefix
	for _, text := range texts {
		prefix, _ := netip.ParsePrefix(text)
		list = append(list, prefix)
	}
	return masked(list)
}

func podIPs(obj map[string]any) []netip.Addr {
	var texts []string
	status, _ := object.Map(obj, "status")
	for _, entry := range entries(status, "podIPs") {
		ip, _ := object.String(entry, "ip")
		texts = append(texts, ip)
	}
	if one, _ := object.String(status, "podIP"); len(texts) == 0 && one != "" {
		texts = []string{one}
	}
	return addrs(texts)
}

// entries are the maps in a list.
func entries(obj map[string]any, path ...string) []map[string]any {
	list, _ := object.Slice(obj, path...)
	var maps []map[string]any
	for _, e := range list {
		if m, ok := object.ToMap(e); ok {
			maps = append(maps, m)
		}
	}
	return maps
}

// masked drops prefixes that are not valid.
func masked(prefixes []netip.Prefix) []netip.Prefix {
	var list []netip.Prefix
	for _, p := range prefixes {
		if p = p.Masked(); p.IsValid() {
			list = append(list, p)
		}
	}
	return list
}

// addrs drops what is not an address.
func addrs(texts []string) []netip.Addr {
	var list []netip.Addr
	for _, text := range texts {
		if addr, err := netip.ParseAddr(text); err == nil {
			list = append(list, addr.Unmap().WithZone(""))
		}
	}
	return list
}

func texts(list []netip.Addr) []string {
	out := make([]string, len(list))
	for i, addr := range list {
		out[i] = addr.String()
	}
	return out
}
