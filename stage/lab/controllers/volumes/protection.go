package volumes

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/pods"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

const (
	claimProtection  = "kubernetes.io/pvc-protection"
	volumeProtection = "kubernetes.io/pv-protection"
)

// ClaimProtection returns the controller that keeps a claim that is deleted until no Pod with a Node
// uses it, by a finalizer. A Pod that has ended uses its claims until it is gone.
func ClaimProtection() reconcile.Controller {
	return reconcile.Controller{
		Name: "pvc-protection", For: kinds.PersistentVolumeClaim,
		Watches: []reconcile.Watch{{Kind: kinds.Pod, Map: func(_ *reconcile.Cache, ch reconcile.Change) []types.NamespacedName {
			if ch.New != nil {
				return nil // it uses no less than before
			}
			return claimsOf(ch.Old)
		}}},
		Reconcile: control.OnExisting(kinds.PersistentVolumeClaim, func(c control.Call, claim *unstructured.Unstructured) (reconcile.Result, error) {
			return reconcile.Result{}, protect(c, claim, protection{claimProtection, claimInUse})
		}),
	}
}

// VolumeProtection returns the controller that keeps a volume that is deleted while it is bound, by
// a finalizer.
func VolumeProtection() reconcile.Controller {
	return reconcile.Controller{
		Name: "pv-protection", For: kinds.PersistentVolume,
		Reconcile: control.OnExisting(kinds.PersistentVolume, func(c control.Call, volume *unstructured.Unstructured) (reconcile.Result, error) {
			return reconcile.Result{}, protect(c, volume, protection{volumeProtection, volumeInUse})
		}),
	}
}

// A protection is a finalizer, and a function that reports whether an object is in use.
type protection struct {
	finalizer string
	inUse     func(control.Call, *unstructured.Unstructured) bool
}

// protect adds the finalizer to an object, or removes it if the object is deleted and not in use.
func protect(c control.Call, obj *unstructured.Unstructured, p protection) error {
	finalizers := obj.GetFinalizers()
	switch has := slices.Contains(finalizers, p.finalizer); {
	case !has && !fields.IsTerminating(obj):
		finalizers = append(finalizers, p.finalizer)
	case has && fields.IsTerminating(obj) && !p.inUse(c, obj):
		finalizers = slices.DeleteFunc(finalizers, func(f string) bool { return f == p.finalizer })
	default:
		return nil
	}
	_, err := c.MergePatch(obj, map[string]any{"metadata": map[string]any{"finalizers": anyList(finalizers)}})
	return control.IgnoreNotFound(err)
}

func anyList(texts []string) []any {
	list := make([]any, len(texts))
	for i, s := range texts {
		list[i] = s
	}
	return list
}

func claimInUse(c control.Call, claim *unstructured.Unstructured) bool {
	return slices.ContainsFunc(c.Cache.List(kinds.Pod, claim.GetNamespace()), func(pod *unstructured.Unstructured) bool {
		return pods.Of(pod).NodeName() != "" && slices.ContainsFunc(fields.Maps(pod.Object, "spec", "volumes"), func(v map[string]any) bool {
			return claimOf(pod, v) == claim.GetName() && (fields.Value(v, "ephemeral") == nil || metav1.IsControlledBy(claim, pod))
		})
	})
}

func volumeInUse(_ control.Call, volume *unstructured.Unstructured) bool {
	return fields.String(volume.Object, "status", "phase") == "Bound"
}

// claimsOf returns the claims that the volumes of a Pod name, and the claims that are made for the
// Pod.
func claimsOf(pod *unstructured.Unstructured) (names []types.NamespacedName) {
	for _, v := range fields.Maps(pod.Object, "spec", "volumes") {
		if name := claimOf(pod, v); name != "" {
			names = append(names, types.NamespacedName{Namespace: pod.GetNamespace(), Name: name})
		}
	}
	return names
}

// claimOf returns the name of the claim of a volume, or "".
func claimOf(pod *unstructured.Unstructured, volume map[string]any) string {
	if fields.Value(volume, "ephemeral") != nil {
		return pod.GetName() + "-" + fields.String(volume, "name")
	}
	return fields.String(volume, "persistentVolumeClaim", "claimName")
}
