package hunt

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// An eventLog has every event of the objects of a kind. Processes read it, each from its
// own position.
type eventLog struct {
	feed   *memory.Feed
	events []event
	counts map[eventOf]int // events so far
}

// eventOf is what the events of an object have in common that are of one type.
type eventOf struct {
	name types.NamespacedName
	watch.EventType
}

// An event is what a process sees. Its object is that of the cluster.
type event struct {
	watch.EventType
	obj *unstructured.Unstructured
	nth int // of its object and type
	at  time.Time
}

// A view is what a process has seen of a kind.
type view struct {
	at     int // how many events of the log
	held   time.Time
	relist bool          // what is held is seen as it ended
	slow   time.Time     // until when each event is seen later
	late   time.Duration // by how much
}

// isHeld reports whether the view is behind because of a fault.
func (v *view) isHeld(now time.Time) bool { return now.Before(v.held) }

// logOf returns the log of a kind, which begins with the present objects; nil for an unknown kind.
func (r *Run) logOf(kind schema.GroupVersionKind) *eventLog {
	if r.logs[kind] != nil {
		return r.logs[kind]
	}
	feed, err := r.shared.Feed(kind, "", metav1.ListOptions{})
	if err != nil {
		return nil
	}
	l := &eventLog{feed: feed, counts: map[eventOf]int{}}
	r.logs[kind] = l
	r.logged = append(r.logged, kind)
	slices.SortFunc(r.logged, byText)
	l.read(r.sim.Now())
	return l
}

// read takes in what has happened.
func (l *eventLog) read(now time.Time) {
	for e, ok := l.feed.Next(); ok; e, ok = l.feed.Next() {
		obj, ok := e.Object.(*unstructured.Unstructured)
		if !ok {
			continue
		}
		at := eventOf{nameOf(obj), e.Type}
		l.counts[at]++
		l.events = append(l.events, event{e.Type, obj, l.counts[at], now})
	}
}

