package kube

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/stagecraft-go/stagecraft/stage"
)

// Cluster is a Kubernetes cluster. It is safe for concurrent use.
type Cluster struct {
	client dynamic.Interface
	mapper meta.RESTMapper
	config *rest.Config // nil: no impersonation
}

// New returns the cluster that a client talks to. A mapper that can be reset ([meta.ResettableRESTMapper]) is reset when it does not know a
// kind, so that definitions which come later are found. [Cluster.As] needs [NewForConfig].
func New(client dynamic.Interface, mapper meta.RESTMapper) *Cluster {
	return &Cluster{client: client, mapper: mapper}
}

// NewForConfig returns the cluster of a configuration, and finds its kinds by discovery as they are asked for. Client-go sends five requests a
// second by default: set QPS to what the cluster stands, or to -1 for no limit.
func NewForConfig(config *rest.Config) (*Cluster, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	kinds, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(kinds))
	return &Cluster{client: client, mapper: mapper, config: rest.CopyConfig(config)}, nil
}

// Get returns one object. The namespace is ignored for a kind that has none.
func (c *Cluster) Get(ctx context.Context, gvk schema.GroupVersionKind, name types.NamespacedName) (*unstructured.Unstructured, error) {
	r, err := c.resource(gvk, name.Namespace)
	if err != nil {
		return nil, err
	}
	return r.Get(ctx, name.Name, metav1.GetOptions{})
}

// List returns the objects of a kind, or a page of them, in a namespace or in all if it is "".
func (c *Cluster) List(ctx context.Context, gvk schema.GroupVersionKind, namespace string, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	r, err := c.resource(gvk, namespace)
	if err != nil {
		return nil, err
	}
	return r.List(ctx, o)
}

// Watch reports changes of the objects of a kind, in a namespace or in all if it is "". A server that is busy closes watches at any time,
// which is no error: watch again from the last resourceVersion seen.
func (c *Cluster) Watch(ctx context.Context, gvk schema.GroupVersionKind, namespace string, o metav1.ListOptions) (watch.Interface, error) {
	r, err := c.resource(gvk, namespace)
	if err != nil {
		return nil, err
	}
	return r.Watch(ctx, o)
}

// Create creates an object and returns it as stored.
func (c *Cluster) Create(ctx context.Context, obj *unstructured.Unstructured, o metav1.CreateOptions) (*unstructured.Unstructured, error) {
	r, err := c.resource(obj.GroupVersionKind(), obj.GetNamespace())
	if err != nil {
		return nil, err
	}
	return r.Create(ctx, obj, o)
}

// Update replaces an object, or a subresource of it, and returns it as stored.
func (c *Cluster) Update(ctx context.Context, obj *unstructured.Unstructured, o metav1.UpdateOptions, subresources ...string) (*unstructured.Unstructured, error) {
	r, err := c.resource(obj.GroupVersionKind(), obj.GetNamespace())
	if err != nil {
		return nil, err
	}
	return r.Update(ctx, obj, o, subresources...)
}

// Patch changes an object, or a subresource of it, and returns it as stored.
func (c *Cluster) Patch(ctx context.Context, gvk schema.GroupVersionKind, name types.NamespacedName, t types.PatchType, data []byte, o metav1.PatchOptions, subresources ...string) (*unstructured.Unstructured, error) {
	r, err := c.resource(gvk, name.Namespace)
	if err != nil {
		return nil, err
	}
	return r.Patch(ctx, name.Name, t, data, o, subresources...)
}

// Delete deletes an object.
func (c *Cluster) Delete(ctx context.Context, gvk schema.GroupVersionKind, name types.NamespacedName, o metav1.DeleteOptions) error {
	r, err := c.resource(gvk, name.Namespace)
	if err != nil {
		return err
	}
	return r.Delete(ctx, name.Name, o)
}

// resource returns the client for a kind. Namespaces of kinds that have none are dropped.
func (c *Cluster) resource(gvk schema.GroupVersionKind, namespace string) (dynamic.ResourceInterface, error) {
	m, err := c.mapping(gvk)
	switch {
	case meta.IsNoMatchError(err):
		return nil, unknown(gvk)
	case err != nil:
		return nil, err
	case m.Scope.Name() == meta.RESTScopeNameNamespace && namespace != "":
		return c.client.Resource(m.Resource).Namespace(namespace), nil
	}
	return c.client.Resource(m.Resource), nil
}

// mapping asks the mapper, and once more after a reset: the kind may be new.
func (c *Cluster) mapping(gvk schema.GroupVersionKind) (*meta.RESTMapping, error) {
	m, err := c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		meta.MaybeResetRESTMapper(c.mapper)
		return c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	}
	return m, err
}

// unknown is what an API server says to requests for a resource that it does not have.
func unknown(gvk schema.GroupVersionKind) error {
	err := apierrors.NewNotFound(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, "")
	err.ErrStatus.Message = fmt.Sprintf("the server could not find the requested resource: %s is no known kind", gvk)
	return err
}

var (
	_ stage.Transport    = (*Cluster)(nil)
	_ stage.Impersonator = (*Cluster)(nil)
)

// As returns the cluster as another user sees it. Without a configuration ([New]) every request of it fails.
func (c *Cluster) As(user string) stage.Writer {
	if c.config == nil {
		return refusing{fmt.Errorf("cannot impersonate %q: the cluster was made without a configuration", user)}
	}
	config := rest.CopyConfig(c.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return refusing{err}
	}
	return &Cluster{client: client, mapper: c.mapper, config: config}
}
