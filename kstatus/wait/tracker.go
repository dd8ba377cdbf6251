package wait

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/kin"
	"github.com/stagecraft-go/stagecraft/kstatus"
)

// A tracker turns sightings into states. It has no clock and no goroutine.
type tracker struct {
	*Collector
	options  Options
	records  []record
	told     []int32   // objects whose state is new
	start    []*source // sources that want a feed
	children map[kin.Place]*source
	narrow   map[kin.Place]int       // selectors that are followed, by namespace
	roots    map[types.UID]int32     // objects with a family
	owners   map[types.UID]types.UID // of children that have children
	rechecks rechecks
}

// A record is what the tracker knows of an object besides its state.
type record struct {
	source *source
	family *family // nil: no children, or never in need of them
	round  uint32
}

func newTracker(refs []Ref, policy Policy) *tracker {
	policy.Options = policy.Options.withDefaults()
	t := &tracker{
		Collector: NewCollector(refs, policy), options: policy.Options,
		children: map[kin.Place]*source{}, narrow: map[kin.Place]int{}, roots: map[types.UID]int32{}, owners: map[types.UID]types.UID{},
		rechecks: rechecks{waiting: map[recheckKey]recheck{}},
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
	i, ok := t.member(s)
	if !ok {
		t.misplaced(s, now)
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

// misplaced says of an object that is asked for without a namespace that its kind has them: it would be NotFound for ever.
func (t *tracker) misplaced(s sighting, now time.Time) {
	i, ok := t.index[Ref{Kind: s.source.place.Kind, Name: s.obj.GetName()}]
	if !ok || t.records[i].source != s.source {
		return
	}
	t.records[i].round = max(t.records[i].round, s.round)
	t.tell(i, State{Result: noNamespace}, now)
}

// hasFamily tells whether the children of an object matter now: they change no verdict but InProgress.
func (t *tracker) hasFamily(obj *unstructured.Unstructured, own kstatus.Result) bool {
	return own.Status == kstatus.InProgress && !t.options.Alone && t.options.Rules.Heeds(obj.GroupVersionKind().GroupKind())
}

func (t *tracker) absent(i int32, now time.Time) {
	t.leave(i)
	t.tell(i, State{Result: notFound, UID: t.states[i].UID}, now)
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
	t.told = append(t.told, i)
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
	t.told = t.told[1:]
	return t.states[i], true
}
