package storage

import (
	"cmp"
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/resources"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// Volumes finds PersistentVolumes: those with a claimRef by the claim, and the others by class and mode,
// the smallest first. A controller that calls [Reserved] or [Free] lists it.
var Volumes = &reconcile.Index{Kind: kinds.PersistentVolume, Value: placeOf, Order: func(a, b *unstructured.Unstructured) int {
	return cmp.Compare(Capacity(a), Capacity(b))
}}

func placeOf(volume *unstructured.Unstructured) string {
	if ref := fields.Map(volume.Object, "spec", "claimRef"); ref != nil {
		return reserved(fields.String(ref, "namespace"), fields.String(ref, "name"))
	}
	return free(volume)
}

func reserved(namespace, claim string) string { return "reserved " + namespace + "/" + claim }

func free(volumeOrClaim *unstructured.Unstructured) string {
	return "free " + mode(volumeOrClaim) + " " + fields.String(volumeOrClaim.Object, "spec", "storageClassName")
}

func mode(volumeOrClaim *unstructured.Unstructured) string {
	return cmp.Or(fields.String(volumeOrClaim.Object, "spec", "volumeMode"), "Filesystem")
}

// Reserved returns the volumes that are bound to a claim or reserved for it, and have its class, its mode
// and at least its size, by name.
func Reserved(cache *reconcile.Cache, claim *unstructured.Unstructured) (found []*unstructured.Unstructured) {
	for _, v := range cache.By(Volumes, reserved(claim.GetNamespace(), claim.GetName())) {
		if !fields.IsTerminating(v) && RefersTo(v, claim) && free(v) == free(claim) && Capacity(v) >= Wanted(claim) {
			found = append(found, v)
		}
	}
	slices.SortFunc(found, func(a, b *unstructured.Unstructured) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return found
}

// Free returns the volumes without a claim that have the class, the mode and at least the size of a
// claim, the smallest first, then by name. Nothing may be written while the sequence is read.
func Free(cache *reconcile.Cache, claim *unstructured.Unstructured) iter.Seq[*unstructured.Unstructured] {
	wanted := Wanted(claim)
	large := func(v *unstructured.Unstructured) bool { return Capacity(v) >= wanted }
	return func(yield func(*unstructured.Unstructured) bool) {
		for v := range cache.Ascend(Volumes, free(claim), large) {
			if !fields.IsTerminating(v) && !yield(v) {
				return
			}
		}
	}
}

// Capacity is the size of a volume in bytes.
func Capacity(volume *unstructured.Unstructured) int64 {
	return resources.Parse(fields.Map(volume.Object, "spec", "capacity"))["storage"]
}

// Wanted is the size that a claim asks for, in bytes.
func Wanted(claim *unstructured.Unstructured) int64 {
	return resources.Parse(fields.Map(claim.Object, "spec", "resources", "requests"))["storage"]
}

// RefersTo reports whether a volume is bound to a claim, or reserved for it.
func RefersTo(volume, claim *unstructured.Unstructured) bool {
	ref := fields.Map(volume.Object, "spec", "claimRef")
	uid := fields.String(ref, "uid")
	return fields.String(ref, "name") == claim.GetName() && fields.String(ref, "namespace") == claim.GetNamespace() &&
		(uid == "" || uid == string(claim.GetUID()))
}
