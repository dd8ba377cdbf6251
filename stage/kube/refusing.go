package kube

import (
	"context"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// refusing is a writer that cannot write, and says why. Its errors are those of a server, because others would be tried again.
type refusing struct{ why error }

func (r refusing) err() error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: r.why.Error(),
	}}
}

func (r refusing) Create(context.Context, *unstructured.Unstructured, metav1.CreateOptions) (*unstructured.Unstructured, error) {
	return nil, r.err()
}

func (r refusing) Patch(context.Context, schema.GroupVersionKind, types.NamespacedName, types.PatchType, []byte, metav1.PatchOptions, ...string) (*unstructured.Unstructured, error) {
	return nil, r.err()
}

func (r refusing) Delete(context.Context, schema.GroupVersionKind, types.NamespacedName, metav1.DeleteOptions) error {
	return r.err()
}
