package mcad

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// amounts are quantities of resources, in thousandths.
type amounts map[string]int64

func (a amounts) add(other amounts, times int64) {
	for name, n := range other {
		a[name] += times * n
	}
}

// covers reports whether there is enough of everything that is wanted.
func (a amounts) covers(want amounts) bool {
	for name, n := range want {
		if n > a[name] {
			return false
		}
	}
	return true
}

// readAmounts reads quantities. What cannot be read counts as nothing, as it does for the scheduler.
func readAmounts(m map[string]any) amounts {
	a := amounts{}
	for name, v := range m {
		if q, err := resource.ParseQuantity(fmt.Sprint(v)); err == nil {
			a[name] = q.MilliValue()
		}
	}
	return a
}

// requested is what the containers of a Pod spec request, and the place for one Pod. Init containers and overhead do not count: Pods of
// the study have none.
func requested(spec map[string]any) amounts {
	sum := amounts{"pods": 1000}
	for _, v := range nested[[]any](spec, "containers") {
		c, _ := v.(map[string]any)
		need := readAmounts(nested[map[string]any](c, "resources", "limits"))
		for name, n := range readAmounts(nested[map[string]any](c, "resources", "requests")) {
			need[name] = n
		}
		sum.add(need, 1)
	}
	return sum
}

// allocatable is what a node has for Pods: nothing while it is not ready, or cordoned.
func allocatable(node *unstructured.Unstructured) amounts {
	if nested[bool](node.Object, "spec", "unschedulable") || !isTrue(node, "Ready") {
		return amounts{}
	}
	return readAmounts(nested[map[string]any](node.Object, "status", "allocatable"))
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
