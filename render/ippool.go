package render

import (
	"fmt"
	"net/netip"
)

// pool hands out the addresses of one prefix in order. It hands out an address again only after its
// release.
type pool struct {
	prefix netip.Prefix
	next   netip.Addr // the first address that was never handed out; outside the prefix after its last address
	free   []netip.Addr
	listed map[netip.Addr]bool // the addresses in free; some may be in use again
}

func newPool(prefix netip.Prefix) *pool {
	return &pool{prefix: prefix, next: prefix.Addr(), listed: map[netip.Addr]bool{}}
}

// usable reports whether an address of the prefix is for hosts. The first address of a prefix names
// the network, or all its routers; the last one of IPv4 is for broadcasts. Prefixes of one or two
// addresses have neither (RFC 3021, RFC 6164).
func (p *pool) usable(addr netip.Addr) bool {
	if addr.BitLen()-p.prefix.Bits() <= 1 {
		return true
	}
	return addr != p.prefix.Addr() && (addr.Is6() || p.prefix.Contains(addr.Next()))
}

// take finds an address that no pod has: the last released address, or else the next unused one.
// Pools share the map held, because their prefixes may overlap.
func (p *pool) take(held map[netip.Addr]int) (netip.Addr, error) {
	for n := len(p.free); n > 0; n = len(p.free) {
		addr := p.free[n-1]
		p.free = p.free[:n-1]
		delete(p.listed, addr)
		if held[addr] == 0 {
			return addr, nil
		}
	}
	for p.prefix.Contains(p.next) {
		addr := p.next
		p.next = addr.Next()
		if held[addr] == 0 && p.usable(addr) {
			return addr, nil
		}
	}
	return netip.Addr{}, fmt.Errorf("no address left in %v", p.prefix)
}

// release puts an unused address of the prefix on the free list, unless take will reach the address
// anyway.
func (p *pool) release(addr netip.Addr) {
	reached := !p.prefix.Contains(p.next) || addr.Less(p.next)
	if reached && p.usable(addr) && !p.listed[addr] {
		p.free = append(p.free, addr)
		p.listed[addr] = true
	}
}
