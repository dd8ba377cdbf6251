package volumes

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// EphemeralVolumes returns the controller that creates the claims of ephemeral volumes of Pods. A
// Pod owns its claims, which are deleted with it.
func EphemeralVolumes() reconcile.Controller {
	return reconcile.Controller{
		Name: "ephemeral-volume", Component: "ephemeral_volume", For: kinds.Pod,
		When:      func(ch reconcile.Change) bool { return ch.New != nil && hasEphemeral(ch.New) },
		Watches:   []reconcile.Watch{{Kind: kinds.PersistentVolumeClaim}},
		Reconcile: control.OnExisting(kinds.Pod, createClaims),
	}
}

func hasEphemeral(pod *unstructured.Unstructured) bool {
	return slices.ContainsFunc(fields.Slice(pod.Object, "spec", "volumes"), func(v any) bool {
		volume, _ := object.ToMap(v)
		return fields.Map(volume, "ephemeral") != nil
	})
}

func createClaims(c control.Call, pod *unstructured.Unstructured) (reconcile.Result, error) {
	if fields.IsTerminating(pod) {
		return reconcile.Result{}, nil
	}
	for _, volume := range fields.Maps(pod.Object, "spec", "volumes") {
		template := fields.Map(volume, "ephemeral", "volumeClaimTemplate")
		if template == nil {
			continue
		}
		if err := createClaim(c, pod, fields.String(volume, "name"), template); err != nil {
			err = fmt.Errorf("ephemeral volume %s: %w", fields.String(volume, "name"), err)
			c.Record(pod, "Warning", "FailedBinding", err.Error())
			return reconcile.Result{}, fmt.Errorf("pod %s, %w", control.NameOf(pod), err)
		}
	}
	return reconcile.Result{}, nil
}

// createClaim creates the claim of a volume, unless the Pod has it.
func createClaim(c control.Call, pod *unstructured.Unstructured, volume string, template map[string]any) error {
	name := types.NamespacedName{Namespace: pod.GetNamespace(), Name: pod.GetName() + "-" + volume}
	if stored := c.Cache.Get(kinds.PersistentVolumeClaim, name); stored != nil {
		if control.ControllerUID(stored) != pod.GetUID() {
			return fmt.Errorf("PVC %s was not created for pod %s (pod is not owner)", name, control.NameOf(pod))
		}
		return nil
	}
	claim := control.NewObject(kinds.PersistentVolumeClaim, name.Namespace, name.Name)
	metadata := control.Metadata(claim)
	for _, field := range []string{"labels", "annotations"} {
		if given := fields.CloneMap(template, "metadata", field); len(given) > 0 {
			metadata[field] = given
		}
	}
	metadata["ownerReferences"] = []any{control.ControllerRef(pod)}
	claim.Object["spec"] = fields.CloneMap(template, "spec")
	if _, err := c.Create(claim); err != nil {
		return fmt.Errorf("create PVC %s: %w", name.Name, err)
	}
	return nil
}
