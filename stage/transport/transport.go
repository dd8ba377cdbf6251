package transport

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// A Transport sends the requests of a player or a controller to a cluster.
//
// A Transport may also be an [Impersonator], a [Sharer] or a [ValueWriter].
type Transport interface {
	Reader
	Writer
}

// A Reader reads objects. Its callers do not change the results.
type Reader interface {
	Getter
	Lister
	Watcher
}

// A Writer changes objects.
type Writer interface {
	Creator
	Patcher
	Deleter
}

// A Getter reads one object.
type Getter interface {
	// Get returns the newest state of an object. The error for a missing object satisfies
	// apierrors.IsNotFound.
	Get(ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName) (*unstructured.Unstructured, error)
}

// A Lister lists objects.
type Lister interface {
	// List returns the objects of a namespace. The namespace "" means all namespaces; List ignores
	// the namespace of a kind that has none. List obeys the selectors, Limit and Continue of o. The
	// error for a kind that the cluster does not have satisfies apierrors.IsNotFound or
	// meta.IsNoMatchError.
	List(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (*unstructured.UnstructuredList, error)
}

// A Watcher watches objects.
type Watcher interface {
	// Watch sends the changes after o.ResourceVersion. If that version is too old, Watch returns an
	// error, or the watch sends an Error event, for which apierrors.IsResourceExpired or IsGone is
	// true. A closed channel is not an error: the caller goes on from the last version that it saw.
	Watch(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (watch.Interface, error)
}

// A Creator creates objects.
type Creator interface {
	// Create creates an object and returns the stored object. Create may change obj.
	Create(ctx context.Context, obj *unstructured.Unstructured, o metav1.CreateOptions) (*unstructured.Unstructured, error)
}

// An Updater replaces objects.
type Updater interface {
	// Update replaces an object, or one subresource of it, and returns the stored object. An update
	// with another resourceVersion than the stored one is a conflict.
	Update(ctx context.Context, obj *unstructured.Unstructured, o metav1.UpdateOptions, subresources ...string) (*unstructured.Unstructured, error)
}

// A Patcher patches objects.
type Patcher interface {
	// Patch changes an object, or one subresource of it, and returns the stored object. A patch
	// that sets metadata.resourceVersion to another value than the stored one is a conflict.
	Patch(ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName, t types.PatchType, data []byte, o metav1.PatchOptions, subresources ...string) (*unstructured.Unstructured, error)
}

// A Deleter deletes objects.
type Deleter interface {
	// Delete deletes an object. Delete obeys the preconditions of o.
	Delete(ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName, o metav1.DeleteOptions) error
}
