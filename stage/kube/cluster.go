package kube

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"github.com/stagecraft-go/stagecraft/stage/kube/internal/codec"
	"github.com/stagecraft-go/stagecraft/stage/player"
)

// Cluster is a Kubernetes cluster. It is safe for concurrent use.
type Cluster struct {
	client  client
	kinds   *kinds
	events  *series
	users   *users
	dialer  *dialer       // nil: no other clients than this one
	reading codec.Options // how the client reads
}

var (
	_ player.Transport    = (*Cluster)(nil)
	_ player.Impersonator = (*Cluster)(nil)
	_ player.Sharer       = (*Cluster)(nil)
)

// New returns the cluster that a client talks to, such as client-go's fake one. A mapper that can be reset ([meta.ResettableRESTMapper]) is reset
// when it does not know a kind, so that definitions which come later are found. [Cluster.As] needs [NewForConfig] or [Open].
func New(of dynamic.Interface, mapper meta.RESTMapper) *Cluster {
	return &Cluster{client: client{text: of}, kinds: newKinds(mapper), events: newSeries(), users: newUsers()}
}

// Share returns the same cluster as a player sees it: objects share their equal parts, so that they must not be changed, and are without metadata that it
// does not need, unless [Options] keep that. What [New] made is its own.
func (c *Cluster) Share() player.Transport {
	if c.dialer == nil {
		return c
	}
	return &Cluster{client: c.dialer.shared, kinds: c.kinds, events: c.events, dialer: c.dialer, reading: c.dialer.player, users: newUsers()}
}

// Get returns one object. The namespace is ignored for a kind that has none.
func (c *Cluster) Get(ctx context.Context, gvk schema.GroupVersionKind, name types.NamespacedName) (*unstructured.Unstructured, error) {
	r, err := c.resource(ctx, gvk, name.Namespace)
	if err != nil {
		return nil, err
	}
	obj, err := r.Get(ctx, name.Name, metav1.GetOptions{})
	return obj, c.kinds.explain(gvk, err)
}

// List returns the objects of a kind, or a page of them, in a namespace or in all if it is "".
func (c *Cluster) List(ctx context.Context, gvk schema.GroupVersionKind, namespace string, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	r, err := c.resource(ctx, gvk, namespace)
	if err != nil {
		return nil, err
	}
	list, err := r.List(ctx, o)
	return list, c.kinds.explain(gvk, err)
}

// Watch reports changes of the objects of a kind, in a namespace or in all if it is "". A server that is busy closes watches at any time,
// which is no error: watch again from the last resourceVersion seen.
func (c *Cluster) Watch(ctx context.Context, gvk schema.GroupVersionKind, namespace string, o metav1.ListOptions) (watch.Interface, error) {
	r, err := c.resource(ctx, gvk, namespace)
	if err != nil {
		return nil, err
	}
	changes, err := r.Watch(ctx, o)
	return changes, c.kinds.explain(gvk, err)
}

// Create creates an object and returns it as stored. An Event of stagecraft itself may become one more of an Event that is there, as the package
// comment says.
func (c *Cluster) Create(ctx context.Context, obj *unstructured.Unstructured, o metav1.CreateOptions) (*unstructured.Unstructured, error) {
	if e, ok := c.occurrence(obj); ok {
		return c.record(ctx, e, o)
	}
	return c.create(ctx, obj, o)
}

func (c *Cluster) create(ctx context.Context, obj *unstructured.Unstructured, o metav1.CreateOptions) (*unstructured.Unstructured, error) {
	gvk := obj.GroupVersionKind()
	r, err := c.resource(ctx, gvk, obj.GetNamespace())
	if err != nil {
		return nil, err
	}
	obj, err = r.Create(ctx, obj, o)
	return obj, c.kinds.explain(gvk, err)
}

// Update replaces an object, or a subresource of it, and returns it as stored.
func (c *Cluster) Update(ctx context.Context, obj *unstructured.Unstructured, o metav1.UpdateOptions, subresources ...string) (*unstructured.Unstructured, error) {
	gvk := obj.GroupVersionKind()
	r, err := c.resource(ctx, gvk, obj.GetNamespace())
	if err != nil {
		return nil, err
	}
	obj, err = r.Update(ctx, obj, o, subresources...)
	return obj, c.kinds.explain(gvk, err)
}

// Patch changes an object, or a subresource of it, and returns it as stored. Custom resources take no strategic merge patches: the error says so.
func (c *Cluster) Patch(ctx context.Context, gvk schema.GroupVersionKind, name types.NamespacedName, t types.PatchType, data []byte, o metav1.PatchOptions, subresources ...string) (*unstructured.Unstructured, error) {
	r, err := c.resource(ctx, gvk, name.Namespace)
	if err != nil {
		return nil, err
	}
	obj, err := r.Patch(ctx, name.Name, t, data, o, subresources...)
	return obj, c.kinds.explain(gvk, missing(gvk, subresources, unsupported(gvk, t, err)))
}

// Delete deletes an object.
func (c *Cluster) Delete(ctx context.Context, gvk schema.GroupVersionKind, name types.NamespacedName, o metav1.DeleteOptions) error {
	r, err := c.resource(ctx, gvk, name.Namespace)
	if err != nil {
		return err
	}
	return c.kinds.explain(gvk, r.Delete(ctx, name.Name, o))
}

// resource returns the client for a kind. Namespaces of kinds that have none are dropped.
func (c *Cluster) resource(ctx context.Context, gvk schema.GroupVersionKind, namespace string) (dynamic.ResourceInterface, error) {
	m, err := c.kinds.find(gvk)
	if err != nil {
		return nil, err
	}
	if m.namespaced && namespace != "" {
		return c.client.of(ctx, gvk).Resource(m.resource).Namespace(namespace), nil
	}
	return c.client.of(ctx, gvk).Resource(m.resource), nil
}
