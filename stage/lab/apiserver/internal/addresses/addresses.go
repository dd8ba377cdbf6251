// Package addresses keeps an IPAddress for each cluster IP of a Service, as the registry of Services of
// kube-apiserver does. Package defaults picks the addresses.
//
// # Concurrency
//
// The hooks are called while the cluster is locked. The other functions are safe for concurrent use.
package addresses

import (
	"net/netip"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// The kinds of the addresses and of their ranges.
var (
	Kind  = schema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: "IPAddress"}
	Range = schema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: "ServiceCIDR"}
)

var services = schema.GroupResource{Resource: "services"}

// Hooks returns hooks that create the IPAddresses of a Service with it, and remove them with it.
func Hooks() memory.Hooks { return memory.Hooks{Name: "addresses", Review: keep, Removed: release} }

func keep(v *memory.Review) error {
	if v.Resource != services || v.New == nil {
		return nil
	}
	before, next := map[string]bool{}, map[string]bool{}
	for _, name := range Of(v.Old) {
		before[name] = true
	}
	for _, name := range Of(v.New) {
		next[name] = true
		if !before[name] {
			v.Create(New(name, v.New, v.Time))
		}
	}
	for _, name := range Of(v.Old) {
		if !next[name] {
			v.Remove(Kind, types.NamespacedName{Name: name})
		}
	}
	return nil
}

func release(v *memory.Review) {
	if v.Resource != services {
		return
	}
	for _, name := range Of(v.Old) {
		v.Remove(Kind, types.NamespacedName{Name: name})
	}
}

// Of returns the names of the IPAddresses that a Service needs; none for nil.
func Of(service *unstructured.Unstructured) (names []string) {
	if service == nil {
		return nil
	}
	ips, _, _ := unstructured.NestedStringSlice(service.Object, "spec", "clusterIPs")
	for _, ip := range ips {
		if addr, err := netip.ParseAddr(ip); err == nil { // not None
			names = append(names, addr.String())
		}
	}
	return names
}

// Manager is the field manager of the addresses.
const Manager = "kube-apiserver"

// New returns the IPAddress of a Service.
func New(name string, service *unstructured.Unstructured, now time.Time) *unstructured.Unstructured {
	family := "IPv4"
	if addr, err := netip.ParseAddr(name); err == nil && addr.Is6() {
		family = "IPv6"
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": Kind.GroupVersion().String(), "kind": Kind.Kind,
		"metadata": map[string]any{
			"name":   name,
			"labels": map[string]any{"ipaddress.kubernetes.io/ip-family": family, "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io"},
			"managedFields": []any{map[string]any{
				"apiVersion": Kind.GroupVersion().String(), "manager": Manager, "operation": "Update", "time": now.UTC().Format(time.RFC3339), "fieldsType": "FieldsV1",
				"fieldsV1": map[string]any{
					"f:metadata": map[string]any{"f:labels": owned("f:ipaddress.kubernetes.io/ip-family", "f:ipaddress.kubernetes.io/managed-by")},
					"f:spec":     map[string]any{"f:parentRef": owned("f:name", "f:namespace", "f:resource")},
				},
			}},
		},
		"spec": map[string]any{"parentRef": map[string]any{"resource": services.Resource, "namespace": service.GetNamespace(), "name": service.GetName()}},
	}}
}

// owned are the fields of a map that a manager owns, and the map itself.
func owned(fields ...string) map[string]any {
	all := map[string]any{".": map[string]any{}}
	for _, f := range fields {
		all[f] = map[string]any{}
	}
	return all
}
