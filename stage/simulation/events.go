package simulation

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// A hooks has the functions of the user that are called for changes of objects.
type hooks struct {
	byKind map[schema.GroupVersionKind][]hookFunc
	queued []func(context.Context) error // pending calls, in order
}

type hookFunc func(context.Context, watch.Event) error

// On calls a function for every present object of a kind, and for every later change. The calls
// come in order, at the virtual time of the change, before anything else that is due at this time.
// The objects of the events are shared and must not be changed. The error is about an unknown kind.
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

// replay calls a function with the present objects.
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

// pop removes and returns the next call.
func (h *hooks) pop() func(context.Context) error {
	do := h.queued[0]
	h.queued[0] = nil
	h.queued = h.queued[1:]
	return do
}
