package ctrlruntime

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// Funcs makes another client, usually controller-runtime's fake client, send all requests to a
// cluster:
//
//	c := fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(ctrlruntime.Funcs(lab.Cluster(), ctrlruntime.Options{Scheme: scheme})).Build()
//
// Objects that are given to the builder stay in its tracker and are not in the cluster. Only the
// Scheme and the RESTMapper of the other client are still used.
func Funcs(cluster *memory.Cluster, o Options) interceptor.Funcs {
	type (
		other  = client.WithWatch
		object = client.Object
	)
	c := New(cluster, o)
	return interceptor.Funcs{
		Get: func(ctx context.Context, _ other, key client.ObjectKey, obj object, opts ...client.GetOption) error {
			return c.Get(ctx, key, obj, opts...)
		},
		List: func(ctx context.Context, _ other, list client.ObjectList, opts ...client.ListOption) error {
			return c.List(ctx, list, opts...)
		},
		Create: func(ctx context.Context, _ other, obj object, opts ...client.CreateOption) error {
			return c.Create(ctx, obj, opts...)
		},
		Delete: func(ctx context.Context, _ other, obj object, opts ...client.DeleteOption) error {
			return c.Delete(ctx, obj, opts...)
		},
		DeleteAllOf: func(ctx context.Context, _ other, obj object, opts ...client.DeleteAllOfOption) error {
			return c.DeleteAllOf(ctx, obj, opts...)
		},
		Update: func(ctx context.Context, _ other, obj object, opts ...client.UpdateOption) error {
			return c.Update(ctx, obj, opts...)
		},
		Patch: func(ctx context.Context, _ other, obj object, patch client.Patch, opts ...client.PatchOption) error {
			return c.Patch(ctx, obj, patch, opts...)
		},
		Apply: func(ctx context.Context, _ other, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			return c.Apply(ctx, obj, opts...)
		},
		Watch: func(ctx context.Context, _ other, list client.ObjectList, opts ...client.ListOption) (watch.Interface, error) {
			return c.Watch(ctx, list, opts...)
		},
		SubResource: func(_ other, name string) client.SubResourceClient { return c.SubResource(name) },
	}
}
