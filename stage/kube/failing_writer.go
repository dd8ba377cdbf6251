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

// failingWriter refuses every request. Its errors are those of a server (Forbidden), because
// players send a request again after other errors.
type failingWriter struct{ why error }

func (r failingWriter) err() error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: r.why.Error(),
	}}
}

func (r failingWriter) Create(context.Context, *unstructured.Unstructured, metav1.CreateOptions) (*unstructured.Unstructured, error) {
	return nil, r.err()
}

func (r failingWriter) Patch(context.Context, schema.GroupVersionKind, types.NamespacedName, types.PatchType, []byte, metav1.PatchOptions, ...string) (*unstructured.Unstructured, error) {
	return nil, r.err()
}

func (r failingWriter) Delete(context.Context, schema.GroupVersionKind, types.NamespacedName, metav1.DeleteOptions) error {
	return r.err()
}
