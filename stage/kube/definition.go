package kube

import (
	"context"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

var definitionKind = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}

// Definition returns the CustomResourceDefinition of a kind. It returns nil for a built-in kind,
// and for a kind of an aggregated API server. It needs permission to get customresourcedefinitions.
func (c *Cluster) Definition(ctx context.Context, gvk schema.GroupVersionKind) (*unstructured.Unstructured, error) {
	if !strings.Contains(gvk.Group, ".") {
		return nil, nil // custom resources have a domain for a group
	}
	m, err := c.kinds.find(ctx, gvk)
	if err != nil {
		return nil, err
	}
	crd, err := c.Get(ctx, definitionKind, types.NamespacedName{Name: m.resource.Resource + "." + gvk.Group})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return crd, err
}
