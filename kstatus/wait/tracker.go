package wait

import (
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/ownership"
	"github.com/stagecraft-go/stagecraft/kstatus"
)

// A tracker turns observations into states. It has no clock and no goroutine.
type tracker struct {
	*Collector
	options Options
	records []record  // of the objects in Collector.states
	changed []int32   // objects whose new state was not returned yet
	start   []*source // sources for which an observer must be started

	childSources map[ownership.Query]*source
	selectors    map[ownership.Query]int // number of selectors that are watched, by namespace
	roots        map[types.UID]int32     // waited-for objects whose children are watched
	ownerOf      map[types.UID]types.UID // owners of children that have children themselves
	rechecks     rechecks
	missing      limits       // of objects that are missing
	held         limits       // of objects whose Current rests on a weak basis
	definitions  *definitions // nil: the transport has none

	// namespaced says whether a kind has namespaces. A kind is missing until an object of it was seen.
	namespaced map[schema.GroupVersionKind]bool
}

// A record is what the tracker knows of a waited-for object besides its state.
type record struct {
	source  *source
	owner   *owner                     // nil: its children are not watched
	round   uint32                     // the last list that contained it
	version uint64                     // the highest that was seen
	older   *unstructured.Unstructured // an older version that was seen last; nil if it was not older
	changed bool                       // it is in tracker.changed

	finished *ending // nil: it has not done its work yet
}

