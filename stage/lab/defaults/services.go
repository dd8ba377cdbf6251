package defaults

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"net/netip"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// ServiceRange is the range of addresses of Services, as kubeadm sets it up.
const ServiceRange = "10.96.0.0/12"

// addressRange is the default range.
var addressRange = netip.MustParsePrefix(ServiceRange)

var (
	serviceCIDR = schema.GroupVersionKind{Group: networking, Version: "v1", Kind: "ServiceCIDR"}
	ipAddress   = schema.GroupVersionKind{Group: networking, Version: "v1", Kind: "IPAddress"}
)

// clusterIPs allocates the address of a Service, as the registry of Services does in a cluster with
// IPv4 only. A Service keeps its address.
func clusterIPs(v *memory.Review) error {
	s := spec(v)
	if s["type"] == "ExternalName" {
		return nil
	}
	ip, _ := s["clusterIP"].(string)
	if list, _ := s["clusterIPs"].([]any); ip == "" && len(list) > 0 {
		ip, _ = list[0].(string)
	}
	if v.Old != nil && ip == "" {
		ip, _ = object.String(v.Old.Object, "spec", "clusterIP")
	}
	if ip == "" {
		var err error
		if ip, err = freeAddress(v); err != nil {
			return err
		}
	} else if fault := takenAddress(v, ip); fault != nil {
		return apierrors.NewInvalid(service.GroupKind(), v.Name.Name, field.ErrorList{fault})
	}
	if s["clusterIP"] != ip {
		set(v, "spec", "clusterIP", ip)
	}
	setMissing(v, "spec", "clusterIPs", []any{ip})
	setMissing(v, "spec", "ipFamilies", []any{"IPv4"})
	setMissing(v, "spec", "ipFamilyPolicy", "SingleStack")
	return nil
}

// ranges returns the ranges of IPv4 from which Services get addresses: those of the ServiceCIDRs that are
// ready, by name. Without the ServiceCIDR kubernetes, which a server makes, the default range is first.
func ranges(v *memory.Review) (all []netip.Prefix) {
	if v.Get(serviceCIDR, types.NamespacedName{Name: "kubernetes"}) == nil {
		all = append(all, addressRange)
	}
	for _, c := range v.List(serviceCIDR, "") {
		if c.GetDeletionTimestamp() != nil || !isReady(c) {
			continue
		}
		cidrs, _ := object.Strings(c.Object, "spec", "cidrs")
		for _, text := range cidrs {
			if p, err := netip.ParsePrefix(text); err == nil && p.Addr().Is4() {
				all = append(all, p.Masked())
			}
		}
	}
	return all
}

func isReady(c *unstructured.Unstructured) bool {
	conditions, _ := object.Slice(c.Object, "status", "conditions")
	for _, condition := range conditions {
		m, _ := condition.(map[string]any)
		if m["type"] == "Ready" {
			return m["status"] == "True"
		}
	}
	return false
}

// addressesOf returns the addresses that other Services have.
func addressesOf(v *memory.Review) map[string]bool {
	taken := map[string]bool{}
	for _, other := range v.List(service, "") {
		if other.GetUID() == v.New.GetUID() {
			continue
		}
		if ip, _ := object.String(other.Object, "spec", "clusterIP"); ip != "" && ip != "None" {
			taken[ip] = true
		}
	}
	return taken
}

// isReserved reports whether an address has an IPAddress.
func isReserved(v *memory.Review, ip string) bool {
	return v.Get(ipAddress, types.NamespacedName{Name: ip}) != nil
}

// takenAddress is the fault of an address that a Service asks for.
func takenAddress(v *memory.Review, ip string) *field.Error {
	addr, err := netip.ParseAddr(ip)
	if ip == "None" || v.Old != nil || err != nil { // validation refuses a text that is not an address
		return nil
	}
	fault := "the provided network does not match the current range"
	for _, r := range ranges(v) {
		if first, count := hosts(r); uint64(number(addr)-first) < count && addr.Is4() {
			fault = ""
		}
	}
	if fault == "" && (addressesOf(v)[ip] || isReserved(v, ip)) {
		fault = "provided IP is already allocated"
	}
	if fault == "" {
		return nil
	}
	return field.Invalid(field.NewPath("spec", "clusterIPs"), []string{ip}, fmt.Sprintf("failed to allocate IP %s: %s", ip, fault))
}

// freeAddress picks an address by the uid of a Service, and takes the next free one. It begins with the
// upper part of a range: the lower part is for addresses that users pick.
func freeAddress(v *memory.Review) (string, error) {
	taken := addressesOf(v)
	h := fnv.New32a()
	h.Write([]byte(v.New.GetUID())) //nolint:errcheck // it never fails
	for _, r := range ranges(v) {
		first, count := hosts(r)
		low := lowerPart(count)
		for i := range count {
			n := low + (uint64(h.Sum32())+i)%max(count-low, 1)
			if i >= count-low {
				n = i - (count - low)
			}
			if ip := address(first + uint32(n)).String(); !taken[ip] && !isReserved(v, ip) {
				return ip, nil
			}
		}
	}
	return "", apierrors.NewInternalError(fmt.Errorf("failed to allocate a serviceIP: range is full"))
}

// hosts returns the first address of a range, and how many there are, without the address of the
// network and the broadcast address.
func hosts(r netip.Prefix) (first uint32, count uint64) {
	size := uint64(1) << (32 - r.Bits())
	if size <= 2 {
		return number(r.Addr()), 0
	}
	return number(r.Addr()) + 1, size - 2
}

// lowerPart returns how many addresses of a range are for users: about a sixteenth, at least 15 and at
// most 255; none of a small range.
func lowerPart(count uint64) uint64 {
	if count <= 16 {
		return 0
	}
	return min(max(count/16, 16), 256) - 1
}

// number returns an address of IPv4 as a number.
func number(a netip.Addr) uint32 {
	if !a.Is4() {
		return 0
	}
	b := a.As4()
	return binary.BigEndian.Uint32(b[:])
}

// address returns the address of a number.
func address(n uint32) netip.Addr {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], n)
	return netip.AddrFrom4(b)
}
