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

// A Lister lists the objects of a cluster. It must be safe for concurrent use, and return when ctx
// ends. The objects that it returns are not changed.
type Lister interface {
	// List returns the objects of a namespace, or of all namespaces if it is "" or if the kind has
	// no namespaces. It obeys label selectors, the field selector metadata.name, Limit and
	// Continue. If the cluster does not have the kind, it returns an error for which
	// apierrors.IsNotFound or meta.IsNoMatchError is true.
	List(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (*unstructured.UnstructuredList, error)
}

// A Watcher is a Lister that can also watch, so that it is not polled.
type Watcher interface {
	Lister
	// Watch sends the changes after o.ResourceVersion. If that version is too old, it returns an
	// error or sends an Error event, for which apierrors.IsResourceExpired or IsGone is true. A
	// kind that cannot be watched (Forbidden, MethodNotSupported) is polled.
	Watch(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (watch.Interface, error)
}

const forbiddenReason = "Forbidden"

// isAnswer reports whether a failed look-up tells something of the objects: that the cluster does
// not have the kind, or that it is forbidden to read it. Other failures pass, as a rule.
func isAnswer(err error) bool {
	return apierrors.IsNotFound(err) || meta.IsNoMatchError(err) || apierrors.IsForbidden(err)
}

// failure returns the verdict on the objects of a look-up that failed. If the cluster does not have
// the kind, it does not have the objects either.
func failure(kind schema.GroupVersionKind, err error) kstatus.Result {
	switch {
	case apierrors.IsNotFound(err) || meta.IsNoMatchError(err):
		return kstatus.NotFound.Because("NoKind", "The cluster has no "+kind.GroupKind().String()+" in version "+kind.Version)
	case apierrors.IsForbidden(err):
		return kstatus.Unknown.Because(forbiddenReason, err.Error())
	}
	return kstatus.Unknown.Because("LookUpFailed", err.Error())
}
