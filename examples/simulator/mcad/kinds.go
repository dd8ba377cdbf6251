package mcad

import (
	"cmp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

var (
	wrappers  = schema.GroupVersionKind{Group: "mcad.ibm.com", Version: "v1beta1", Kind: "AppWrapper"}
	podGroups = schema.GroupVersionKind{Group: "scheduling.x-k8s.io", Version: "v1alpha1", Kind: "PodGroup"}
	jobs      = schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}
	pods      = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	nodes     = schema.GroupVersionKind{Version: "v1", Kind: "Node"}
)

// Kinds are the kinds that a cluster must know in addition to its own.
func Kinds() []memory.Kind {
	return []memory.Kind{
		{GroupVersionKind: wrappers, Status: true},
		{GroupVersionKind: podGroups, Status: true},
	}
}

// StateOf names the state of an AppWrapper: New, Pending, Dispatched, Running, Completed or Failed.
func StateOf(wrapper *unstructured.Unstructured) string {
	return cmp.Or(nested[string](wrapper.Object, "status", "state"), "New")
}
