package memory

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A Consultation is what [Cluster.Consult] asks about: a request for a subresource that has an object of
// its own, such as a Scale, a Binding or an Eviction.
type Consultation struct {
	Request                       // Kind and Name are those of what is stored
	Resource schema.GroupResource // plural name of the kind
	DryRun   bool
	Manager  string                     // field manager
	Old      *unstructured.Unstructured // nil if the request creates
	New      *unstructured.Unstructured // may be changed by those who are asked
	// Check is called between Hooks.Remote and Hooks.Confirm, when nobody changes New any more; nil: it
	// is valid.
	Check func() error
}

// Consult asks who has to be asked outside the cluster, as Hooks.Remote and Hooks.Confirm say, about a
// request whose object is not stored. Nothing is written. [Cluster.Scale], [Cluster.Bind] and
// [Cluster.Evict] do not ask: who serves them to clients does it before.
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
