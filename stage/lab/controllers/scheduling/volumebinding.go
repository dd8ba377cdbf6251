package scheduling

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/storage"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// A claimName is a PersistentVolumeClaim of a Pod.
type claimName struct {
	name      string
	ephemeral bool // it is made for this Pod
}

// claimNames returns the PersistentVolumeClaims of a Pod.
func claimNames(pod *unstructured.Unstructured) (names []claimName) {
	for _, volume := range fields.Maps(pod.Object, "spec", "volumes") {
		switch {
		case fields.Value(volume, "ephemeral") != nil:
			names = append(names, claimName{pod.GetName() + "-" + fields.String(volume, "name"), true})
		case fields.Value(volume, "persistentVolumeClaim") != nil:
			names = append(names, claimName{fields.String(volume, "persistentVolumeClaim", "claimName"), false})
		}
	}
	return names
}

// volumeBinding keeps Pods to Nodes that reach their volumes, or on which their claims can be bound.
type volumeBinding struct{}

func (volumeBinding) Name() string { return "VolumeBinding" }

// volumesOfPod are the claims of a Pod, by whether they are bound.
type volumesOfPod struct {
	bound, unbound []*unstructured.Unstructured
}

func (p volumeBinding) PreFilter(c *Cycle) Status {
	if len(c.Pod.claims) == 0 {
		return Status{Skip: true}
	}
	var v volumesOfPod
	var immediate bool
	for _, claim := range c.Pod.claims {
		obj := claimOf(c.Cache, c.Pod, claim)
		if reason := whyUnusable(obj, claim); reason != "" {
			return unresolvable(reason)
		}
		switch {
		case isBound(obj):
			v.bound = append(v.bound, obj)
		case !storage.WaitsForConsumer(storage.ClassOf(c.Cache, obj)) || fields.String(obj.Object, "spec", "volumeName") != "":
			immediate = true
		default:
			v.unbound = append(v.unbound, obj)
		}
	}
	if immediate {
		return unresolvable("pod has unbound immediate PersistentVolumeClaims")
	}
	c.Write(p, v)
	return Status{}
}

func claimOf(cache *reconcile.Cache, p *PodInfo, claim claimName) *unstructured.Unstructured {
	return cache.Get(kinds.PersistentVolumeClaim, types.NamespacedName{Namespace: p.namespace, Name: claim.name})
}

func whyUnusable(obj *unstructured.Unstructured, claim claimName) string {
	switch {
	case obj == nil && claim.ephemeral:
		return fmt.Sprintf("waiting for ephemeral volume controller to create the persistentvolumeclaim %q", claim.name)
	case obj == nil:
		return fmt.Sprintf("persistentvolumeclaim %q not found", claim.name)
	case fields.String(obj.Object, "status", "phase") == "Lost":
		return fmt.Sprintf("persistentvolumeclaim %q bound to non-existent persistentvolume %q", claim.name, fields.String(obj.Object, "spec", "volumeName"))
	case fields.IsTerminating(obj):
		return fmt.Sprintf("persistentvolumeclaim %q is being deleted", claim.name)
	}
	return ""
}

// isBound reports whether a claim has its volume. The Stages of presets.Volumes write the phase only.
func isBound(claim *unstructured.Unstructured) bool {
	return fields.String(claim.Object, "status", "phase") == "Bound" ||
		fields.String(claim.Object, "spec", "volumeName") != "" && fields.Annotation(claim, "pv.kubernetes.io/bind-completed") != ""
}

func (p volumeBinding) Filter(c *Cycle, n *NodeInfo) Status {
	v := c.Read(p).(volumesOfPod)
	var reasons []string
	reached, exist := boundVolumesFit(c.Cache, v.bound, n)
	if !reached {
		reasons = append(reasons, "node(s) didn't match PersistentVolume's node affinity")
	}
	if _, reason := placeClaims(c.Cache, v.unbound, n); reason != "" {
		reasons = append(reasons, reason)
	}
	if !exist {
		reasons = append(reasons, "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)")
	}
	return Status{Reasons: reasons, Unresolvable: len(reasons) > 0}
}

