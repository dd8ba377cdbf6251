package player

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// Reader is what a [Player] reads from. The Player does not change the results.
type Reader interface {
	// List returns all objects of a kind. It obeys Limit and Continue of o.
	List(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (*unstructured.UnstructuredList, error)
	// Watch sends what happens after o.ResourceVersion. If that version is too old, Watch fails, or
	// ends with an Error event.
	Watch(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (watch.Interface, error)
}

// Creator is the part of a [Writer] that creates objects. Kubernetes Events need no more.
type Creator interface {
	// Create creates an object and returns it as it is stored.
	Create(ctx context.Context, obj *unstructured.Unstructured, o metav1.CreateOptions) (*unstructured.Unstructured, error)
}

// Writer is what a [Player] writes to. Its errors are those of an API server, which the functions
// of apimachinery's api/errors recognise.
type Writer interface {
	Creator
	// Patch changes an object, or a subresource of it, and returns it as it is stored. A merge
	// patch whose metadata.resourceVersion is not that of the object fails with a conflict.
	Patch(ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName, t types.PatchType, data []byte, o metav1.PatchOptions, subresources ...string) (*unstructured.Unstructured, error)
	// Delete deletes an object, if it has the uid of o.Preconditions.
	Delete(ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName, o metav1.DeleteOptions) error
}

// Transport is the hub cluster as a [Player] sees it. It must be safe for concurrent use. The
// Cluster of package stage/memory is one.
type Transport interface {
	Reader
	Writer
}
