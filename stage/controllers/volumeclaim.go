package controllers

import (
	"cmp"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/patch"
	"github.com/stagecraft-go/stagecraft/internal/requests"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// VolumeClaims returns the controller that binds claims to volumes: to the smallest that is there and fits, or else to one that it makes as the provisioner
// of the StorageClass would. A claim whose class says WaitForFirstConsumer waits until [Scheduler] has chosen the node of a Pod that uses
// it. One without a class gets the default class. It does without the finalizers that protect claims and volumes in use.
//
// It is not to run beside the Stages of presets.Volumes.
func VolumeClaims() reconcile.Controller {
	return reconcile.Controller{
		Name: "persistentvolumeclaim", For: volumeClaims,
		Watches: []reconcile.Watch{
			{Kind: volumes, Map: func(c *reconcile.Cache, ch reconcile.Change) []types.NamespacedName {
				if ref := tree(ch.Object().Object, "spec", "claimRef"); ref != nil {
					return []types.NamespacedName{{Namespace: text(ref, "namespace"), Name: text(ref, "name")}}
				}
				return unboundClaimNames(c)
			}},
			{Kind: storageClasses, Map: func(c *reconcile.Cache, _ reconcile.Change) []types.NamespacedName { return unboundClaimNames(c) }},
		},
		Reconcile: on(volumeClaims, reconcileClaim),
	}
}

// Volumes returns the controller that keeps the phase of volumes, and deletes those that were made for a claim when it is gone.
func Volumes() reconcile.Controller {
	return reconcile.Controller{
		Name: "persistentvolume", For: volumes,
		Watches: []reconcile.Watch{{Kind: volumeClaims, Map: func(_ *reconcile.Cache, ch reconcile.Change) []types.NamespacedName {
			if name := text(ch.Object().Object, "spec", "volumeName"); name != "" {
				return []types.NamespacedName{{Name: name}}
			}
			return nil
		}}},
		Reconcile: on(volumes, reconcileVolume),
	}
}

const (
	bindCompletedKey = "pv.kubernetes.io/bind-completed"
	boundByKey       = "pv.kubernetes.io/bound-by-controller"
	provisionedByKey = "pv.kubernetes.io/provisioned-by"
	provisionerKey   = "volume.kubernetes.io/storage-provisioner"
	oldProvisioner   = "volume.beta.kubernetes.io/storage-provisioner"
	noProvisioner    = "kubernetes.io/no-provisioner"
)

func unboundClaimNames(c *reconcile.Cache) (names []types.NamespacedName) {
	for _, claim := range c.List(volumeClaims, "") {
		if text(claim.Object, "status", "phase") != "Bound" {
			names = append(names, nameOf(claim))
		}
	}
	return names
}

func reconcileClaim(c call, claim *unstructured.Unstructured) (reconcile.Result, error) {
	if isTerminating(claim) {
		return reconcile.Result{}, nil
	}
	class := c.classOf(claim)
	if class != nil && claim.Object["spec"] != nil && tree(claim.Object, "spec")["storageClassName"] == nil {
		_, err := c.merge(claim, map[string]any{"spec": map[string]any{"storageClassName": class.GetName()}})
		return reconcile.Result{}, err // the change brings it back
	}
	volume, err := c.volumeFor(claim, class)
	if err != nil || volume == nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, c.bindClaim(claim, class, volume)
}

// volumeFor finds or makes the volume of a claim, nil if it has to wait. A claim whose volume is gone is lost.
func (c call) volumeFor(claim, class *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if name := text(claim.Object, "spec", "volumeName"); name != "" {
		volume := c.Cache.Get(volumes, types.NamespacedName{Name: name})
		if volume == nil && text(claim.Object, "status", "phase") == "Bound" {
			return nil, c.writeStatus(claim, counts{"phase": "Lost"})
		}
		if volume != nil && !refersTo(volume, claim) && tree(volume.Object, "spec", "claimRef") != nil {
			return nil, nil // taken by another one
		}
		return volume, nil
	}
	if class != nil && text(class.Object, "volumeBindingMode") == "WaitForFirstConsumer" && annotation(claim, selectedNodeKey) == "" {
		return nil, nil
	}
	if volume := c.bestVolume(claim); volume != nil {
		return volume, nil
	}
	if provisioner := c.provisioner(class); provisioner != "" {
		return c.provision(claim, class, provisioner)
	}
	return nil, nil
}

func (c call) provisioner(class *unstructured.Unstructured) string {
	if class == nil || text(class.Object, "provisioner") == noProvisioner {
		return ""
	}
	return text(class.Object, "provisioner")
}

// bestVolume is the smallest that fits and is free, or kept for this claim.
func (c call) bestVolume(claim *unstructured.Unstructured) (best *unstructured.Unstructured) {
	for _, v := range c.Cache.List(volumes, "") {
		free := tree(v.Object, "spec", "claimRef") == nil
		switch {
		case isTerminating(v), !free && !refersTo(v, claim), !fitsClaim(v, claim):
		case !free:
			return v
		case best == nil || storageOf(v.Object, "spec", "capacity") < storageOf(best.Object, "spec", "capacity"):
			best = v
		}
	}
	return best
}

func fitsClaim(volume, claim *unstructured.Unstructured) bool {
	mode := func(obj *unstructured.Unstructured) string {
		return cmp.Or(text(obj.Object, "spec", "volumeMode"), "Filesystem")
	}
	class := func(obj *unstructured.Unstructured) string { return text(obj.Object, "spec", "storageClassName") }
	offered := list(volume.Object, "spec", "accessModes")
	for _, m := range list(claim.Object, "spec", "accessModes") {
		if !slices.ContainsFunc(offered, func(o any) bool { return patch.Equal(o, m) }) {
			return false
		}
	}
	selects := tree(claim.Object, "spec", "selector")
	return class(volume) == class(claim) && mode(volume) == mode(claim) && (selects == nil || readSelector(selects).matches(volume)) &&
		storageOf(volume.Object, "spec", "capacity") >= storageOf(claim.Object, "spec", "resources", "requests")
}

// storageOf is the number of bytes among resources.
func storageOf(m map[string]any, path ...string) int64 {
	return requests.Read(tree(m, path...))["storage"]
}

// refersTo reports whether a volume is kept for a claim.
func refersTo(volume, claim *unstructured.Unstructured) bool {
	ref := tree(volume.Object, "spec", "claimRef")
	uid := text(ref, "uid")
	return text(ref, "name") == claim.GetName() && text(ref, "namespace") == claim.GetNamespace() && (uid == "" || uid == string(claim.GetUID()))
}

func claimRef(claim *unstructured.Unstructured) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": claim.GetNamespace(), "name": claim.GetName(),
		"uid": string(claim.GetUID()), "resourceVersion": claim.GetResourceVersion(),
	}
}

