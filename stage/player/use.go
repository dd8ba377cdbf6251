package player

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/stagecraft-go/stagecraft/stage"
)

// Use puts another Set in the place of the present one, while the player plays or before. It
// returns at once and may be called at any time by any goroutine. If Sets come faster than the
// player can take them up, the last one counts.
//
// The player observes the objects of all kinds whose Stages differ again, without waiting for a
// change, each by the old Set or by the new one, never by both. What is pending for a Stage that
// has the same name and spec in both keeps its draw and its due time (see [stage.Engine.Use]). A
// transition in flight is finished with the Set it began with. Kinds that are new are listed and
// watched; those without Stages are forgotten, and their watches end.
//
// The Env of the new Set observes all objects that the player knows before anything is played. It
// does not know the addresses that the old Env gave to pods and that are not yet in their status:
// give all Sets of a player the same Env (see [stage.Options]).
func (p *Player) Use(s *stage.Set) {
	p.using.Lock()
	defer p.using.Unlock()
	select {
	case <-p.sets:
	default:
	}
	p.sets <- s
}

// show takes up a Set: its Env observes the objects that are known, the workers get it, and the
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

// use plays another Set from now on.
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

// refilter asks the filter anew about every object.
func (w *worker) refilter(ctx context.Context) {
	w.each(ctx, func(o *objectState) {
		if w.included(o.obj) == o.excluded {
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
