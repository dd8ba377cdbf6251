package player

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/stagecraft-go/stagecraft/stage"
)

// Use replaces the present Set, while the player plays or before. It returns at once, and any
// goroutine may call it at any time. If several Sets come before the player uses the first, only
// the last one counts.
//
// The player observes the objects of all kinds with different Stages again, without waiting for a
// change. At any time it uses either the old or the new Set for an object, never both. A pending
// transition keeps its draw and its due time if its Stage has the same name and spec in both Sets
// (see [stage.Engine.Use]). A transition in flight is finished with its first Set. New kinds are
// listed and watched. Kinds without Stages are forgotten, and their watches end.
//
// The Env of the new Set observes all objects that the player knows before a transition is played.
// A new Env does not know addresses that the old Env has given to pods and that are not yet in
// their status. So give all Sets of a player the same Env (see [stage.Options]).
func (p *Player) Use(s *stage.Set) {
	p.using.Lock()
	defer p.using.Unlock()
	select {
	case <-p.sets:
	default:
	}
	p.sets <- s
}

// show makes the player use a Set: its Env observes the known objects, the workers get the Set, and
// watches that it does not need end.
func (p *Player) show(s *stage.Set) {
	for _, w := range p.watchers {
		w.use(s)
	}
	for _, w := range p.workers {
		w.inbox.use(s)
	}
	p.playing.Store(true)
	needed := watched(s)
	for kind, w := range p.watchers {
		if !slices.Contains(needed, kind) {
			w.end()
			p.setWatcher(kind, nil)
		}
	}
}

// use makes the worker play another Set.
func (w *worker) use(ctx context.Context, s *stage.Set) {
	differs := w.engine.Use(s, time.Now())
	w.each(ctx, func(o *objectState) {
		switch {
		case !slices.Contains(differs, o.key.GroupVersionKind()):
		case o.inFlight != nil:
			o.observedVersion = 0 // so that the engine observes it when the transition ends
		default:
			w.consider(o)
		}
	})
}

// refilter calls the filter again for every object.
func (w *worker) refilter(ctx context.Context) {
	w.each(ctx, func(o *objectState) {
		if w.included(o.obj) != o.isPlayed {
			w.consider(o)
		}
	})
}

// each calls f for each object, in the order of the keys, until ctx is done.
func (w *worker) each(ctx context.Context, f func(*objectState)) {
	for _, k := range slices.SortedFunc(maps.Keys(w.objects), stage.Key.Compare) {
		if ctx.Err() != nil {
			return
		}
		f(w.objects[k])
	}
}
