package wait

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/ownership"
)

// meet looks at the children of an object from now on.
func (t *tracker) meet(i int32, obj *unstructured.Unstructured) {
	facts, places := ownership.FactsOf(obj), ownership.Places(obj)
	if f := t.records[i].family; f != nil && f.facts.UID == facts.UID && slices.Equal(f.places, places) {
		f.facts = facts
		return
	}
	t.part(i)
	if len(places) == 0 {
		return
	}
	f := &family{facts: facts, places: places}
	for _, place := range places {
		s := t.childSource(place)
		if !slices.Contains(s.kids.parents, i) {
			s.kids.parents = append(s.kids.parents, i)
		}
		f.levels = append(f.levels, s)
	}
	t.records[i].family, t.roots[facts.UID] = f, i
}

// part forgets whose children were looked at.
func (t *tracker) part(i int32) {
	if f := t.records[i].family; f != nil {
		delete(t.roots, f.facts.UID)
		t.records[i].family = nil
	}
}

// childSource returns the source for a place: its own, or that of the whole namespace if too many are followed there already.
func (t *tracker) childSource(place ownership.Place) *source {
	if s := t.children[place]; s != nil {
		return s
	}
	if namespace := (ownership.Place{Kind: place.Kind, Namespace: place.Namespace}); place.Name == "" {
		if t.narrow[namespace]++; t.narrow[namespace] > maxSelectors {
			place = namespace
		}
	}
	if t.children[place] == nil {
		t.children[place] = &source{place: place, kids: newKids()}
		t.start = append(t.start, t.children[place])
	}
	return t.children[place]
}

// judgeFamily judges an object in the light of its children.
func (t *tracker) judgeFamily(i int32, now time.Time) {
	f := t.records[i].family
	children, err := f.children()
	result := t.options.Rules.Combine(t.states[i].Ref.Kind.GroupKind(), f.own, children)
	t.tell(i, State{Result: result, UID: f.facts.UID, Err: err}, now)
}

// observeKids takes note of a sighting of a child. What a list brings is judged when all of it is read.
func (t *tracker) observeKids(s sighting, now time.Time) {
	kids := s.source.kids
	switch s.what {
	case found:
		former, owner := t.raise(s, now)
		if s.round == 0 {
			t.judgeParents(kids, now, former, owner)
		}
	case gone:
		owner := t.lose(s.source, s.obj.GetUID())
		t.judgeParents(kids, now, owner)
	case listed:
		for _, uid := range kids.missing(s.round) {
			t.lose(s.source, uid)
		}
		kids.err = nil
		t.judgeAll(kids, now)
	case unread:
		kids.err = s.err
		t.judgeAll(kids, now)
	}
}

// raise keeps a child that belongs to someone. It returns whose it was and whose it is; nobody's, if they are "".
func (t *tracker) raise(s sighting, now time.Time) (former, owner types.UID) {
	child := &kid{facts: ownership.FactsOf(s.obj), name: s.obj.GetName(), round: s.round}
	if s.source.place.Name != "" {
		child.facts.Owner = everyone
	}
	if old := s.source.kids.byUID[child.facts.UID]; old != nil {
		former, child.round = old.facts.Owner, max(old.round, s.round) // a recheck may come between two pages
	}
	if child.facts.Owner == "" {
		t.lose(s.source, child.facts.UID)
		return former, ""
	}
	child.child = t.options.Rules.Child(s.obj, now)
	t.rechecks.set(s, child.child.Result.RecheckAfter, now)
	child.child.Object = nil
	if ownership.Decide(s.obj.GroupVersionKind().GroupKind()) {
		t.owners[child.facts.UID] = child.facts.Owner
	}
	s.source.kids.put(child)
	return former, child.facts.Owner
}

// lose forgets a child, and returns whose it was.
func (t *tracker) lose(s *source, uid types.UID) (owner types.UID) {
	child := s.kids.byUID[uid]
	if child == nil {
		return ""
	}
	s.kids.drop(uid)
	delete(t.owners, uid)
	t.rechecks.forget(recheckKey{s, types.NamespacedName{Namespace: s.place.Namespace, Name: child.name}}, uid)
	return child.facts.Owner
}

// judgeParents judges those anew whose child has changed.
func (t *tracker) judgeParents(kids *kids, now time.Time, owners ...types.UID) {
	if slices.Contains(owners, everyone) {
		t.judgeAll(kids, now)
		return
	}
	for _, owner := range slices.Compact(owners) {
		root, ok := t.roots[owner]
		if !ok {
			root, ok = t.roots[t.owners[owner]]
		}
		if ok {
			t.judgeFamily(root, now)
		}
	}
}

func (t *tracker) judgeAll(kids *kids, now time.Time) {
	for _, i := range kids.parents {
		if t.records[i].family != nil {
			t.judgeFamily(i, now)
		}
	}
}
