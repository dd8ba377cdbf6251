package mcad

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/resources"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/scheduling"
)

// requestOf returns the requests of a Pod with this spec, and one place for a Pod.
func requestOf(podSpec map[string]any) resources.Amounts {
	a := resources.OfPodSpec(podSpec)
	a["pods"]++
	return a
}

// usable returns the amounts that a Node has for Pods: none while it is not ready, or cordoned.
func usable(node *unstructured.Unstructured) resources.Amounts {
	if !scheduling.IsSchedulable(node) {
		return resources.Amounts{}
	}
	return resources.Allocatable(node)
}

// nested reads a field, which is zero if it is missing or of another type.
func nested[T any](m map[string]any, fields ...string) T {
	v, _, _ := unstructured.NestedFieldNoCopy(m, fields...)
	t, _ := v.(T)
	return t
}

// isTrue reports whether an object has a condition with status True.
func isTrue(obj *unstructured.Unstructured, condition string) bool {
	for _, v := range nested[[]any](obj.Object, "status", "conditions") {
		if c, _ := v.(map[string]any); c["type"] == condition {
			return c["status"] == "True"
		}
	}
	return false
}