// list returns the objects as they were after some events, by name: what a list returns.
func (l *eventLog) list(until int) (objs []*unstructured.Unstructured) {
	present := map[types.NamespacedName]*unstructured.Unstructured{}
	for _, e := range l.events[:until] {
		if e.EventType == watch.Deleted {
			delete(present, nameOf(e.obj))
		} else {
			present[nameOf(e.obj)] = e.obj
		}
	}
	for _, obj := range present {
		objs = append(objs, obj)
	}
	slices.SortFunc(objs, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return objs
}

// last returns the events as a list after a pause tells them: for each object the last one.
func last(events []event) (kept []event) {
	seen := map[types.NamespacedName]bool{}
	for _, e := range slices.Backward(events) {
		if !seen[nameOf(e.obj)] {
			seen[nameOf(e.obj)] = true
			kept = append(kept, e)
		}
	}
	slices.Reverse(kept)
	return kept
}

// known returns the object of an event after a pause. A list does not have what is gone: the one that
// is treated as deleted is the one that was seen last. It is false if no object was seen: then it was made and
// is gone again, and is told as both, for no controller could know of it otherwise.
func (l *eventLog) known(e event, seen int) (*unstructured.Unstructured, bool) {
	if e.EventType != watch.Deleted {
		return e.obj, true
	}
	for _, before := range slices.Backward(l.events[:seen]) {
		if nameOf(before.obj) == nameOf(e.obj) {
			if before.EventType == watch.Deleted {
				return e.obj, false
			}
			return before.obj, true
		}
	}
	return e.obj, false
}

// list has a process that starts see what is there.
func (p *Process) list() {
	for _, kind := range p.kinds {
		l := p.run.logOf(kind)
		if l == nil {
			panic(labFailure{"process " + p.program.name + " watches " + kind.String() + ", which is missing from the Kinds or Definitions of Options.Lab"})
		}
		l.read(p.run.sim.Now())
		v := &view{at: max(0, len(l.events)-p.program.back)}
		if p.program.back > 0 {
			v.held = p.run.sim.Now().Add(10 * time.Second)
		}
		p.views[kind] = v
		for _, obj := range l.list(v.at) {
			p.observe(kind, watch.Added, obj)
		}
	}
	p.program.back = 0
}

// see has a process see what has happened, as far as no view is held.
func (p *Process) see() {
	for _, kind := range p.kinds {
		l, v := p.run.logs[kind], p.views[kind]
		if v.isHeld(p.run.sim.Now()) {
			continue
		}
		if v.relist {
			v.relist = false
			for _, e := range last(l.events[v.at:]) {
				obj, known := l.known(e, v.at)
				if !known {
					p.observe(kind, watch.Added, obj)
				}
				p.observe(kind, e.EventType, obj)
			}
			v.at = len(l.events)
		}
		for v.at < len(l.events) && !v.isHeld(p.run.sim.Now()) {
			e := l.events[v.at]
			if due := e.at.Add(v.late); v.slow.After(p.run.sim.Now()) && due.After(p.run.sim.Now()) {
				v.held = due
				break
			}
			if p.meets(kind, e, v); v.isHeld(p.run.sim.Now()) {
				break
			}
			v.at++
			p.observe(kind, e.EventType, e.obj)
		}
	}
}

// meets has the faults strike that wait for an event.
func (p *Process) meets(kind schema.GroupVersionKind, e event, v *view) {
	site := Site{Process: p.program.name, Controller: sees, Key: nameOf(e.obj), Verb: string(e.EventType), Kind: kind.Kind, Nth: e.nth}
	p.run.outcome.Sites = append(p.run.outcome.Sites, site)
	for _, f := range p.run.faults[site] {
		if f.struck || p.run.judged && !f.ofProcess() {
			continue
		}
		switch f.Do {
		case Lag, Relist:
			lasts := cmp.Or(f.For, 30*time.Second)
			v.held, v.relist = p.run.sim.Now().Add(lasts), f.Do == Relist
			p.run.strikes(f, lasts)
			return
		case Slow:
			lasts := cmp.Or(f.For, 30*time.Second)
			v.late, v.slow = cmp.Or(f.By.Abs(), 2*time.Second), p.run.sim.Now().Add(lasts)
			v.held = e.at.Add(v.late)
			p.run.strikes(f, lasts)
			return
		case Skew:
			p.run.skew(p.program, f)
		default:
			p.run.strikes(f, 0)
			p.run.strike(f.Fault)
		}
	}
}

// observe gives an event to the controllers, which get an object of their own: they might change it.
func (p *Process) observe(kind schema.GroupVersionKind, typ watch.EventType, obj *unstructured.Unstructured) {
	own := &unstructured.Unstructured{Object: object.CopyMap(obj.Object)}
	if p.run.options.watchCaches {
		p.given = append(p.given, given{kind, own, obj})
	}
	p.loop.Observe(watch.Event{Type: typ, Object: own}, p.run.sim.Now())
}

// given is an object that a process got, and what it was then.
type given struct {
	kind          schema.GroupVersionKind
	own, original *unstructured.Unstructured
}

// checkCaches finds objects that controllers have changed in their cache.
func (p *Process) checkCaches() {
	for _, g := range p.given {
		if !object.DeepEqual(g.own.Object, g.original.Object) {
			p.run.find(checkCache, g.kind.Kind, "a controller of %s changed %s in its cache", p.program.name, nameOfObject(g.original))
		}
	}
}

// behind says which views are behind.
func (p *Process) behind() (text string) {
	for _, kind := range p.kinds {
		if n := len(p.run.logs[kind].events) - p.views[kind].at; n > 0 && p.views[kind].isHeld(p.run.sim.Now()) {
			text += " " + kind.Kind
		}
	}
	if text != "" {
		text = "  (behind:" + text + ")"
	}
	return text
}

// catchesUp returns the first time at which a view is no longer held.
func (p *Process) catchesUp() (at time.Time, ok bool) {
	for _, v := range p.views {
		if v.isHeld(p.run.sim.Now()) && (!ok || v.held.Before(at)) {
			at, ok = v.held, true
		}
	}
	return at, ok
}
