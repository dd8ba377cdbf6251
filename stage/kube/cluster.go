package kube

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"github.com/stagecraft-go/stagecraft/stage/kube/internal/codec"
	"github.com/stagecraft-go/stagecraft/stage/transport"
)

// Cluster is a Kubernetes cluster. It is safe for concurrent use.
type Cluster struct {
	client  client
	kinds   *kinds
	events  *recentEvents
	users   *impersonators
	factory *clientFactory // nil: As cannot make clients for other users
	reading codec.Options  // how the client reads
}

var (
	_ transport.Transport    = (*Cluster)(nil)
	_ transport.Impersonator = (*Cluster)(nil)
	_ transport.Sharer       = (*Cluster)(nil)
)

// New returns the cluster that a client talks to, such as client-go's fake one. If the mapper is a
// [meta.ResettableRESTMapper], it is reset when it does not know a kind, so that definitions which
// are created later are found. [Cluster.As] needs [NewForConfig] or [Open].
func New(of dynamic.Interface, mapper meta.RESTMapper) *Cluster {
	return &Cluster{client: client{json: of}, kinds: newKinds(mapper), events: newRecentEvents(), users: newImpersonators()}
}

// Share returns the cluster for a player. Its objects share equal parts, so they must not be
// changed. They do not have the metadata that a player does not need, unless [Options] keep it. A
// Cluster made by [New] returns itself.
func (c *Cluster) Share() transport.Transport {
	if c.factory == nil {
		return c
	}
	return &Cluster{client: c.factory.shared, kinds: c.kinds, events: c.events, factory: c.factory, reading: c.factory.player, users: newImpersonators()}
}

// Get returns one object. It ignores the namespace of a kind without namespaces.
func (c *Cluster) Get(ctx context.Context, gvk schema.GroupVersionKind, name types.NamespacedName) (*unstructured.Unstructured, error) {
	return read(ctx, c, request{kind: gvk, namespace: name.Namespace}, func(to dynamic.ResourceInterface) (*unstructured.Unstructured, error) {
		return to.Get(ctx, name.Name, metav1.GetOptions{})
	})
}

// List returns the objects of a kind, or a page of them, in a namespace or in all if it is "".
func (c *Cluster) List(ctx context.Context, gvk schema.GroupVersionKind, namespace string, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	return read(ctx, c, request{kind: gvk, namespace: namespace}, func(to dynamic.ResourceInterface) (*unstructured.UnstructuredList, error) {
		return to.List(ctx, o)
	})
}

// Watch reports changes of the objects of a kind, in a namespace or in all if it is "". A busy
// server can close a watch at any time, which is not an error: watch again from the last
// resourceVersion seen. An Error event that is not Expired says that an event could not be read,
// for example because its object is the first with a field that only JSON can name. Watch again in
// this case as well.
func (c *Cluster) Watch(ctx context.Context, gvk schema.GroupVersionKind, namespace string, o metav1.ListOptions) (watch.Interface, error) {
	return read(ctx, c, request{kind: gvk, namespace: namespace}, func(to dynamic.ResourceInterface) (watch.Interface, error) {
		return to.Watch(ctx, o)
	})
}

// Create creates an object and returns it as stored. An Event of stagecraft itself may instead
// increment the count of an existing Event, as the package comment says.
func (c *Cluster) Create(ctx context.Context, obj *unstructured.Unstructured, o metav1.CreateOptions) (*unstructured.Unstructured, error) {
	if e, ok := c.occurrence(ctx, obj); ok {
		return c.record(ctx, e, o)
	}
	return c.create(ctx, obj, o)
}

func (c *Cluster) create(ctx context.Context, obj *unstructured.Unstructured, o metav1.CreateOptions) (*unstructured.Unstructured, error) {
	r := request{kind: obj.GroupVersionKind(), namespace: obj.GetNamespace(), dryRun: o.DryRun}
	return c.write(ctx, r, func(to dynamic.ResourceInterface) (*unstructured.Unstructured, error) {
		return to.Create(ctx, obj, o)
	})
}

// Update replaces an object, or a subresource of it, and returns it as stored.
func (c *Cluster) Update(ctx context.Context, obj *unstructured.Unstructured, o metav1.UpdateOptions, subresources ...string) (*unstructured.Unstructured, error) {
	r := request{kind: obj.GroupVersionKind(), namespace: obj.GetNamespace(), subresources: subresources, dryRun: o.DryRun}
	return c.write(ctx, r, func(to dynamic.ResourceInterface) (*unstructured.Unstructured, error) {
		return to.Update(ctx, obj, o, subresources...)
	})
}

// Patch changes an object, or a subresource of it, and returns it as stored. A strategic merge
// patch of a custom resource is an error, as in an API server.
func (c *Cluster) Patch(ctx context.Context, gvk schema.GroupVersionKind, name types.NamespacedName, t types.PatchType, data []byte, o metav1.PatchOptions, subresources ...string) (*unstructured.Unstructured, error) {
	r := request{kind: gvk, namespace: name.Namespace, subresources: subresources, dryRun: o.DryRun}
	return c.write(ctx, r, func(to dynamic.ResourceInterface) (*unstructured.Unstructured, error) {
		obj, err := to.Patch(ctx, name.Name, t, data, o, subresources...)
		return obj, missing(gvk, subresources, unsupported(gvk, t, err))
	})
}

// Delete deletes an object.
func (c *Cluster) Delete(ctx context.Context, gvk schema.GroupVersionKind, name types.NamespacedName, o metav1.DeleteOptions) error {
	_, err := send(ctx, c, request{kind: gvk, namespace: name.Namespace}, c.client.of(gvk), func(to dynamic.ResourceInterface) (struct{}, error) {
		return struct{}{}, to.Delete(ctx, name.Name, o)
	})
	return err
}

// Evict asks the API server to delete a Pod, which it refuses with TooManyRequests (429) if a
// PodDisruptionBudget does not allow it.
func (c *Cluster) Evict(ctx context.Context, pod types.NamespacedName, o metav1.DeleteOptions) error {
	options, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&o)
	if err != nil {
		return err
	}
	eviction := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "policy/v1", "kind": "Eviction", "deleteOptions": options,
		"metadata": map[string]any{"name": pod.Name, "namespace": pod.Namespace},
	}}
	kind := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	_, err = send(ctx, c, request{kind: kind, namespace: pod.Namespace}, c.client.json, func(to dynamic.ResourceInterface) (struct{}, error) {
		_, err := to.Create(ctx, eviction, metav1.CreateOptions{}, "eviction")
		return struct{}{}, err
	})
	return err
}
