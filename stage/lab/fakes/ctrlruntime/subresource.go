package ctrlruntime

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stagecraft-go/stagecraft/stage/lab/fakes/internal/server"
)

func (c *conn) Status() client.SubResourceWriter { return c.SubResource("status") }

func (c *conn) SubResource(name string) client.SubResourceClient { return subresource{c, name} }

// A subresource is a client of one subresource. It writes answers into the body that was sent.
type subresource struct {
	conn *conn
	name string
}

func (s subresource) target(obj client.Object) (server.Target, error) {
	t, err := s.conn.target(obj)
	t.Subresource = s.name
	return t, err
}

// bodyFor returns the body of a request for an object. If the body is not the object itself, it
// gets the name of the object.
func bodyFor(obj, body client.Object) client.Object {
	if body == nil {
		return obj
	}
	if body.GetName() == "" {
		body.SetName(obj.GetName())
	}
	if body.GetNamespace() == "" {
		body.SetNamespace(obj.GetNamespace())
	}
	return body
}

func (s subresource) Get(ctx context.Context, obj, body client.Object, _ ...client.SubResourceGetOption) error {
	t, err := s.target(obj)
	if err != nil {
		return err
	}
	return into(body)(s.conn.server.Get(ctx, t))
}

func (s subresource) Create(ctx context.Context, obj, given client.Object, opts ...client.SubResourceCreateOption) error {
	o := (&client.SubResourceCreateOptions{}).ApplyOptions(opts)
	t, err := s.target(obj)
	if err != nil {
		return err
	}
	body := bodyFor(obj, given)
	_, u, err := s.conn.sent(body)
	if err != nil {
		return err
	}
	_, err = s.conn.server.Create(ctx, t, u, *o.AsCreateOptions())
	return err
}

func (s subresource) Update(ctx context.Context, obj client.Object, opts ...client.SubResourceUpdateOption) error {
	o := (&client.SubResourceUpdateOptions{}).ApplyOptions(opts)
	t, err := s.target(obj)
	if err != nil {
		return err
	}
	body := bodyFor(obj, o.SubResourceBody)
	_, u, err := s.conn.sent(body)
	if err != nil {
		return err
	}
	return into(body)(s.conn.server.Update(ctx, t, u, *o.AsUpdateOptions()))
}

func (s subresource) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	o := (&client.SubResourcePatchOptions{}).ApplyOptions(opts)
	t, err := s.target(obj)
	if err != nil {
		return err
	}
	return s.conn.patch(ctx, t, patch, bodyFor(obj, o.SubResourceBody), *o.AsPatchOptions())
}

func (s subresource) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
	o := (&client.SubResourceApplyOptions{}).ApplyOpts(opts)
	if o.SubResourceBody != nil {
		obj = o.SubResourceBody
	}
	return s.conn.apply(ctx, obj, s.name, *o.AsPatchOptions())
}
