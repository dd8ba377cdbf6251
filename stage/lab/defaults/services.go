package defaults

import (
	"fmt"
	"hash/fnv"
	"net/netip"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// The range of addresses of Services, as kubeadm sets it up: 10.96.0.0/12. Addresses that the
// server picks come from above the first 256.
var (
	firstAddress = netip.MustParseAddr("10.96.0.0")
	addressRange = netip.PrefixFrom(firstAddress, 12)
)

const addressCount, lowAddresses = 1 << 20, 256

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

// takenAddress is the fault of an address that a Service asks for.
func takenAddress(v *memory.Review, ip string) *field.Error {
	path := field.NewPath("spec", "clusterIPs").Index(0)
	switch addr, err := netip.ParseAddr(ip); {
	case ip == "None", v.Old != nil, err != nil: // validation refuses a text that is not an address
		return nil
	case !addressRange.Contains(addr):
		return field.Invalid(path, ip, fmt.Sprintf("failed to allocate IP %s: the provided IP (%s) is not in the valid range. The range of valid IPs is %s", ip, ip, addressRange))
	case addressesOf(v)[ip]:
		return field.Invalid(path, ip, fmt.Sprintf("failed to allocate IP %s: provided IP is already allocated", ip))
	}
	return nil
}

// freeAddress picks an address by the uid of a Service, and takes the next free one.
func freeAddress(v *memory.Review) (string, error) {
	taken := addressesOf(v)
	h := fnv.New32a()
	h.Write([]byte(v.New.GetUID())) //nolint:errcheck // it never fails
	const dynamic = addressCount - lowAddresses - 1
	for i := range uint32(dynamic) {
		ip := address(lowAddresses + (h.Sum32()+i)%dynamic).String()
		if !taken[ip] {
			return ip, nil
		}
	}
	return "", apierrors.NewInternalError(fmt.Errorf("failed to allocate a serviceIP: range is full"))
}

// address is the n-th address of the range.
func address(n uint32) netip.Addr {
	b := firstAddress.As4()
	return netip.AddrFrom4([4]byte{b[0], b[1] + byte(n>>16), byte(n >> 8), byte(n)})
}
