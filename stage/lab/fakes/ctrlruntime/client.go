package ctrlruntime

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/stagecraft-go/stagecraft/stage/lab/fakes/internal/server"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// Options of [New]. The zero value is the default.
type Options struct {
	// Scheme has the Go types. Default: those of Kubernetes,
	// k8s.io/client-go/kubernetes/scheme.Scheme.
	Scheme *runtime.Scheme
	// Indexes are the fields that List selects by, in addition to those of an API server. A program
	// passes them to the FieldIndexer of a manager.
	Indexes []Index
}

// New returns a client of a cluster. It is safe for concurrent use.
func New(cluster *memory.Cluster, o Options) client.WithWatch {
	o.Scheme = cmp.Or(o.Scheme, clientgoscheme.Scheme)
	return &conn{server: server.Server{Cluster: cluster, Scheme: o.Scheme}, indexes: o.Indexes}
}

// A conn is a client.WithWatch. It writes answers into the objects of the caller.
type conn struct {
	cached  bool // objects that are read have their kind, like objects from the cache of a manager
	server  server.Server
	indexes []Index
}

// target is where an object is, or will be.
func (c *conn) target(obj client.Object) (server.Target, error) {
	kind, err := apiutil.GVKForObject(obj, c.server.Scheme)
	return server.Target{Kind: kind, Name: client.ObjectKeyFromObject(obj)}, err
}

func (c *conn) Get(ctx context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	t, err := c.target(obj)
	if err != nil {
		return err
	}
	u, err := c.server.Cluster.Get(ctx, t.Kind, key)
	if err := into(obj)(u, err); err != nil {
		return err
	}
	if c.cached {
		obj.GetObjectKind().SetGroupVersionKind(t.Kind)
	}
	return nil
}

// into returns a function that writes an answer into an object, unless the answer is an error.
func into(obj runtime.Object) func(*unstructured.Unstructured, error) error {
	return func(u *unstructured.Unstructured, err error) error {
		if err != nil {
			return err
		}
		return server.Into(u, obj)
	}
}

// sent returns the target of a request and the object that it sends.
func (c *conn) sent(obj client.Object) (t server.Target, u *unstructured.Unstructured, err error) {
	if t, err = c.target(obj); err == nil {
		u, err = server.Unstructured(obj, t.Kind)
	}
	return t, u, err
}

func (c *conn) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	o := (&client.CreateOptions{}).ApplyOptions(opts)
	t, u, err := c.sent(obj)
	if err != nil {
		return err
	}
	return into(obj)(c.server.Create(ctx, t, u, *o.AsCreateOptions()))
}

func (c *conn) Update(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error {
	o := (&client.UpdateOptions{}).ApplyOptions(opts)
	t, u, err := c.sent(obj)
	if err != nil {
		return err
	}
	return into(obj)(c.server.Update(ctx, t, u, *o.AsUpdateOptions()))
}

func (c *conn) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	o := (&client.PatchOptions{}).ApplyOptions(opts)
	t, err := c.target(obj)
	if err != nil {
		return err
	}
	return c.patch(ctx, t, patch, obj, *o.AsPatchOptions())
}

func (c *conn) patch(ctx context.Context, t server.Target, patch client.Patch, body client.Object, o metav1.PatchOptions) error {
	data, err := patch.Data(body)
	if err != nil {
		return err
	}
	return into(body)(c.server.Patch(ctx, t, patch.Type(), data, o))
}

func (c *conn) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	o := &client.ApplyOptions{}
	o.ApplyOptions(opts)
	return c.apply(ctx, obj, "", *o.AsPatchOptions())
}

// apply sends an apply configuration, and writes the stored object into it.
func (c *conn) apply(ctx context.Context, obj runtime.ApplyConfiguration, subresource string, o metav1.PatchOptions) error {
	data, err := json.Marshal(obj)
	if err != nil {
		return err
	}
	var u unstructured.Unstructured
	if err := json.Unmarshal(data, &u); err != nil {
		return err
	}
	name := types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()}
	t := server.Target{Kind: u.GroupVersionKind(), Name: name, Subresource: subresource}
	stored, err := c.server.Patch(ctx, t, types.ApplyPatchType, data, o)
	if err != nil {
		return err
	}
	if data, err = json.Marshal(stored.Object); err != nil {
		return err
	}
	return json.Unmarshal(data, obj)
}

func (c *conn) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	o := (&client.DeleteOptions{}).ApplyOptions(opts)
	t, err := c.target(obj)
	if err != nil {
		return err
	}
	return c.server.Cluster.Delete(ctx, t.Kind, t.Name, *o.AsDeleteOptions())
}

func (c *conn) DeleteAllOf(ctx context.Context, obj client.Object, opts ...client.DeleteAllOfOption) error {
	o := (&client.DeleteAllOfOptions{}).ApplyOptions(opts)
	t, err := c.target(obj)
	if err != nil {
		return err
	}
	t.Name.Namespace = o.Namespace
	return c.server.DeleteCollection(ctx, t, *o.AsDeleteOptions(), *o.AsListOptions())
}

func (c *conn) Watch(ctx context.Context, list client.ObjectList, opts ...client.ListOption) (watch.Interface, error) {
	kind, o, err := c.selected(list, opts)
	if err != nil {
		return nil, err
	}
	t := server.Target{Kind: kind, Name: types.NamespacedName{Namespace: o.Namespace}}
	return c.server.Watch(ctx, t, *o.AsListOptions(), func(u *unstructured.Unstructured) (runtime.Object, error) {
		switch list.(type) {
		case *unstructured.UnstructuredList:
			return u, nil
		case *metav1.PartialObjectMetadataList:
			partial := &metav1.PartialObjectMetadata{}
			return partial, server.Into(u, partial)
		}
		return c.server.Typed(u)
	})
}

func (c *conn) Scheme() *runtime.Scheme { return c.server.Scheme }

func (c *conn) GroupVersionKindFor(obj runtime.Object) (schema.GroupVersionKind, error) {
	return apiutil.GVKForObject(obj, c.server.Scheme)
}

func (c *conn) IsObjectNamespaced(obj runtime.Object) (bool, error) {
	return apiutil.IsObjectNamespaced(obj, c.server.Scheme, c.RESTMapper())
}

// RESTMapper returns a mapper of the kinds that the cluster has now.
func (c *conn) RESTMapper() meta.RESTMapper {
	kinds := c.server.Cluster.Kinds()
	versions := make([]schema.GroupVersion, len(kinds))
	for i, k := range kinds {
		versions[i] = k.GroupVersion()
	}
	mapper := meta.NewDefaultRESTMapper(slices.Compact(versions))
	for _, k := range kinds {
		scope := meta.RESTScopeNamespace
		if k.ClusterScoped {
			scope = meta.RESTScopeRoot
		}
		plural := k.GroupVersion().WithResource(k.Resource)
		_, singular := meta.UnsafeGuessKindToResource(k.GroupVersionKind)
		mapper.AddSpecific(k.GroupVersionKind, plural, singular, scope)
	}
	return mapper
}
