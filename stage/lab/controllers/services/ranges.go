package services

import (
	"encoding/json"
	"net/netip"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

const (
	rangesController = "service-cidr-controller"
	rangeFinalizer   = "networking.k8s.io/service-cidr-finalizer"

	// afterDeletion is how long a deleted range stays, so that no Service gets an address of it.
	afterDeletion = 10 * time.Second
)

// ServiceCIDRs returns the controller that says that ServiceCIDRs are ready, and keeps a deleted one
// until no IPAddress is left without a range.
func ServiceCIDRs() reconcile.Controller {
	return reconcile.Controller{
		Name: "service-cidr", Component: rangesController, For: kinds.ServiceCIDR,
		Watches: []reconcile.Watch{
			{Kind: kinds.IPAddress, Map: rangesOfAddress},
			{Kind: kinds.ServiceCIDR, Map: overlapping},
		},
		Reconcile: control.OnExisting(kinds.ServiceCIDR, keepRange),
	}
}

// rangesOfAddress returns the ranges with an address that is new or gone.
func rangesOfAddress(c *reconcile.Cache, ch reconcile.Change) (names []types.NamespacedName) {
	if ch.Old != nil && ch.New != nil || !isAllocated(ch.Object()) {
		return nil
	}
	address, err := netip.ParseAddr(ch.Object().GetName())
	if err != nil {
		return nil
	}
	for _, r := range c.List(kinds.ServiceCIDR, "") {
		if slices.ContainsFunc(prefixes(r), func(p netip.Prefix) bool { return hasHost(p, address) }) {
			names = append(names, control.NameOf(r))
		}
	}
	return names
}

// overlapping returns the ranges that overlap with a new one.
func overlapping(c *reconcile.Cache, ch reconcile.Change) (names []types.NamespacedName) {
	if ch.Old != nil {
		return nil
	}
	for _, r := range c.List(kinds.ServiceCIDR, "") {
		for _, p := range prefixes(r) {
			if slices.ContainsFunc(prefixes(ch.New), p.Overlaps) {
				names = append(names, control.NameOf(r))
				break
			}
		}
	}
	return names
}

// isAllocated reports whether an IPAddress belongs to a Service.
func isAllocated(address *unstructured.Unstructured) bool {
	return fields.Label(address, "ipaddress.kubernetes.io/managed-by") == "ipallocator.k8s.io"
}

func prefixes(r *unstructured.Unstructured) (all []netip.Prefix) {
	for _, v := range fields.Slice(r.Object, "spec", "cidrs") {
		text, _ := v.(string)
		if p, err := netip.ParsePrefix(text); err == nil {
			all = append(all, p.Masked())
		}
	}
	return all
}

// hasHost reports whether a Service can have an address of a range. No Service has the address of the
// network or, for IPv4, the broadcast address.
func hasHost(p netip.Prefix, a netip.Addr) bool {
	return p.Contains(a) && a != p.Addr() && (!a.Is4() || p.Contains(a.Next()))
}

func keepRange(c control.Call, r *unstructured.Unstructured) (reconcile.Result, error) {
	if !fields.IsTerminating(r) {
		if err := setFinalizer(c, r, true); err != nil {
			return reconcile.Result{}, err
		}
		return reconcile.Result{}, setReady(c, r, "True", "", "Kubernetes Service CIDR is ready")
	}
	if isNeeded(c, r) {
		return reconcile.Result{}, setReady(c, r, "False", "Terminating", "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR")
	}
	if wait := r.GetDeletionTimestamp().Add(afterDeletion).Sub(c.Now); wait > 0 {
		return reconcile.Result{After: wait}, nil
	}
	return reconcile.Result{}, setFinalizer(c, r, false)
}

// isNeeded reports whether addresses would have no range without this one.
func isNeeded(c control.Call, r *unstructured.Unstructured) bool {
	others := slices.DeleteFunc(slices.Clone(c.Cache.List(kinds.ServiceCIDR, "")), func(other *unstructured.Unstructured) bool { return other.GetName() == r.GetName() })
	inOthers := func(has func(netip.Prefix) bool) bool {
		return slices.ContainsFunc(others, func(other *unstructured.Unstructured) bool { return slices.ContainsFunc(prefixes(other), has) })
	}
	own := prefixes(r)
	if !slices.ContainsFunc(own, func(p netip.Prefix) bool {
		return !inOthers(func(other netip.Prefix) bool { return other.Overlaps(p) && other.Bits() <= p.Bits() })
	}) {
		return false
	}
	return slices.ContainsFunc(c.Cache.List(kinds.IPAddress, ""), func(address *unstructured.Unstructured) bool {
		a, err := netip.ParseAddr(address.GetName())
		has := func(p netip.Prefix) bool { return hasHost(p, a) }
		return err == nil && isAllocated(address) && slices.ContainsFunc(own, has) && !inOthers(has)
	})
}

// setFinalizer adds the finalizer to a range, or removes it.
func setFinalizer(c control.Call, r *unstructured.Unstructured, wanted bool) error {
	if slices.Contains(r.GetFinalizers(), rangeFinalizer) == wanted {
		return nil
	}
	finalizers := []any{}
	for _, f := range r.GetFinalizers() {
		if f != rangeFinalizer {
			finalizers = append(finalizers, f)
		}
	}
	if wanted {
		finalizers = append(finalizers, rangeFinalizer)
	}
	_, err := c.MergePatch(r, map[string]any{"metadata": map[string]any{"finalizers": finalizers}})
	return control.IgnoreNotFound(err)
}

// setReady writes the condition Ready if it says something else.
func setReady(c control.Call, r *unstructured.Unstructured, status, reason, message string) error {
	for _, condition := range fields.Maps(r.Object, "status", "conditions") {
		if fields.String(condition, "type") == "Ready" && fields.String(condition, "status") == status && fields.String(condition, "reason") == reason && fields.String(condition, "message") == message {
			return nil
		}
	}
	data, err := json.Marshal(map[string]any{
		"apiVersion": "networking.k8s.io/v1", "kind": "ServiceCIDR", "metadata": map[string]any{"name": r.GetName()},
		"status": map[string]any{"conditions": []any{map[string]any{
			"type": "Ready", "status": status, "reason": reason, "message": message, "lastTransitionTime": c.Now.UTC().Format(time.RFC3339)}}},
	})
	if err != nil {
		return err
	}
	force := true
	_, err = c.Client.Patch(c.Context, kinds.ServiceCIDR, control.NameOf(r), types.ApplyPatchType, data, metav1.PatchOptions{FieldManager: rangesController, Force: &force}, "status")
	return control.IgnoreNotFound(err)
}
