package transport

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// An Impersonator sends requests as another user. A player needs one for Stages that impersonate.
type Impersonator interface {
	// As returns a Writer that sends its requests as the user.
	As(user string) Writer
}

// A Sharer returns objects without copying them. Copies take a third of the time of a simulation in
// memory.
type Sharer interface {
	// Share returns the same cluster. The cluster shares the results with its caller, who must not
	// change them.
	Share() Transport
}

// A ValueWriter takes decoded objects and patches, so that a simulation in memory neither encodes,
// decodes nor copies them. Values are as encoding/json decodes them, with int64 for whole numbers:
// map[string]any, []any, string in UTF-8, bool, nil, int64 and float64. The cluster may keep the
// values; the caller must not change them.
type ValueWriter interface {
	// CreateValue is Create of an object without nulls. The cluster may change the root and the
	// metadata of the object, which have no other user.
	CreateValue(ctx context.Context, obj *unstructured.Unstructured, o metav1.CreateOptions) (*unstructured.Unstructured, error)
	// PatchValue is Patch with a decoded patch. The object must still have the resourceVersion of
	// p.Before; another one is a conflict.
	PatchValue(ctx context.Context, p PatchResult, o metav1.PatchOptions) (*unstructured.Unstructured, error)
}

// A PatchResult is a patch and the object that it results in.
type PatchResult struct {
	Kind        schema.GroupVersionKind
	Name        types.NamespacedName
	Subresource string // "": the object itself
	Type        types.PatchType
	Data        any                        // the patch, decoded
	Before      *unstructured.Unstructured // the object before the patch
	// After is the object with the patch. It shares with Before the parts that did not change. Its
	// root is new if the patch is a merge.
	After any
}

// A StatusWriter takes a decoded status, which costs less than a patch.
type StatusWriter interface {
	// ReplaceStatus replaces the status of an object and returns the stored object. The object must
	// still have its resourceVersion; another one is a conflict. The status consists of JSON values,
	// which the caller must not change afterwards.
	ReplaceStatus(ctx context.Context, obj *unstructured.Unstructured, status map[string]any, o metav1.PatchOptions) (*unstructured.Unstructured, error)
}
