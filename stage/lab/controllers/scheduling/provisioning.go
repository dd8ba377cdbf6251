package scheduling

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/storage"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/resources"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// whyNotProvisioned returns why no volume can be provisioned for a claim on a Node, or "".
func whyNotProvisioned(cache *reconcile.Cache, claim *unstructured.Unstructured, n *NodeInfo) string {
	class := storage.ClassOf(cache, claim)
	switch {
	case !canProvision(class, n):
		return noVolume
	case !capacitySuffices(cache, class, claim, n):
		return "node(s) did not have enough free storage"
	}
	return ""
}

// canProvision reports whether volumes of a class can be made for a Node.
func canProvision(class *unstructured.Unstructured, n *NodeInfo) bool {
	provisioner := fields.String(class.Object, "provisioner")
	if provisioner == "" || provisioner == "kubernetes.io/no-provisioner" {
		return false
	}
	terms := fields.Maps(class.Object, "allowedTopologies")
	return len(terms) == 0 || slices.ContainsFunc(terms, func(term map[string]any) bool {
		expressions := fields.Maps(term, "matchLabelExpressions")
		return len(expressions) > 0 && !slices.ContainsFunc(expressions, func(e map[string]any) bool {
			values, _ := object.Strings(e, "values")
			value, ok := n.labels[fields.String(e, "key")].(string)
			return !ok || !slices.Contains(values, value)
		})
	})
}

// capacitySuffices reports whether a driver that reports its capacity has room for a claim where a
// Node reaches it. Like kube-scheduler, it does not subtract volumes that were provisioned
// meanwhile: the driver reports its new capacity.
func capacitySuffices(cache *reconcile.Cache, class, claim *unstructured.Unstructured, n *NodeInfo) bool {
	driver := cache.Get(kinds.CSIDriver, types.NamespacedName{Name: fields.String(class.Object, "provisioner")})
	if !tellsCapacity(driver) || fields.Value(claim.Object, "spec", "resources", "requests", "storage") == nil {
		return true
	}
	wanted := storage.Wanted(claim)
	return slices.ContainsFunc(cache.List(kinds.CSIStorageCapacity, ""), func(c *unstructured.Unstructured) bool {
		limit, known := largestVolume(c)
		return known && limit >= wanted && fields.String(c.Object, "storageClassName") == class.GetName() &&
			readSelector(fields.Map(c.Object, "nodeTopology")).matches(n.labels)
	})
}

func tellsCapacity(driver *unstructured.Unstructured) bool {
	return driver != nil && fields.Bool(driver.Object, "spec", "storageCapacity")
}

// largestVolume is the size in bytes of the largest volume that there is room for, if it is known.
func largestVolume(capacity *unstructured.Unstructured) (size int64, known bool) {
	limits := resources.Parse(map[string]any{"capacity": fields.Value(capacity.Object, "capacity"), "volume": fields.Value(capacity.Object, "maximumVolumeSize")})
	if size, known = limits["volume"]; known {
		return size, true
	}
	size, known = limits["capacity"]
	return size, known
}
