package staged

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// Reader is what a [Player] reads from. Results are only read.
type Reader interface {
	// List returns all objects of a kind. It obeys Limit and Continue.
	List(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (*unstructured.UnstructuredList, error)
	// Watch sends what happens after o.ResourceVersion. When that is too old it fails, or ends with an Error event.
	Watch(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (watch.Interface, error)
}

// Creator is the part of a [Writer] that creates, and all that Kubernetes Events need.
type Creator interface {
	// Create creates an object and returns it as stored.
	Create(ctx context.Context, obj *unstructured.Unstructured, o metav1.CreateOptions) (*unstructured.Unstructured, error)
}

// Writer is what a [Player] writes to. Errors are those of an API server, so that the functions of apimachinery's api/errors tell them apart.
type Writer interface {
	Creator
	// Patch changes an object, or a subresource of it, and returns it as stored. A merge patch with another metadata.resourceVersion than the
	// object has is a conflict.
	Patch(ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName, t types.PatchType, data []byte, o metav1.PatchOptions, subresources ...string) (*unstructured.Unstructured, error)
	// Delete deletes an object, if it has the uid that o asks for.
	Delete(ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName, o metav1.DeleteOptions) error
}

// Transport is a hub cluster as a [Player] sees it. It must be safe for concurrent use. Package stage/memory has one.
type Transport interface {
	Reader
	Writer
}
