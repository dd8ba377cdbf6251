package kube

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/stagecraft-go/stagecraft/stage/kube/internal/codec"
)

// A client asks for answers in protobuf where it can, because protobuf costs the server less than
// JSON. Protobuf has no field names. If the server is newer than the Go types of this program, an
// answer may have a field that cannot be read. Then the client sends that request again for JSON,
// and asks for JSON for all further requests of that kind.
type client struct {
	json     dynamic.Interface
	protobuf dynamic.Interface // nil: everything is read as JSON
	schemas  *codec.Schemas    // the kinds that can be read from protobuf
}

// of returns the dynamic client for the objects of a kind.
func (c client) of(gvk schema.GroupVersionKind) dynamic.Interface {
	if c.protobuf != nil && c.schemas.Has(gvk) {
		return c.protobuf
	}
	return c.json
}

// request has the parameters that all requests of a Cluster have.
type request struct {
	kind         schema.GroupVersionKind
	namespace    string // ignored for kinds without namespaces
	subresources []string
	dryRun       []string
}

// resource returns the client for the resource of a request.
func (c *Cluster) resource(ctx context.Context, r request, of dynamic.Interface) (dynamic.ResourceInterface, error) {
	m, err := c.kinds.find(ctx, r.kind)
	if err != nil {
		return nil, err
	}
	if m.namespaced && r.namespace != "" {
		return of.Resource(m.resource).Namespace(r.namespace), nil
	}
	return of.Resource(m.resource), nil
}

// once is a client that sends each write once. By itself, client-go sends a write again, up to
// ten times, if the answer is a 429 or 5xx with Retry-After, although an answer of 5xx does not say
// that the write was not done.
type once struct{ rest.Interface }

func (c once) Verb(verb string) *rest.Request        { return c.Interface.Verb(verb).MaxRetries(0) }
func (c once) Post() *rest.Request                   { return c.Interface.Post().MaxRetries(0) }
func (c once) Put() *rest.Request                    { return c.Interface.Put().MaxRetries(0) }
func (c once) Patch(t types.PatchType) *rest.Request { return c.Interface.Patch(t).MaxRetries(0) }
func (c once) Delete() *rest.Request                 { return c.Interface.Delete().MaxRetries(0) }

// send sends a request once.
func send[T any](ctx context.Context, c *Cluster, r request, of dynamic.Interface, do func(dynamic.ResourceInterface) (T, error)) (T, error) {
	to, err := c.resource(ctx, r, of)
	if err != nil {
		return *new(T), err
	}
	v, err := do(to)
	return v, c.kinds.explain(r.kind, err)
}

// read sends a request that changes nothing. If its answer cannot be read from protobuf, read sends
// the request again for JSON.
func read[T any](ctx context.Context, c *Cluster, r request, do func(dynamic.ResourceInterface) (T, error)) (T, error) {
	v, err := send(ctx, c, r, c.client.of(r.kind), do)
	if unreadable := (*codec.UnreadableError)(nil); errors.As(err, &unreadable) {
		return send(ctx, c, r, c.client.json, do)
	}
	return v, err
}

// write sends a request that changes an object, and returns the object as stored. If the answer
// cannot be read from protobuf, the object has been changed nevertheless, unless the request is a
// dry run. In that case write reads the object as JSON; others might have changed it meanwhile.
func (c *Cluster) write(ctx context.Context, r request, do func(dynamic.ResourceInterface) (*unstructured.Unstructured, error)) (*unstructured.Unstructured, error) {
	if len(r.dryRun) > 0 {
		return read(ctx, c, r, do)
	}
	obj, err := send(ctx, c, r, c.client.of(r.kind), do)
	var unreadable *codec.UnreadableError
	if !errors.As(err, &unreadable) {
		return obj, err
	}
	if unreadable.Kind == r.kind {
		r.subresources = nil // the answer is the object: reading that needs no permission for the subresource
	}
	return send(ctx, c, r, c.client.json, func(to dynamic.ResourceInterface) (*unstructured.Unstructured, error) {
		return to.Get(ctx, unreadable.Name.Name, metav1.GetOptions{}, r.subresources...)
	})
}
