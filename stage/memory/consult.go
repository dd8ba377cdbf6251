package memory

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A Consultation is the request that [Cluster.Consult] passes to hooks. It is for a subresource
// with a separate object, such as a Scale, a Binding or an Eviction.
type Consultation struct {
	Request                       // Kind and Name of the stored object
	Resource schema.GroupResource // plural name of the kind
	DryRun   bool
	Manager  string                     // field manager
	Old      *unstructured.Unstructured // nil if the request creates
	New      *unstructured.Unstructured // Hooks.Remote may change it
	// Check validates New. It is called between Hooks.Remote and Hooks.Confirm, when New is final.
	// Nil means that New is valid.
	Check func() error
}

// Consult runs the Remote and Confirm hooks for a request that stores nothing, such as a Scale. It
// writes nothing. [Cluster.Scale], [Cluster.Bind] and [Cluster.Evict] do not run these hooks. A
// server calls Consult before it calls one of them.
func (c *Cluster) Consult(ctx context.Context, q Consultation) error {
	q.User = c.user
	if err := c.ask(ctx, &q, func(h Hooks) func(*Review) func() error { return h.Remote }); err != nil {
		return err
	}
	if q.Check != nil {
		if err := q.Check(); err != nil {
			return err
		}
	}
	return c.ask(ctx, &q, func(h Hooks) func(*Review) func() error { return h.Confirm })
}

func (c *Cluster) ask(ctx context.Context, q *Consultation, hook func(Hooks) func(*Review) func() error) error {
	c.mu.Lock()
	q.Time = c.now()
	v := &Review{Request: q.Request, Resource: q.Resource, DryRun: q.DryRun, Manager: q.Manager, Old: q.Old, New: q.New, store: c.store, ctx: ctx}
	var all remoteCall
	for _, h := range c.hooks {
		if ask := hook(h); ask != nil {
			all.add(ask(v))
		}
	}
	c.mu.Unlock()
	return all.ask()
}
