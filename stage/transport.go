package stage

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// Reader is what a [Player] reads from. Results are shared: the Player changes none of them.
type Reader interface {
	// Get returns one object, or an error for which apierrors.IsNotFound is true.
	Get(ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName) (*unstructured.Unstructured, error)
	// List returns the objects of a namespace, or of all if it is "". It obeys the selectors, Limit and Continue.
	List(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (*unstructured.UnstructuredList, error)
	// Watch sends what happens after o.ResourceVersion. A version that is too old ends it with an Error event or an error for which
	// apierrors.IsResourceExpired or IsGone is true. Plain closing is not an error: the Player goes on from where it was.
	Watch(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (watch.Interface, error)
}

// Writer is what effects are sent to. The namespace of a kind that has none is ignored. Errors are those of an API server, so that
// the functions of apimachinery's api/errors tell them apart.
type Writer interface {
	// Create creates an object and returns it as stored. It may change obj.
	Create(ctx context.Context, obj *unstructured.Unstructured, o metav1.CreateOptions) (*unstructured.Unstructured, error)
	// Patch changes an object, or a subresource of it, and returns it as stored. A patch that sets metadata.resourceVersion to
	// another value than the object has is a conflict.
	Patch(ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName, t types.PatchType, data []byte, o metav1.PatchOptions, subresources ...string) (*unstructured.Unstructured, error)
	// Delete deletes an object.
	Delete(ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName, o metav1.DeleteOptions) error
}

// Transport is a cluster as a [Player] sees it. It must be safe for concurrent use. Package stage/memory has one; others adapt a client to it.
type Transport interface {
	Reader
	Writer
}

// Impersonator is what a [Transport] must also be for Stages that impersonate. As returns a Writer that sends as another user.
type Impersonator interface {
	As(user string) Writer
}

// Sharer is what a [Transport] can also be to spare copies: Share returns the same cluster, whose results are shared and must not be changed.
type Sharer interface {
	Share() Transport
}

// ValueWriter is what a [Writer] can also be to spare what it is given the way through text or a copy. Values are as decoding JSON gives them:
// map[string]any, []any, string in UTF-8, bool, nil, int64, and float64 for other numbers only. They may be kept and must not be changed.
type ValueWriter interface {
	// CreateValue is Create of an object without nulls. Its root and metadata may be changed too: nobody else uses them.
	CreateValue(ctx context.Context, obj *unstructured.Unstructured, o metav1.CreateOptions) (*unstructured.Unstructured, error)
	// PatchValue is Patch with the patch as values, and requires that the object still has the resourceVersion that it had before.
	PatchValue(ctx context.Context, p Patched, o metav1.PatchOptions) (*unstructured.Unstructured, error)
}

// Patched is a Patch and what it makes of an object.
type Patched struct {
	Patch
	Key    Key
	Before *unstructured.Unstructured // the object
	After  any                        // the object with the patch: it shares with Before what did not change; by a patch that merges, its root is new
}
