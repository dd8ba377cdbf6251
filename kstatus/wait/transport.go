package wait

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/kstatus"
)

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
