package stage

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Use puts another Set in the place of the present one, and returns the kinds whose Stages differ in name, spec or order: the caller observes
// its objects of those kinds again. What is pending for a Stage that the new Set has, too, with the same name and spec, stays as it is, its
// random number and due time included; what is pending for others is cancelled. Objects of kinds that have no Stages any more are forgotten,
// those that were parked as livelocks get another chance if the Stages of their kind differ. A transition that was returned by [Engine.Due]
// keeps its own Set.
func (e *Engine) Use(s *Set, now time.Time) []schema.GroupVersionKind {
	differs, twins := e.set.compare(s)
	e.set = s
	for _, k := range slices.SortedFunc(maps.Keys(e.records), compareKeys) {
		e.adopt(e.records[k], now, twins)
		if slices.Contains(differs, k.GroupVersionKind()) {
			e.renew(k, now)
		}
	}
	return differs
}

// adopt gives a record the new form of its pending Stage, or cancels that.
func (e *Engine) adopt(r *record, now time.Time, twins map[*compiled]*compiled) {
	if r.stage == nil {
		return
	}
	if twin := twins[r.stage]; twin != nil {
		r.stage = twin
		return
	}
	e.cancel(r, now)
}

// renew prepares the record of an object whose Stages are others now.
func (e *Engine) renew(k Key, now time.Time) {
	if len(e.set.Stages(k.GroupVersionKind())) == 0 {
		e.Forget(k, now)
		return
	}
	r := e.records[k]
	r.parked, r.count = false, 0
}

// compare returns the kinds whose Stages are not the same in another Set, and for each Stage of s its equal there.
func (s *Set) compare(other *Set) (differs []schema.GroupVersionKind, twins map[*compiled]*compiled) {
	twins = map[*compiled]*compiled{}
	for _, kind := range s.with(other.refs) {
		before, after := s.stagesOf(kind), other.stagesOf(kind)
		if !slices.EqualFunc(before, after, (*compiled).equal) {
			differs = append(differs, kind)
		}
		for _, st := range before {
			if i := slices.IndexFunc(after, st.equal); i >= 0 {
				twins[st] = after[i]
			}
		}
	}
	return differs, twins
}

// with returns the kinds of the Set and those of more that it does not have.
func (s *Set) with(more []schema.GroupVersionKind) []schema.GroupVersionKind {
	kinds := s.Kinds()
	for _, kind := range more {
		if !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

func (s *Set) stagesOf(kind schema.GroupVersionKind) []*compiled {
	apiVersion, name := kind.ToAPIVersionAndKind()
	if k := s.kinds[apiVersion][name]; k != nil {
		return k.stages
	}
	return nil
}

// equal reports whether two Stages of one kind have the same name and the same spec.
func (st *compiled) equal(other *compiled) bool {
	return st.name == other.name && reflect.DeepEqual(st.spec, other.spec)
}

// compareKeys orders keys by kind, namespace and name.
func compareKeys(a, b Key) int {
	return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// Use swaps the Set while the player plays, or before. It returns at once, and may be called at any time by any goroutine; of several
// Sets that come faster than they can be put to use the last counts.
//
// The objects of all kinds whose Stages differ are looked at again without waiting for a change, each by the old Set or by the new one, never
// by both. What is pending for a Stage that stays the same, by name and spec, keeps its draw and its due time ([Engine.Use]); a transition on
// its way is finished with the Set it began with. Kinds that are new are listed and watched; those without Stages are forgotten, and their
// watches end.
//
// The Env of the new Set is shown all that the player knows before anything is played by it. It does not know the addresses that the old one
// gave to pods and that are not yet in their status: give all Sets of a player the same Env ([Options.Env]).
func (p *Player) Use(s *Set) {
	p.using.Lock()
	defer p.using.Unlock()
	select {
	case <-p.sets:
	default:
	}
	p.sets <- s
}

// show puts a Set to use: the objects that are known are shown to its Env, then it is given to the workers, then the watches end that it does
// not need.
func (p *Player) show(s *Set) {
	for _, w := range p.watchers {
		w.use(s)
	}
	for _, w := range p.workers {
		w.inbox.use(s)
	}
	needed := s.watched()
	for kind, w := range p.watchers {
		if !slices.Contains(needed, kind) {
			w.end()
			delete(p.watchers, kind)
		}
	}
}

// use plays by another Set from now on.
func (w *worker) use(s *Set) {
	differs := w.engine.Use(s, time.Now())
	w.each(func(a *actor) {
		switch {
		case !slices.Contains(differs, a.key.GroupVersionKind()):
		case a.play != nil:
			a.seen = 0 // so that it is looked at when the play ends
		default:
			w.look(a)
		}
	})
}

// reconsider asks anew which objects are played.
func (w *worker) reconsider() {
	w.each(func(a *actor) {
		if w.plays(a.obj) == a.aside {
			w.look(a)
		}
	})
}

// each calls f for each object, in the order of the keys.
func (w *worker) each(f func(*actor)) {
	for _, k := range slices.SortedFunc(maps.Keys(w.actors), compareKeys) {
		f(w.actors[k])
	}
}
