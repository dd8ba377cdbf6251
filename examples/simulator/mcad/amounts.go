package mcad

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/internal/requests"
)

// covers reports whether there is enough of everything that is wanted.
func covers(there, want requests.Amounts) bool {
	for name, n := range want {
		if n > there[name] {
			return false
		}
	}
	return true
}

// requested is what a Pod requests, and a place for it.
func requested(pod map[string]any) requests.Amounts {
	a := requests.Of(pod)
	a["pods"]++
	return a
}

// allocatable is what a node has for Pods: nothing while it is not ready, or cordoned.
func allocatable(node *unstructured.Unstructured) requests.Amounts {
	if nested[bool](node.Object, "spec", "unschedulable") || !isTrue(node, "Ready") {
		return requests.Amounts{}
	}
	return requests.Read(nested[map[string]any](node.Object, "status", "allocatable"))
}

// nested reads a field, which is zero if it is not there or of another type.
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
