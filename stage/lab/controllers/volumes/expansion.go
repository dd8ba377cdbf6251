package volumes

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
)

// grow gives the volume of a bound claim the size that the claim asks for, like the expand controller
// together with the resizer of a driver that needs no work on the Node. A volume that no provisioner
// created stays as it is.
func grow(c control.Call, claim, class, volume *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if class == nil || !fields.Bool(class.Object, "allowVolumeExpansion") || fields.Annotation(volume, provisionedByKey) == "" ||
		fields.String(claim.Object, "status", "phase") != "Bound" {
		return volume, nil
	}
	wanted, has := storageOf(claim, "spec", "resources", "requests", "storage"), storageOf(volume, "spec", "capacity", "storage")
	if wanted.Cmp(has) <= 0 {
		return volume, nil
	}
	c.Record(claim, "Normal", "ExternalExpanding", "waiting for an external controller to expand this PVC")
	return c.MergePatch(volume, map[string]any{"spec": map[string]any{"capacity": map[string]any{"storage": wanted.String()}}})
}

// storageOf returns a quantity of an object, 0 if it cannot be read.
func storageOf(obj *unstructured.Unstructured, path ...string) resource.Quantity {
	n, err := resource.ParseQuantity(fmt.Sprint(fields.Value(obj.Object, path...)))
	if err != nil {
		return resource.Quantity{}
	}
	return n
}
