package backup

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// lastApplied is the annotation in which kubectl apply repeats an object.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// blank empties the values of a Secret.
func blank(obj *unstructured.Unstructured) {
	if obj.GroupVersionKind().GroupKind() != (schema.GroupKind{Kind: "Secret"}) {
		return
	}
	for _, field := range [...]string{"data", "stringData"} {
		values, _ := obj.Object[field].(map[string]any)
		for key := range values {
			values[key] = ""
		}
	}
	unstructured.RemoveNestedField(obj.Object, "metadata", "annotations", lastApplied)
}