// provision makes a volume for a claim.
func (c call) provision(claim, class *unstructured.Unstructured, provisioner string) (*unstructured.Unstructured, error) {
	v := newObject(volumes, "", "pvc-"+string(claim.GetUID()))
	v.Object["metadata"].(map[string]any)["annotations"] = map[string]any{provisionedByKey: provisioner}
	spec := tree(claim.Object, "spec")
	v.Object["spec"] = map[string]any{
		"accessModes":                   slices.Clone(list(spec, "accessModes")),
		"capacity":                      map[string]any{"storage": requests.Text(tree(spec, "resources", "requests")["storage"])},
		"claimRef":                      claimRef(claim),
		"csi":                           map[string]any{"driver": provisioner, "volumeHandle": v.GetName()},
		"persistentVolumeReclaimPolicy": cmp.Or(text(class.Object, "reclaimPolicy"), "Delete"),
		"storageClassName":              class.GetName(),
		"volumeMode":                    cmp.Or(text(spec, "volumeMode"), "Filesystem"),
	}
	created, err := c.create(v)
	if apierrors.IsAlreadyExists(err) {
		return c.Cache.Get(volumes, nameOf(v)), nil
	}
	return created, err
}

// bindClaim binds both sides: first the volume, so that no other claim takes it.
func (c call) bindClaim(claim, class, volume *unstructured.Unstructured) error {
	if text(volume.Object, "spec", "claimRef", "uid") != string(claim.GetUID()) {
		bound, err := c.merge(volume, map[string]any{
			"metadata": map[string]any{"annotations": map[string]any{boundByKey: "yes"}},
			"spec":     map[string]any{"claimRef": claimRef(claim)},
		})
		if err != nil {
			return err
		}
		volume = bound
	}
	if annotation(claim, bindCompletedKey) == "" || text(claim.Object, "spec", "volumeName") == "" {
		annotations := map[string]any{bindCompletedKey: "yes"}
		if text(claim.Object, "spec", "volumeName") == "" {
			annotations[boundByKey] = "yes"
		}
		if p := annotation(volume, provisionedByKey); p != "" {
			annotations[provisionerKey], annotations[oldProvisioner] = p, p
		}
		bound, err := c.merge(claim, map[string]any{
			"metadata": map[string]any{"annotations": annotations}, "spec": map[string]any{"volumeName": volume.GetName()},
		})
		if err != nil {
			return err
		}
		claim = bound
	}
	return c.writeStatus(claim, claimStatus(volume))
}

// claimStatus is the status of a claim that is bound.
func claimStatus(volume *unstructured.Unstructured) counts {
	status := counts{"phase": "Bound"}
	if modes := list(volume.Object, "spec", "accessModes"); len(modes) > 0 {
		status["accessModes"] = slices.Clone(modes)
	}
	if capacity := tree(volume.Object, "spec", "capacity"); len(capacity) > 0 {
		status["capacity"] = maps.Clone(capacity)
	}
	return status
}

func reconcileVolume(c call, volume *unstructured.Unstructured) (reconcile.Result, error) {
	if isTerminating(volume) {
		return reconcile.Result{}, nil
	}
	phase := c.volumePhase(volume)
	if phase == "Released" && text(volume.Object, "spec", "persistentVolumeReclaimPolicy") == "Delete" {
		return reconcile.Result{}, c.delete(volume)
	}
	status := counts{"phase": phase, "lastPhaseTransitionTime": c.now()}
	if text(volume.Object, "status", "phase") == phase {
		status.keep(tree(volume.Object, "status"), "lastPhaseTransitionTime")
	}
	return reconcile.Result{}, c.writeStatus(volume, status)
}

func (c call) volumePhase(volume *unstructured.Unstructured) string {
	ref := tree(volume.Object, "spec", "claimRef")
	if text(ref, "uid") == "" {
		return "Available"
	}
	claim := c.Cache.Get(volumeClaims, types.NamespacedName{Namespace: text(ref, "namespace"), Name: text(ref, "name")})
	if claim == nil || !refersTo(volume, claim) {
		return "Released"
	}
	return "Bound"
}
