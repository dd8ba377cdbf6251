package wait

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/kstatus"
)

// A Lister is a cluster to wait for. It must be safe for concurrent use, and give up when ctx ends. What it returns is not changed.
type Lister interface {
	// List returns the objects of a namespace, or of all if it is "", or if the kind has no namespaces. It obeys label selectors, the field
	// selector metadata.name, Limit and Continue. A kind that the cluster does not have is an error for which apierrors.IsNotFound or
	// meta.IsNoMatchError is true.
	List(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (*unstructured.UnstructuredList, error)
}

// A Watcher is a Lister that need not be polled.
type Watcher interface {
	Lister
	// Watch sends what happens after o.ResourceVersion. A version that is too old is an error, or ends it with an Error event, for which
	// apierrors.IsResourceExpired or IsGone is true. A kind that cannot be watched (Forbidden, MethodNotSupported) is polled.
	Watch(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (watch.Interface, error)
}

// failure is what a failed look-up says of the objects that were looked for. Of a kind that is not there, there are none.
func failure(kind schema.GroupVersionKind, err error) kstatus.Result {
	switch {
	case apierrors.IsNotFound(err) || meta.IsNoMatchError(err):
		return kstatus.NotFound.Because("NoKind", "The cluster has no "+kind.GroupKind().String()+" in version "+kind.Version)
	case apierrors.IsForbidden(err):
		return kstatus.Unknown.Because("Forbidden", err.Error())
	}
	return kstatus.Unknown.Because("LookUpFailed", err.Error())
}
