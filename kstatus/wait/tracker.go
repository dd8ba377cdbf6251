package wait

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/ownership"
	"github.com/stagecraft-go/stagecraft/kstatus"
)

// A tracker turns sightings into states. It has no clock and no goroutine.
type tracker struct {
	*Collector
	options  Options
	records  []record
	told     []int32   // objects whose state is new
	start    []*source // sources that want a feed
	children map[ownership.Place]*source
	narrow   map[ownership.Place]int // selectors that are followed, by namespace
	roots    map[types.UID]int32     // objects with a family
	owners   map[types.UID]types.UID // of children that have children
	rechecks rechecks
	scopes   map[schema.GroupVersionKind]bool // whether a kind has namespaces, once an object of it was seen
}

// A record is what the tracker knows of an object besides its state.
type record struct {
	source *source
	family *family // nil: no children, or never in need of them
	round  uint32
	told   bool // the state waits in told
}

// newTracker begins at a time with objects that were not looked for yet.
func newTracker(refs []Ref, policy Policy, now time.Time) *tracker {
	t := &tracker{
		Collector: newCollector(refs, policy), options: policy.Options.withDefaults(), scopes: map[schema.GroupVersionKind]bool{},
		children: map[ownership.Place]*source{}, narrow: map[ownership.Place]int{}, roots: map[types.UID]int32{}, owners: map[types.UID]types.UID{},
		rechecks: rechecks{waiting: map[recheckKey]recheck{}},
	}
	for i := range t.states {
		t.states[i].Since, t.states[i].Time = now, now
	}
	t.records = make([]record, len(t.states))
	t.start = plan(t.states, policy.PerNamespace)
	for _, s := range t.start {
		for _, i := range s.members {
			t.records[i].source = s
		}
	}
	return t
}

// observe takes note of a sighting.
func (t *tracker) observe(s sighting, now time.Time) {
	if s.source.kids != nil {
		t.observeKids(s, now)
		return
	}
	switch s.what {
	case found:
		t.found(s, now)
	case gone:
		if i, ok := t.member(s); ok {
			t.absent(i, now)
		}
	case listed:
		for _, i := range s.source.members {
			if t.records[i].round != s.round {
				t.absent(i, now)
			}
		}
	case unread:
		result := failure(s.source.place.Kind, s.err)
		for _, i := range s.source.members {
			t.leave(i)
			t.tell(i, State{Result: result, UID: t.states[i].UID, Err: s.err}, now)
		}
	}
}

// member is the object of a sighting, if it is waited for.
func (t *tracker) member(s sighting) (int32, bool) {
	i, ok := t.index[Ref{Kind: s.source.place.Kind, Namespace: s.obj.GetNamespace(), Name: s.obj.GetName()}]
	return i, ok && t.records[i].source == s.source
}

func (t *tracker) found(s sighting, now time.Time) {
	t.learn(s, now)
	i, ok := t.member(s)
	if !ok {
		return
	}
	r := &t.records[i]
	if s.round != 0 {
		r.round = s.round
	}
	own := t.options.Rules.Compute(s.obj, now)
	t.rechecks.set(s, own.RecheckAfter, now)
	if t.hasFamily(s.obj, own) {
		t.meet(i, s.obj)
	} else {
		t.part(i)
	}
	if r.family != nil {
		r.family.own = own
		t.judgeFamily(i, now)
		return
	}
	t.tell(i, State{Result: own, UID: s.obj.GetUID()}, now)
}

// learn notes whether the kind of an object has namespaces. References that say otherwise can never be met.
func (t *tracker) learn(s sighting, now time.Time) {
	kind, namespaced := s.source.place.Kind, s.obj.GetNamespace() != ""
	if known, ok := t.scopes[kind]; ok && known == namespaced {
		return
	}
	t.scopes[kind] = namespaced
	for i := range t.states {
		if ref := t.states[i].Ref; ref.Kind == kind && t.absence(ref) != notFound {
			t.absent(int32(i), now)
		}
	}
}

// absence is what to say of an object that is not where it was looked for.
func (t *tracker) absence(ref Ref) kstatus.Result {
	namespaced, known := t.scopes[ref.Kind]
	switch {
	case namespaced && ref.Namespace == "":
		return noNamespace
	case known && !namespaced && ref.Namespace != "":
		return notNamespaced
	}
	return notFound
}

// hasFamily tells whether the children of an object matter now: they change no verdict but InProgress.
func (t *tracker) hasFamily(obj *unstructured.Unstructured, own kstatus.Result) bool {
	return own.Status == kstatus.InProgress && !t.options.Alone && t.options.Rules.DependsOnChildren(obj.GroupVersionKind().GroupKind())
}

func (t *tracker) absent(i int32, now time.Time) {
	t.leave(i)
	t.tell(i, State{Result: t.absence(t.states[i].Ref), UID: t.states[i].UID}, now)
}

// leave forgets what is planned for an object that can no longer be seen.
func (t *tracker) leave(i int32) {
	ref := t.states[i].Ref
	t.rechecks.forget(recheckKey{t.records[i].source, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}}, t.states[i].UID)
	t.part(i)
}

// tell keeps the state of an object, and remembers to pass it on if it is new.
func (t *tracker) tell(i int32, s State, now time.Time) {
	old := &t.states[i]
	s.Ref, s.Since, s.Time = old.Ref, old.Since, now
	s.Result.RecheckAfter = 0
	if s.Result == old.Result && s.UID == old.UID && message(s.Err) == message(old.Err) {
		return
	}
	if s.Result.Status != old.Result.Status || s.Result.Suspended != old.Result.Suspended || s.UID != old.UID {
		s.Since = now
	}
	t.set(i, s)
	if !t.records[i].told {
		t.records[i].told = true
		t.told = append(t.told, i)
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// pop returns the next new state.
func (t *tracker) pop() (State, bool) {
	if len(t.told) == 0 {
		return State{}, false
	}
	i := t.told[0]
	t.told, t.records[i].told = t.told[1:], false
	return t.states[i], true
}