// boundVolumesFit reports whether a Node reaches the volumes of claims, and whether they exist.
func boundVolumesFit(cache *reconcile.Cache, claims []*unstructured.Unstructured, n *NodeInfo) (reached, exist bool) {
	for _, claim := range claims {
		name := fields.String(claim.Object, "spec", "volumeName")
		if name == "" {
			continue // bound by Stages, without a volume
		}
		volume := cache.Get(kinds.PersistentVolume, types.NamespacedName{Name: name})
		if volume == nil {
			return true, false
		}
		if !volumeReaches(volume, n) {
			return false, true
		}
	}
	return true, true
}

// volumeReaches reports whether the node affinity of a volume matches a Node.
func volumeReaches(volume *unstructured.Unstructured, n *NodeInfo) bool {
	required := fields.Map(volume.Object, "spec", "nodeAffinity", "required")
	return required == nil || slices.ContainsFunc(readNodeTerms(required, "nodeSelectorTerms"), func(t nodeTerm) bool {
		return t.matches(n.Name, n.labels)
	})
}

// A placedClaim is a claim, and the volume that it gets on a Node: nil if a volume must be
// provisioned.
type placedClaim struct{ claim, volume *unstructured.Unstructured }

const noVolume = "node(s) didn't find available persistent volumes to bind"

// placeClaims finds volumes for unbound claims on a Node, for the smallest claim first. Claims
// without a volume will be provisioned. It returns why a claim can have no volume there.
func placeClaims(cache *reconcile.Cache, claims []*unstructured.Unstructured, n *NodeInfo) (placed []placedClaim, reason string) {
	var provision, match []*unstructured.Unstructured
	for _, claim := range claims {
		switch fields.Annotation(claim, storage.SelectedNode) {
		case "":
			match = append(match, claim)
		case n.Name:
			provision = append(provision, claim)
		default:
			return nil, noVolume
		}
	}
	slices.SortStableFunc(match, func(a, b *unstructured.Unstructured) int { return cmp.Compare(storage.Wanted(a), storage.Wanted(b)) })
	taken := map[string]bool{}
	for _, claim := range match {
		volume := smallestVolume(cache, claim, n, taken)
		if volume == nil {
			provision = append(provision, claim)
			continue
		}
		taken[volume.GetName()] = true
		placed = append(placed, placedClaim{claim, volume})
	}
	for _, claim := range provision {
		if reason := whyNotProvisioned(cache, claim, n); reason != "" {
			return nil, reason
		}
		placed = append(placed, placedClaim{claim, nil})
	}
	return placed, ""
}

// smallestVolume returns the volume that is reserved for a claim. Without one, it returns the
// smallest available volume that fits and that a Node reaches. If a volume is reserved, it takes no
// other.
func smallestVolume(cache *reconcile.Cache, claim *unstructured.Unstructured, n *NodeInfo, taken map[string]bool) *unstructured.Unstructured {
	for _, v := range storage.Reserved(cache, claim) {
		switch {
		case taken[v.GetName()]:
		case !volumeReaches(v, n):
			return nil
		default:
			return v
		}
	}
	for v := range storage.Free(cache, claim) {
		if !taken[v.GetName()] && fields.String(v.Object, "status", "phase") == "Available" && fitsClaim(v, claim) && volumeReaches(v, n) {
			return v
		}
	}
	return nil
}

// fitsClaim reports whether a volume has the access modes and the labels that a claim wants.
func fitsClaim(volume, claim *unstructured.Unstructured) bool {
	offered, _ := object.Strings(volume.Object, "spec", "accessModes")
	wanted, _ := object.Strings(claim.Object, "spec", "accessModes")
	selects := fields.Map(claim.Object, "spec", "selector")
	return !slices.ContainsFunc(wanted, func(m string) bool { return !slices.Contains(offered, m) }) &&
		(selects == nil || readSelector(selects).matches(labelsOf(volume)))
}
