package render

import (
	"net/netip"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

func kind(obj map[string]any) string {
	s, _ := object.String(obj, "kind")
	return s
}

// nodeIPs returns the preferred address of a Node and the first address of the other IP family.
func nodeIPs(obj map[string]any) []string {
	var list []string
	var family int
	addresses, _ := object.Slice(obj, "status", "addresses")
	for _, wanted := range []string{"InternalIP", "ExternalIP"} {
		for _, e := range addresses {
			entry, _ := object.ToMap(e)
			kind, _ := object.String(entry, "type")
			if kind != wanted {
				continue // a host name is not worth the error of its parse
			}
			ip, _ := object.String(entry, "address")
			addr, err := netip.ParseAddr(ip)
			if err == nil && addr.BitLen() != family && len(list) < 2 {
				list, family = append(list, ip), addr.BitLen()
			}
		}
	}
	return list
}

// podCIDRs returns spec.podCIDRs, or else spec.podCIDR, without invalid CIDRs.
func podCIDRs(obj map[string]any) []netip.Prefix {
	texts, _ := object.Strings(obj, "spec", "podCIDRs")
	if one, _ := object.String(obj, "spec", "podCIDR"); len(texts) == 0 && one != "" {
		texts = []string{one}
	}
	var list []netip.Prefix
	for _, text := range texts {
		prefix, _ := netip.ParsePrefix(text)
		list = append(list, prefix)
	}
	return masked(list)
}

// podIPs returns status.podIPs, or else status.podIP, without invalid addresses.
func podIPs(obj map[string]any) []string {
	status, _ := object.Map(obj, "status")
	list, _ := object.Slice(status, "podIPs")
	if len(list) == 0 {
		list = []any{map[string]any{"ip": status["podIP"]}}
	}
	ips := make([]string, 0, len(list))
	for _, e := range list {
		entry, _ := object.ToMap(e)
		ip, _ := object.String(entry, "ip")
		if addr := address(ip); addr.IsValid() {
			ips = append(ips, addr.String())
		}
	}
	return ips
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

// address parses an address. The result is not valid if the text is not an address.
func address(ip string) netip.Addr {
	addr, _ := netip.ParseAddr(ip)
	return addr.Unmap().WithZone("")
}
