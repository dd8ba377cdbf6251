package control

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
)

// NewObject returns an object of a kind, with a name.
func NewObject(kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	apiVersion, k := kind.ToAPIVersionAndKind()
	metadata := map[string]any{"name": name}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": k, "metadata": metadata}}
}

// NewGenerated returns an object of a kind. The cluster generates its name from the name of its
// owner.
func NewGenerated(kind schema.GroupVersionKind, owner *unstructured.Unstructured) *unstructured.Unstructured {
	obj := NewObject(kind, owner.GetNamespace(), "")
	metadata := Metadata(obj)
	delete(metadata, "name")
	metadata["generateName"] = owner.GetName() + "-"
	metadata["ownerReferences"] = []any{ControllerRef(owner)}
	return obj
}

// Metadata returns the metadata of an object that was made by this package, to be changed.
func Metadata(obj *unstructured.Unstructured) map[string]any {
	return fields.Map(obj.Object, "metadata")
}

// NameOf returns the name of an object.
func NameOf(obj *unstructured.Unstructured) types.NamespacedName {
	return types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// ControllerRef returns the owner reference for objects that an owner controls.
func ControllerRef(owner *unstructured.Unstructured) map[string]any {
	return map[string]any{
		"apiVersion": owner.GetAPIVersion(), "kind": owner.GetKind(), "name": owner.GetName(), "uid": string(owner.GetUID()),
		"controller": true, "blockOwnerDeletion": true,
	}
}

// ControllerUID returns the uid of the owner that controls an object, or "".
func ControllerUID(obj *unstructured.Unstructured) types.UID {
	return types.UID(fields.String(controllerOf(obj), "uid"))
}

// controllerOf returns the reference to the owner that controls an object, or nil.
func controllerOf(obj *unstructured.Unstructured) map[string]any {
	for _, v := range fields.Slice(obj.Object, "metadata", "ownerReferences") {
		if ref, ok := object.ToMap(v); ok && fields.Bool(ref, "controller") {
			return ref
		}
	}
	return nil
}

// A Status is the new status of an object, before the write.
type Status map[string]any

// SetNonZero sets a number that API types leave out if it is 0.
func (s Status) SetNonZero(name string, n int64) {
	if n != 0 {
		s[name] = n
	}
}

// Sooner returns the shorter of two durations until the next look at a key. The duration 0 means
// never.
func Sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
