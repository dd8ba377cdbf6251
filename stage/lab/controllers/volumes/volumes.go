package volumes

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/selectors"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/storage"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// PersistentVolumeClaims returns the controller that binds claims to volumes: to the smallest
// volume that fits, or else to a new volume, which it provisions like the provisioner of the
// StorageClass. A claim whose class has the mode WaitForFirstConsumer waits until the scheduler has
// selected the Node of a Pod that uses it. A claim without a class gets the default class.
//
// Do not run it together with the Stages of presets.Volumes, which also bind claims.
//
// The controller keeps state. Create a separate controller for each loop.
func PersistentVolumeClaims() reconcile.Controller {
	reconcileExisting := control.OnExisting(kinds.PersistentVolumeClaim, reconcileClaim)
	queued := false // all unbound claims are, since the last reconcile: many volumes that come at once queue them once
	unbound := func(c *reconcile.Cache) []types.NamespacedName {
		if queued {
			return nil
		}
		queued = true
		return unboundClaimNames(c)
	}
	return reconcile.Controller{
		Name: "persistentvolumeclaim", For: kinds.PersistentVolumeClaim, Indexes: []*reconcile.Index{storage.Volumes},
		Watches: []reconcile.Watch{
			{Kind: kinds.PersistentVolume, Map: func(c *reconcile.Cache, ch reconcile.Change) []types.NamespacedName {
				if ref := fields.Map(ch.Object().Object, "spec", "claimRef"); ref != nil {
					return []types.NamespacedName{{Namespace: fields.String(ref, "namespace"), Name: fields.String(ref, "name")}}
				}
				if !canHelp(ch) {
					return nil
				}
				return unbound(c)
			}},
			{Kind: kinds.StorageClass, Map: func(c *reconcile.Cache, _ reconcile.Change) []types.NamespacedName {
				return unbound(c)
			}},
		},
		Reconcile: func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
			queued = false
			return reconcileExisting(ctx, r)
		},
	}
}

// PersistentVolumes returns the controller that writes the phase of volumes, and deletes a released
// volume whose reclaim policy is Delete.
func PersistentVolumes() reconcile.Controller {
	boundVolume := func(_ *reconcile.Cache, ch reconcile.Change) []types.NamespacedName {
		if name := fields.String(ch.Object().Object, "spec", "volumeName"); name != "" {
			return []types.NamespacedName{{Name: name}}
		}
		return nil
	}
	return reconcile.Controller{
		Name: "persistentvolume", For: kinds.PersistentVolume,
		Watches:   []reconcile.Watch{{Kind: kinds.PersistentVolumeClaim, Map: boundVolume}},
		Reconcile: control.OnExisting(kinds.PersistentVolume, reconcileVolume),
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

// canHelp reports whether after a change of a volume without a claim, another claim can have it: what
// claims ask for has changed.
func canHelp(ch reconcile.Change) bool {
	if ch.New == nil || ch.Old == nil {
		return ch.New != nil
	}
	return !object.DeepEqual(fields.Value(ch.Old.Object, "spec"), fields.Value(ch.New.Object, "spec")) ||
		!object.DeepEqual(fields.Value(ch.Old.Object, "metadata", "labels"), fields.Value(ch.New.Object, "metadata", "labels"))
}

func unboundClaimNames(c *reconcile.Cache) (names []types.NamespacedName) {
	for _, claim := range c.List(kinds.PersistentVolumeClaim, "") {
		if fields.String(claim.Object, "status", "phase") != "Bound" {
			names = append(names, control.NameOf(claim))
		}
	}
	return names
}

func reconcileClaim(c control.Call, claim *unstructured.Unstructured) (reconcile.Result, error) {
	if fields.IsTerminating(claim) {
		return reconcile.Result{}, nil
	}
	class := storage.ClassOf(c.Cache, claim)
	if class != nil && fields.Value(claim.Object, "spec") != nil && fields.Value(claim.Object, "spec", "storageClassName") == nil {
		_, err := c.MergePatch(claim, map[string]any{"spec": map[string]any{"storageClassName": class.GetName()}})
		return reconcile.Result{}, err // the change of the claim brings it back
	}
	volume, err := volumeFor(c, claim, class)
	if err != nil || volume == nil {
		return reconcile.Result{}, err
	}
	if volume, err = grow(c, claim, class, volume); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, bindClaim(c, claim, volume)
}

// volumeFor finds or provisions the volume of a claim, nil if the claim has to wait. A claim whose
// volume is gone is lost.
func volumeFor(c control.Call, claim, class *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if name := fields.String(claim.Object, "spec", "volumeName"); name != "" {
		volume := c.Cache.Get(kinds.PersistentVolume, types.NamespacedName{Name: name})
		if volume == nil && fields.String(claim.Object, "status", "phase") == "Bound" {
			return nil, c.WriteStatus(claim, control.Status{"phase": "Lost"})
		}
		if volume != nil && !storage.RefersTo(volume, claim) && fields.Map(volume.Object, "spec", "claimRef") != nil {
			return nil, nil // bound to another claim
		}
		return volume, nil
	}
	waits := storage.WaitsForConsumer(class)
	if volume := bestVolume(c, claim); volume != nil && (!waits || storage.RefersTo(volume, claim)) {
		return volume, nil
	}
	if waits && fields.Annotation(claim, storage.SelectedNode) == "" {
		return nil, nil // the scheduler selects a Node, or reserves a volume
	}
	if provisioner := provisionerOf(class); provisioner != "" {
		return provision(c, claim, class, provisioner)
	}
	return nil, nil
}

// provisionerOf returns the provisioner of volumes of a class, or "" without one.
func provisionerOf(class *unstructured.Unstructured) string {
	if class == nil || fields.String(class.Object, "provisioner") == noProvisioner {
		return ""
	}
	return fields.String(class.Object, "provisioner")
}

// bestVolume returns the volume that is reserved for a claim, else the smallest that fits, or nil.
func bestVolume(c control.Call, claim *unstructured.Unstructured) *unstructured.Unstructured {
	for _, v := range storage.Reserved(c.Cache, claim) {
		if fitsClaim(v, claim) {
			return v
		}
	}
	for v := range storage.Free(c.Cache, claim) {
		if fitsClaim(v, claim) {
			return v
		}
	}
	return nil
}

// fitsClaim reports whether a volume has the access modes and the labels that a claim asks for.
func fitsClaim(volume, claim *unstructured.Unstructured) bool {
	offered := fields.Slice(volume.Object, "spec", "accessModes")
	for _, m := range fields.Slice(claim.Object, "spec", "accessModes") {
		if !slices.ContainsFunc(offered, func(o any) bool { return object.DeepEqual(o, m) }) {
			return false
		}
	}
	selector := fields.Map(claim.Object, "spec", "selector")
	return selector == nil || selectors.Read(selector).Matches(volume)
}

func claimRef(claim *unstructured.Unstructured) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": claim.GetNamespace(), "name": claim.GetName(),
		"uid": string(claim.GetUID()), "resourceVersion": claim.GetResourceVersion(),
	}
}

