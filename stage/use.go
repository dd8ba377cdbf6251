package stage

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Use replaces the present Set, and returns the kinds whose Stages differ in name, spec, extensions
// or order. The caller must observe its objects of these kinds again. A pending transition stays,
// with its random number and due time, if the new Set has its Stage with the same name, spec and
// extensions; otherwise it is cancelled. Use forgets objects of kinds that no longer have Stages.
// An object parked as a livelock gets another chance if the Stages of its kind differ. A transition
// that [Engine.Due] has returned keeps its Set.
func (e *Engine) Use(s *Set, now time.Time) []schema.GroupVersionKind {
	differs, twins := e.set.compare(s)
	e.set = s
	for _, k := range slices.SortedFunc(maps.Keys(e.records), Key.Compare) {
		e.adopt(e.records[k], now, twins)
		if slices.Contains(differs, k.GroupVersionKind()) {
			e.renew(k, now)
		}
	}
	return differs
}

// adopt gives a record the new version of its pending Stage, or cancels it. twins maps each Stage
// of the old Set to its equal in the new Set.
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

// renew prepares the record of an object after a change of its Stages.
func (e *Engine) renew(k Key, now time.Time) {
	if len(e.set.Stages(k.GroupVersionKind())) == 0 {
		e.Forget(k, now)
		return
	}
	r := e.records[k]
	r.parked, r.count = false, 0
}

// compare returns the kinds whose Stages differ in another Set, and the twin of each Stage of s:
// the equal Stage of the other Set.
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

// with returns the kinds of the Set, and the kinds in more that the Set does not have.
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

// equal reports whether two Stages of one kind have the same name, spec and extensions.
func (st *compiled) equal(other *compiled) bool {
	return st.name == other.name && slices.Equal(st.given, other.given) && reflect.DeepEqual(st.spec, other.spec)
}
