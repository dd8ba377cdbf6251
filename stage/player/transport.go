package player

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/stage"
)

// Transport is a cluster as a [Player] sees it: the six requests that the player makes, in the
// types of apimachinery, so that most clients need a few lines each. It must be safe for concurrent
// use. A panic in one of its methods is a failed request, and so is an answer that is another object
// than the one that was asked for: of another kind, namespace, name or uid. Package stage/memory is one; module stage/kube adapts client-go.
//
// A Transport may also be an [Impersonator], a [Sharer] or a [ValueWriter].
type Transport interface {
	Reader
	Writer
}

// Reader is what a [Player] reads from. The player does not change the results.
type Reader interface {
	// Get returns one object, or an error for which apierrors.IsNotFound is true. It is asked after
	// a conflict.
	Get(ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName) (*unstructured.Unstructured, error)
	// List returns the objects of a namespace, or of all if it is "". It obeys the selectors, Limit
	// and Continue of the options.
	List(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (*unstructured.UnstructuredList, error)
	// Watch sends what happens after o.ResourceVersion. A version that is too old ends it with an
	// Error event, or with an error for which apierrors.IsResourceExpired or IsGone is true. Plain
	// closing is not an error: the player goes on from where it was.
	Watch(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (watch.Interface, error)
}

// Writer is what effects are sent to. The namespace of a kind that has none is ignored. Errors are
// those of an API server, so that the functions of apimachinery's api/errors tell them apart.
type Writer interface {
	// Create creates an object and returns it as stored. It may change obj.
	Create(ctx context.Context, obj *unstructured.Unstructured, o metav1.CreateOptions) (*unstructured.Unstructured, error)
	// Patch changes an object, or a subresource of it, and returns it as stored. A patch that sets
	// metadata.resourceVersion to another value than the object has is a conflict.
	Patch(ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName, t types.PatchType, data []byte, o metav1.PatchOptions, subresources ...string) (*unstructured.Unstructured, error)
	// Delete deletes an object.
	Delete(ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName, o metav1.DeleteOptions) error
}

// The interfaces below are optional. The player looks for them on the Transport that it is given.

// An Impersonator can send requests as another user. A [Transport] must be one if its Stages
// impersonate: there is no other way to say who sends a request.
type Impersonator interface {
	// As returns a Writer that sends as the user.
	As(user string) Writer
}

// A Sharer can do without copies of what it returns. Copies would be a third of the work of a
// simulation in memory.
type Sharer interface {
	// Share returns the same cluster. Its results are shared with it, and must not be changed.
	Share() Transport
}

// A ValueWriter takes what it is to write as values, so that a simulation in memory neither encodes
// nor decodes nor copies them. Values are as decoding JSON gives them: map[string]any, []any,
// string in UTF-8, bool, nil, int64, and float64 for other numbers only. They may be kept and must
// not be changed.
type ValueWriter interface {
	// CreateValue is Create of an object without nulls. Its root and metadata may be changed too:
	// nobody else uses them.
	CreateValue(ctx context.Context, obj *unstructured.Unstructured, o metav1.CreateOptions) (*unstructured.Unstructured, error)
	// PatchValue is Patch with the patch as values, and requires that the object still has the
	// resourceVersion that it had before.
	PatchValue(ctx context.Context, p PatchResult, o metav1.PatchOptions) (*unstructured.Unstructured, error)
}

// A PatchResult is a Patch and what it makes of an object.
type PatchResult struct {
	stage.Patch
	Key    stage.Key
	Before *unstructured.Unstructured // the object
	// After is the object with the patch. It shares with Before what did not change; its root is
	// new if the patch is a merge.
	After any
}
