package memory

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Definition returns the CustomResourceDefinition of a kind; nil for a kind without a definition.
func (c *Cluster) Definition(ctx context.Context, gvk schema.GroupVersionKind) (*unstructured.Unstructured, error) {
	c.mu.RLock()
	k, known := c.kinds[gvk]
	c.mu.RUnlock()
	if !known || k.builtin {
		return nil, nil
	}
	name := types.NamespacedName{Name: k.Resource + "." + k.Group}
	crd, err := c.Get(ctx, definitions.WithVersion("v1").GroupVersion().WithKind("CustomResourceDefinition"), name)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return crd, err
}
