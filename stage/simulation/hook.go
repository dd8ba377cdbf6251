package simulation

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// hooks are the functions of the user that are called on what happens to objects.
type hooks struct {
	byKind map[schema.GroupVersionKind][]hook
	ready  []func(context.Context) error // the calls to come, in order
}

type hook func(context.Context, watch.Event) error

// On has a function called for everything that happens to the objects of a kind from now on, and for those that are there: in order, at the
// time at which it happened, before anything else that is due then. Objects of the events are shared and must not be changed. The error is
// that of a kind that the cluster does not know.
func (s *Simulation) On(kind schema.GroupVersionKind, do func(context.Context, watch.Event) error) error {
	if err := s.follow(kind); err != nil {
		return err
	}
	s.look()
	if s.hooks.byKind == nil {
		s.hooks.byKind = map[schema.GroupVersionKind][]hook{}
	}
	s.hooks.byKind[kind] = append(s.hooks.byKind[kind], do)
	return s.present(kind, do)
}

// present has a function told of the objects that are there.
func (s *Simulation) present(kind schema.GroupVersionKind, do hook) error {
	feed, err := s.feed(kind)
	if err != nil {
		return err
	}
	defer feed.Stop()
	for e, ok := feed.Next(); ok; e, ok = feed.Next() {
		s.hooks.call(do, e)
	}
	return nil
}

func (h *hooks) happened(kind schema.GroupVersionKind, e watch.Event) {
	for _, do := range h.byKind[kind] {
		h.call(do, e)
	}
}

func (h *hooks) call(do hook, e watch.Event) {
	h.ready = append(h.ready, func(ctx context.Context) error { return do(ctx, e) })
}

// pop takes the next call.
func (h *hooks) pop() func(context.Context) error {
	do := h.ready[0]
	h.ready[0] = nil
	h.ready = h.ready[1:]
	return do
}