// newTracker begins at a time with objects that were not looked up yet.
func newTracker(refs []Ref, policy Policy, now time.Time) *tracker {
	t := &tracker{
		Collector:    newCollector(refs, policy),
		options:      policy.Options.withDefaults(),
		childSources: map[ownership.Query]*source{},
		selectors:    map[ownership.Query]int{},
		roots:        map[types.UID]int32{},
		ownerOf:      map[types.UID]types.UID{},
		rechecks:     rechecks{planned: map[recheckKey]recheck{}},
		missing:      limits{at: map[int32]time.Time{}},
		held:         limits{at: map[int32]time.Time{}},
		namespaced:   map[schema.GroupVersionKind]bool{},
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

// observe updates the states that an observation concerns.
func (t *tracker) observe(o observation, now time.Time) {
	if o.source.children != nil {
		t.observeChildren(o, now)
		return
	}
	switch o.kind {
	case found:
		if !t.isOld(o) {
			t.found(o, now)
		}
	case gone:
		if i, ok := t.member(o); ok && !t.isOld(o) {
			t.absent(i, now)
		}
	case rewound:
		t.rewound(o, now)
	case listed:
		t.listed(o, now)
	case listFailed:
		t.listFailed(o, now)
	}
}

// isOld reports whether an observation is of an older version than was seen: of a server that lags
// behind, or an event that is sent again. Such an object exists, but no verdict comes from it.
func (t *tracker) isOld(o observation) bool {
	i, ok := t.member(o)
	if !ok {
		return false
	}
	r := &t.records[i]
	version, err := strconv.ParseUint(o.obj.GetResourceVersion(), 10, 64)
	if err != nil || version >= r.version {
		r.version, r.older = max(r.version, version), nil
		return false
	}
	r.older = o.obj
	if o.round != 0 {
		r.round = o.round
	}
	return true
}

// rewound believes the older versions, because the cluster was restored from a backup.
func (t *tracker) rewound(o observation, now time.Time) {
	for _, i := range o.source.members {
		r := &t.records[i]
		older := r.older
		if r.version, r.older = 0, nil; older != nil {
			t.observe(observation{kind: found, source: o.source, obj: older, round: r.round}, now)
		}
	}
}

// listed ends a list: members that it did not contain do not exist.
func (t *tracker) listed(o observation, now time.Time) {
	recovered := o.source.err != nil
	o.source.err = nil
	for _, i := range o.source.members {
		switch r := &t.records[i]; {
		case r.round != o.round:
			t.absent(i, now)
		case recovered:
			t.states[i].Err = r.owner.err()
		}
	}
}

// listFailed keeps the verdicts on the members for a time, unless they have none yet or the failure
// tells something of them.
func (t *tracker) listFailed(o observation, now time.Time) {
	holds := o.source.fail(o.err, now)
	result := failure(o.source.query.Kind, o.err)
	for _, i := range o.source.members {
		if old := &t.states[i]; holds && old.Result.Status != NotSeen {
			old.Err = o.err
			continue
		}
		t.forget(i)
		t.update(i, State{Result: result, UID: t.states[i].UID, Err: o.err}, now)
	}
}

// member returns the object of an observation, or false if it is not waited for.
func (t *tracker) member(o observation) (int32, bool) {
	i, ok := t.index[Ref{Kind: o.source.query.Kind, Namespace: o.obj.GetNamespace(), Name: o.obj.GetName()}]
	return i, ok && t.records[i].source == o.source
}

func (t *tracker) found(o observation, now time.Time) {
	t.learnScope(o, now)
	i, ok := t.member(o)
	if !ok {
		return
	}
	r := &t.records[i]
	if o.round != 0 {
		r.round = o.round
	}
	own := t.compute(o.obj, now)
	if owner := r.owner; owner != nil && own.Status == kstatus.Failed && owner.refs.UID == o.obj.GetUID() {
		children, _ := owner.children() // they may say why it has failed
		own = t.options.Rules.Combine(t.states[i].Ref.Kind.GroupKind(), own, children)
	}
	if own.Status != kstatus.Terminating || t.states[i].UID != o.obj.GetUID() {
		r.finished = finished(o.obj, own)
	}
	t.rechecks.set(o, own.RecheckAfter, now)
	if t.needsChildren(o.obj, own) {
		t.trackChildren(i, o.obj)
	} else {
		t.untrackChildren(i)
	}
	if r.owner != nil {
		r.owner.own = own
		t.judgeWithChildren(i, now)
		return
	}
	t.update(i, State{Result: own, UID: o.obj.GetUID(), finished: r.finished.status()}, now)
}

// learnScope notes whether the kind of an object has namespaces. A reference that does not suit its
// kind can never be met.
func (t *tracker) learnScope(o observation, now time.Time) {
	kind, namespaced := o.source.query.Kind, o.obj.GetNamespace() != ""
	if known, ok := t.namespaced[kind]; ok && known == namespaced {
		return
	}
	t.namespaced[kind] = namespaced
	for i := range t.states {
		if ref := t.states[i].Ref; ref.Kind == kind && t.absence(ref) != notFound {
			t.absent(int32(i), now)
		}
	}
}

// absence returns the verdict on an object that was looked up and does not exist.
func (t *tracker) absence(ref Ref) kstatus.Result {
	namespaced, known := t.namespaced[ref.Kind]
	switch {
	case ref.Namespace == "" && (namespaced || namespacedKinds[ref.Kind.GroupKind()]):
		return noNamespace
	case known && !namespaced && ref.Namespace != "":
		return notNamespaced
	}
	return notFound
}

// needsChildren reports whether the children of an object can change the verdict on it now: they
// change only InProgress.
func (t *tracker) needsChildren(obj *unstructured.Unstructured, own kstatus.Result) bool {
	return own.Status == kstatus.InProgress && !t.options.Alone &&
		t.options.Rules.DependsOnChildren(obj.GroupVersionKind().GroupKind())
}

func (t *tracker) absent(i int32, now time.Time) {
	t.forget(i)
	s := State{Result: t.absence(t.states[i].Ref), UID: t.states[i].UID}
	if end := t.records[i].finished; end != nil {
		s.Result, s.finished = end.deleted(), end.status()
	}
	t.update(i, s, now)
}

// forget drops the recheck and the children of an object that can no longer be seen.
func (t *tracker) forget(i int32) {
	ref := t.states[i].Ref
	name := types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
	t.rechecks.forget(recheckKey{t.records[i].source, name}, t.states[i].UID)
	t.untrackChildren(i)
}

// update keeps the state of an object. If it differs from the last one, pop returns it later.
func (t *tracker) update(i int32, s State, now time.Time) {
	old := &t.states[i]
	s.Ref, s.Since, s.Time = old.Ref, old.Since, now
	s.Result.RecheckAfter = 0
	if s.Result == old.Result && s.UID == old.UID && answer(s.Err) == answer(old.Err) {
		old.Err = s.Err // a failure that passes is no event
		return
	}
	if s.Result.Status != old.Result.Status || s.Result.Suspended != old.Result.Suspended || s.UID != old.UID {
		s.Since = now
	}
	t.set(i, s)
	t.limitMissing(i)
	t.limitHold(i)
	t.report(i)
}

// report makes pop return the state of an object.
func (t *tracker) report(i int32) {
	if !t.records[i].changed {
		t.records[i].changed = true
		t.changed = append(t.changed, i)
	}
}

// answer returns the message of an error that tells something of objects, "" for other errors.
func answer(err error) string {
	if err == nil || !isAnswer(err) {
		return ""
	}
	return err.Error()
}

// pop returns the next changed state, or false without one.
func (t *tracker) pop() (State, bool) {
	if len(t.changed) == 0 {
		return State{}, false
	}
	i := t.changed[0]
	t.changed, t.records[i].changed = t.changed[1:], false
	return t.states[i], true
}
