package services

import (
	"hash/fnv"
	"net/netip"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/conditions"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// Options of [Services]. The zero value is the default.
type Options struct {
	// ClusterIPs is the range of the addresses in the cluster. Default 10.96.0.0/12.
	ClusterIPs netip.Prefix
	// LoadBalancerIPs is the range of the addresses for the outside. Default 198.18.0.0/15, which
	// is reserved for tests.
	LoadBalancerIPs netip.Prefix
}

// Services returns the controller that gives Services their addresses: a cluster IP, as the API
// server does, and an external address for the type LoadBalancer, as a cloud does. The address
// depends on the name of the Service and on the addresses that are taken, so that it is the same in
// every run.
func Services(o Options) reconcile.Controller {
	a := addresses{cluster: o.ClusterIPs, loadBalancer: o.LoadBalancerIPs}
	if !a.cluster.IsValid() {
		a.cluster = netip.MustParsePrefix("10.96.0.0/12")
	}
	if !a.loadBalancer.IsValid() {
		a.loadBalancer = netip.MustParsePrefix("198.18.0.0/15")
	}
	return reconcile.Controller{Name: "service", For: kinds.Service, Reconcile: control.OnExisting(kinds.Service, a.reconcile)}
}

// addresses are the ranges from which Services get theirs.
type addresses struct{ cluster, loadBalancer netip.Prefix }

func (a addresses) reconcile(c control.Call, service *unstructured.Unstructured) (reconcile.Result, error) {
	if fields.IsTerminating(service) {
		return reconcile.Result{}, nil
	}
	spec := fields.Map(service.Object, "spec")
	if fields.String(spec, "clusterIP") == "" && fields.String(spec, "type") != "ExternalName" {
		ip := allocate(a.cluster, service, takenClusterIPs(c))
		_, err := c.MergePatch(service, map[string]any{"spec": map[string]any{"clusterIP": ip, "clusterIPs": []any{ip}}})
		return reconcile.Result{}, err // the change brings it back
	}
	return reconcile.Result{}, c.WriteStatus(service, a.status(c, service))
}

// status has an address for the outside while the type asks for one.
func (a addresses) status(c control.Call, service *unstructured.Unstructured) control.Status {
	balancer := map[string]any{}
	ingress := fields.Slice(service.Object, "status", "loadBalancer", "ingress")
	class := fields.String(service.Object, "spec", "loadBalancerClass")
	switch {
	case fields.String(service.Object, "spec", "type") != "LoadBalancer":
	case len(ingress) > 0:
		balancer["ingress"] = ingress
	case class == "":
		ip := allocate(a.loadBalancer, service, takenByLoadBalancers(c))
		balancer["ingress"] = []any{map[string]any{"ip": ip, "ipMode": "VIP"}}
	}
	status := control.Status{"loadBalancer": balancer}
	conditions.Of(service).WriteTo(status)
	return status
}

// takenClusterIPs returns the cluster IPs of all Services.
func takenClusterIPs(c control.Call) map[string]bool {
	taken := map[string]bool{}
	for _, s := range c.Cache.List(kinds.Service, "") {
		taken[fields.String(s.Object, "spec", "clusterIP")] = true
	}
	return taken
}

func takenByLoadBalancers(c control.Call) map[string]bool {
	taken := map[string]bool{}
	for _, s := range c.Cache.List(kinds.Service, "") {
		for _, ingress := range fields.Maps(s.Object, "status", "loadBalancer", "ingress") {
			taken[fields.String(ingress, "ip")] = true
		}
	}
	return taken
}

// allocate returns an address of a range, or "" if all are taken. It tries the address that the
// name hashes to, then the next free one. The first address of the range is not used.
func allocate(from netip.Prefix, obj *unstructured.Unstructured, taken map[string]bool) string {
	h := fnv.New32a()
	h.Write([]byte(control.NameOf(obj).String()))
	bits := min(16, from.Addr().BitLen()-from.Bits()) // more addresses than that are not needed
	size := uint32(1) << bits
	for i := range size {
		if n := (h.Sum32() + i) % size; n > 0 {
			if ip := offset(from.Masked().Addr(), n).String(); !taken[ip] {
				return ip
			}
		}
	}
	return ""
}

// offset returns the address n after a, whose last 16 bits are 0.
func offset(a netip.Addr, n uint32) netip.Addr {
	b := a.AsSlice()
	b[len(b)-1] |= byte(n)
	b[len(b)-2] |= byte(n >> 8)
	ip, _ := netip.AddrFromSlice(b)
	return ip
}
