package render

import (
	"fmt"
	"net/netip"
)

// holders counts, for every address in use, those who use it. Pools share it, because their
// prefixes may overlap.
type holders map[netip.Addr]int

// pool hands out the addresses of one prefix in order, and again only after they were released.
type pool struct {
	prefix      netip.Prefix
	first, last netip.Addr // for hosts
	next        netip.Addr // the first that was never reached; not valid behind the last address that exists
	free        []netip.Addr
	listed      map[netip.Addr]bool // stands in free, where it may be in use again
}

func newPool(prefix netip.Prefix) *pool {
	first, last := usable(prefix)
	return &pool{prefix: prefix, first: first, last: last, next: first, listed: map[netip.Addr]bool{}}
}

// usable are the first and last address for hosts. The first address of a prefix names the network,
// or all its routers; the last one of IPv4 is for broadcasts. Prefixes of one or two addresses have
// neither (RFC 3021, RFC 6164).
func usable(prefix netip.Prefix) (first, last netip.Addr) {
	first, last = prefix.Addr(), lastAddr(prefix)
	if hostBits := first.BitLen() - prefix.Bits(); hostBits <= 1 {
		return first, last
	}
	if first.Is4() {
		last = last.Prev()
	}
	return first.Next(), last
}

func lastAddr(prefix netip.Prefix) netip.Addr {
	raw := prefix.Addr().AsSlice()
	for bit := prefix.Bits(); bit < 8*len(raw); bit++ {
		raw[bit/8] |= 0x80 >> (bit % 8)
	}
	addr, _ := netip.AddrFromSlice(raw)
	return addr
}

// take finds an address that nobody holds: the one released last, else the next never used.
func (p *pool) take(held holders) (netip.Addr, error) {
	for n := len(p.free); n > 0; n = len(p.free) {
		addr := p.free[n-1]
		p.free = p.free[:n-1]
		delete(p.listed, addr)
		if held[addr] == 0 {
			return addr, nil
		}
	}
	for p.next.IsValid() && !p.last.Less(p.next) {
		addr := p.next
		p.next = addr.Next()
		if held[addr] == 0 {
			return addr, nil
		}
	}
	return netip.Addr{}, fmt.Errorf("no address left in %v", p.prefix)
}

// release puts an address that nobody holds any more on the free list, unless take is going to
// reach it anyway.
func (p *pool) release(addr netip.Addr) {
	reached := !p.next.IsValid() || addr.Less(p.next)
	if !reached || addr.Less(p.first) || p.last.Less(addr) || p.listed[addr] {
		return
	}
	p.free = append(p.free, addr)
	p.listed[addr] = true
}
