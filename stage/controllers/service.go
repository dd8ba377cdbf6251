package controllers

import (
	"hash/fnv"
	"net/netip"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// Services returns the controller that gives Services their addresses: a cluster IP, as the API server does where there is one, and to those of
// type LoadBalancer one for the outside, as a cloud does. A Service asks for the same address in every run.
func Services(o Options) reconcile.Controller {
	a := addresses{cluster: o.ServiceIPs, outside: o.LoadBalancerIPs}
	if !a.cluster.IsValid() {
		a.cluster = netip.MustParsePrefix("10.96.0.0/12")
	}
	if !a.outside.IsValid() {
		a.outside = netip.MustParsePrefix("198.18.0.0/15")
	}
	return reconcile.Controller{Name: "service", For: services, Reconcile: on(services, a.reconcile)}
}

// addresses are the ranges from which Services get theirs.
type addresses struct{ cluster, outside netip.Prefix }

func (a addresses) reconcile(c call, service *unstructured.Unstructured) (reconcile.Result, error) {
	if isTerminating(service) {
		return reconcile.Result{}, nil
	}
	spec := tree(service.Object, "spec")
	if text(spec, "clusterIP") == "" && text(spec, "type") != "ExternalName" {
		ip := allocate(a.cluster, service, c.taken("spec", "clusterIP"))
		_, err := c.merge(service, map[string]any{"spec": map[string]any{"clusterIP": ip, "clusterIPs": []any{ip}}})
		return reconcile.Result{}, err // the change brings it back
	}
	return reconcile.Result{}, c.writeStatus(service, a.status(c, service))
}

// status has the address for the outside, for as long as the type asks for one.
func (a addresses) status(c call, service *unstructured.Unstructured) counts {
	balancer := map[string]any{}
	ingress := list(service.Object, "status", "loadBalancer", "ingress")
	class := text(service.Object, "spec", "loadBalancerClass")
	switch {
	case text(service.Object, "spec", "type") != "LoadBalancer":
	case len(ingress) > 0:
		balancer["ingress"] = ingress
	case class == "":
		ip := allocate(a.outside, service, c.takenOutside())
		balancer["ingress"] = []any{map[string]any{"ip": ip, "ipMode": "VIP"}}
	}
	status := counts{"loadBalancer": balancer}
	conditionsOf(service).into(status)
	return status
}

// taken are the addresses that Services have at a path.
func (c call) taken(path ...string) map[string]bool {
	taken := map[string]bool{}
	for _, s := range c.Cache.List(services, "") {
		taken[text(s.Object, path...)] = true
	}
	return taken
}

func (c call) takenOutside() map[string]bool {
	taken := map[string]bool{}
	for _, s := range c.Cache.List(services, "") {
		for _, ingress := range trees(s.Object, "status", "loadBalancer", "ingress") {
			taken[text(ingress, "ip")] = true
		}
	}
	return taken
}

// allocate returns an address of a range, "" if all are taken: the one that the name hashes to, or the next that is free. The first of the range is
// nobody's.
func allocate(from netip.Prefix, obj *unstructured.Unstructured, taken map[string]bool) string {
	h := fnv.New32a()
	h.Write([]byte(nameOf(obj).String()))
	bits := min(16, from.Addr().BitLen()-from.Bits()) // more addresses than that nobody needs
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

// offset returns an address that comes n after another one whose last 16 bits are 0 where n is not.
func offset(a netip.Addr, n uint32) netip.Addr {
	b := a.AsSlice()
	b[len(b)-1] |= byte(n)
	b[len(b)-2] |= byte(n >> 8)
	ip, _ := netip.AddrFromSlice(b)
	return ip
}
