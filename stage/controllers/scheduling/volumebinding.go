package scheduling

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/controllers/internal/storageclass"
)

// claimNames returns the names of the PersistentVolumeClaims of a Pod.
func claimNames(pod *unstructured.Unstructured) (names []string) {
	for _, volume := range fields.Maps(pod.Object, "spec", "volumes") {
		switch {
		case volume["ephemeral"] != nil:
			names = append(names, pod.GetName()+"-"+fields.String(volume, "name"))
		case volume["persistentVolumeClaim"] != nil:
			names = append(names, fields.String(volume, "persistentVolumeClaim", "claimName"))
		}
	}
	return names
}

// unboundClaims returns the claims of a Pod that are bound once a Node is selected. The error is a
// fitError if a claim is missing, or has to be bound before.
func unboundClaims(c control.Call, pod *unstructured.Unstructured) (unbound []*unstructured.Unstructured, err error) {
	for _, name := range claimNames(pod) {
		claim := c.Cache.Get(kinds.PersistentVolumeClaim, types.NamespacedName{Namespace: pod.GetNamespace(), Name: name})
		switch {
		case claim == nil:
			return nil, &fitError{preFilter: fmt.Sprintf("persistentvolumeclaim %q not found", name)}
		case fields.IsTerminating(claim):
			return nil, &fitError{preFilter: fmt.Sprintf("persistentvolumeclaim %q is being deleted", name)}
		case fields.String(claim.Object, "status", "phase") == "Bound":
		case !storageclass.WaitsForConsumer(storageclass.Of(c.Cache, claim)):
			return nil, &fitError{preFilter: "pod has unbound immediate PersistentVolumeClaims"}
		default:
			unbound = append(unbound, claim)
		}
	}
	return unbound, nil
}

// selectNode annotates claims with the Node of their first Pod, on which the volume is to be
// provisioned.
func selectNode(c control.Call, claims []*unstructured.Unstructured, node string) error {
	for _, claim := range claims {
		if fields.Annotation(claim, storageclass.SelectedNode) == node {
			continue
		}
		annotations := map[string]any{storageclass.SelectedNode: node}
		if _, err := c.MergePatch(claim, map[string]any{"metadata": map[string]any{"annotations": annotations}}); err != nil {
			return err
		}
	}
	return nil
}
