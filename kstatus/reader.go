package kstatus

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// A Reader looks objects up: a client, a cache, or a cluster in memory. What it returns is not changed.
type Reader interface {
	// Get returns one object. The namespace of a kind that has none is "".
	Get(ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName) (*unstructured.Unstructured, error)
	// List returns the objects of a namespace. It obeys the selectors, Limit and Continue.
	List(ctx context.Context, kind schema.GroupVersionKind, namespace string, o metav1.ListOptions) (*unstructured.UnstructuredList, error)
}
