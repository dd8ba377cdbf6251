package simulation

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// hooks are the functions of the user that are called on what happens to objects.
type hooks struct {
	byKind map[schema.GroupVersionKind][]hookFunc
	queued []func(context.Context) error // the calls to come, in order
}

type hookFunc func(context.Context, watch.Event) error

// On has a function called for everything that happens to the objects of a kind from now on, and for those that are there: in order, at the
// time at which it happened, before anything else that is due then. Objects of the events are shared and must not be changed. The error is
// that of a kind that the cluster does not know.
func (s *Simulation) On(kind schema.GroupVersionKind, do func(context.Context, watch.Event) error) error {
	if err := s.watchKind(kind); err != nil {
		return err
	}
	s.observeChanges()
	if s.hooks.byKind == nil {
		s.hooks.byKind = map[schema.GroupVersionKind][]hookFunc{}
	}
	s.hooks.byKind[kind] = append(s.hooks.byKind[kind], do)
	return s.replay(kind, do)
}

// present has a function told of the objects that are there.
func (s *Simulation) replay(kind schema.GroupVersionKind, do hookFunc) error {
	feed, err := s.newFeed(kind)
	if err != nil {
		return err
	}
	defer feed.Stop()
	for e, ok := feed.Next(); ok; e, ok = feed.Next() {
		s.hooks.enqueue(do, e)
	}
	return nil
}

func (h *hooks) notify(kind schema.GroupVersionKind, e watch.Event) {
	for _, do := range h.byKind[kind] {
		h.enqueue(do, e)
	}
}

func (h *hooks) enqueue(do hookFunc, e watch.Event) {
	h.queued = append(h.queued, func(ctx context.Context) error { return do(ctx, e) })
}

// pop takes the next call.
func (h *hooks) pop() func(context.Context) error {
	do := h.queued[0]
	h.queued[0] = nil
	h.queued = h.queued[1:]
	return do
}