// provision creates a volume for a claim.
func provision(c control.Call, claim, class *unstructured.Unstructured, provisioner string) (*unstructured.Unstructured, error) {
	v := control.NewObject(kinds.PersistentVolume, "", "pvc-"+string(claim.GetUID()))
	control.Metadata(v)["annotations"] = map[string]any{provisionedByKey: provisioner}
	spec := fields.Map(claim.Object, "spec")
	size := fields.Value(spec, "resources", "requests", "storage")
	v.Object["spec"] = map[string]any{
		"accessModes":                   slices.Clone(fields.Slice(spec, "accessModes")),
		"capacity":                      map[string]any{"storage": fmt.Sprint(size)},
		"claimRef":                      claimRef(claim),
		"csi":                           map[string]any{"driver": provisioner, "volumeHandle": v.GetName()},
		"persistentVolumeReclaimPolicy": cmp.Or(fields.String(class.Object, "reclaimPolicy"), "Delete"),
		"storageClassName":              class.GetName(),
		"volumeMode":                    cmp.Or(fields.String(spec, "volumeMode"), "Filesystem"),
	}
	created, err := c.Create(v)
	if apierrors.IsAlreadyExists(err) {
		return c.Cache.Get(kinds.PersistentVolume, control.NameOf(v)), nil
	}
	return created, err
}

// bindClaim binds both sides: first the volume, so that no other claim gets it.
func bindClaim(c control.Call, claim, volume *unstructured.Unstructured) error {
	if fields.String(volume.Object, "spec", "claimRef", "uid") != string(claim.GetUID()) {
		bound, err := c.MergePatch(volume, map[string]any{
			"metadata": map[string]any{"annotations": map[string]any{boundByKey: "yes"}},
			"spec":     map[string]any{"claimRef": claimRef(claim)},
		})
		if err != nil {
			return err
		}
		volume = bound
	}
	if fields.Annotation(claim, bindCompletedKey) == "" || fields.String(claim.Object, "spec", "volumeName") == "" {
		annotations := map[string]any{bindCompletedKey: "yes"}
		if fields.String(claim.Object, "spec", "volumeName") == "" {
			annotations[boundByKey] = "yes"
		}
		if p := fields.Annotation(volume, provisionedByKey); p != "" {
			annotations[provisionerKey], annotations[oldProvisioner] = p, p
		}
		bound, err := c.MergePatch(claim, map[string]any{
			"metadata": map[string]any{"annotations": annotations}, "spec": map[string]any{"volumeName": volume.GetName()},
		})
		if err != nil {
			return err
		}
		claim = bound
	}
	return c.WriteStatus(claim, claimStatus(volume))
}

// claimStatus returns the status of a claim that is bound.
func claimStatus(volume *unstructured.Unstructured) control.Status {
	status := control.Status{"phase": "Bound"}
	if modes := fields.Slice(volume.Object, "spec", "accessModes"); len(modes) > 0 {
		status["accessModes"] = slices.Clone(modes)
	}
	if capacity := fields.Map(volume.Object, "spec", "capacity"); len(capacity) > 0 {
		status["capacity"] = maps.Clone(capacity)
	}
	return status
}

func reconcileVolume(c control.Call, volume *unstructured.Unstructured) (reconcile.Result, error) {
	phase := volumePhase(c, volume)
	if phase == "Released" && !fields.IsTerminating(volume) && fields.String(volume.Object, "spec", "persistentVolumeReclaimPolicy") == "Delete" {
		return reconcile.Result{}, c.Delete(volume)
	}
	status := control.Status{"phase": phase, "lastPhaseTransitionTime": c.Timestamp()}
	old := fields.Map(volume.Object, "status")
	if since := fields.Value(old, "lastPhaseTransitionTime"); since != nil && fields.String(old, "phase") == phase {
		status["lastPhaseTransitionTime"] = since
	}
	return reconcile.Result{}, c.WriteStatus(volume, status)
}

func volumePhase(c control.Call, volume *unstructured.Unstructured) string {
	ref := fields.Map(volume.Object, "spec", "claimRef")
	if fields.String(ref, "uid") == "" {
		return "Available"
	}
	name := types.NamespacedName{Namespace: fields.String(ref, "namespace"), Name: fields.String(ref, "name")}
	claim := c.Cache.Get(kinds.PersistentVolumeClaim, name)
	if claim == nil || !storage.RefersTo(volume, claim) {
		return "Released"
	}
	return "Bound"
}
