package wait

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/ownership"
)

// trackChildren watches the children of an object from now on.
func (t *tracker) trackChildren(i int32, obj *unstructured.Unstructured) {
	refs, queries := ownership.Read(obj), ownership.Queries(obj)
	if o := t.records[i].owner; o != nil && o.refs.UID == refs.UID && slices.Equal(o.queries, queries) {
		o.refs = refs
		return
	}
	t.untrackChildren(i)
	if len(queries) == 0 {
		return
	}
	o := &owner{refs: refs, queries: queries}
	for _, query := range queries {
		s := t.childSource(query)
		if !slices.Contains(s.children.waiting, i) {
			s.children.waiting = append(s.children.waiting, i)
		}
		o.levels = append(o.levels, s)
	}
	t.records[i].owner, t.roots[refs.UID] = o, i
}

// untrackChildren forgets that the children of an object matter. Their sources stay open.
func (t *tracker) untrackChildren(i int32) {
	if o := t.records[i].owner; o != nil {
		delete(t.roots, o.refs.UID)
		t.records[i].owner = nil
	}
}

// childSource returns the source for a query: its own, or that of the whole namespace if too many
// selectors are watched there already.
func (t *tracker) childSource(query ownership.Query) *source {
	if s := t.childSources[query]; s != nil {
		return s
	}
	if namespace := (ownership.Query{Kind: query.Kind, Namespace: query.Namespace}); query.Name == "" {
		if t.selectors[namespace]++; t.selectors[namespace] > maxSelectors {
			query = namespace
		}
	}
	if t.childSources[query] == nil {
		t.childSources[query] = &source{query: query, children: newChildSet()}
		t.start = append(t.start, t.childSources[query])
	}
	return t.childSources[query]
}

// judgeWithChildren updates the state of an object whose children are watched.
func (t *tracker) judgeWithChildren(i int32, now time.Time) {
	o := t.records[i].owner
	children, err := o.children()
	result := t.options.Rules.Combine(t.states[i].Ref.Kind.GroupKind(), o.own, children)
	t.update(i, State{Result: result, UID: o.refs.UID, Err: err}, now)
}

// observeChildren handles an observation of children. The children of a list are judged when the
// list is complete.
func (t *tracker) observeChildren(o observation, now time.Time) {
	children := o.source.children
	switch o.kind {
	case found:
		former, owner := t.addChild(o, now)
		if o.round == 0 {
			t.judgeOwners(children, now, former, owner)
		}
	case gone:
		owner := t.removeChild(o.source, o.obj.GetUID())
		t.judgeOwners(children, now, owner)
	case listed:
		for _, uid := range children.missing(o.round) {
			t.removeChild(o.source, uid)
		}
		children.err = nil
		t.judgeAll(children, now)
	case listFailed:
		children.err = o.err
		t.judgeAll(children, now)
	}
}

// addChild keeps a child that has an owner. It returns the owner before and the owner now; "" is
// none.
func (t *tracker) addChild(o observation, now time.Time) (former, owner types.UID) {
	c := &childRecord{refs: ownership.Read(o.obj), name: o.obj.GetName(), round: o.round}
	if o.source.query.Name != "" {
		c.refs.Owner = namedChild
	}
	if old := o.source.children.byUID[c.refs.UID]; old != nil {
		former, c.round = old.refs.Owner, max(old.round, o.round) // a recheck can come between two pages
	}
	if c.refs.Owner == "" {
		t.removeChild(o.source, c.refs.UID)
		return former, ""
	}
	c.child = t.options.Rules.Child(o.obj, now)
	t.rechecks.set(o, c.child.Result.RecheckAfter, now)
	c.child.Object = nil
	if ownership.DependsOnChildren(o.obj.GroupVersionKind().GroupKind()) {
		t.ownerOf[c.refs.UID] = c.refs.Owner
	}
	o.source.children.put(c)
	return former, c.refs.Owner
}

// removeChild forgets a child and returns its owner.
func (t *tracker) removeChild(s *source, uid types.UID) (owner types.UID) {
	c := s.children.byUID[uid]
	if c == nil {
		return ""
	}
	s.children.remove(uid)
	delete(t.ownerOf, uid)
	t.rechecks.forget(recheckKey{s, types.NamespacedName{Namespace: s.query.Namespace, Name: c.name}}, uid)
	return c.refs.Owner
}

// judgeOwners updates the waited-for objects that are one of the owners, or the owner of one of
// them.
func (t *tracker) judgeOwners(children *childSet, now time.Time, owners ...types.UID) {
	if slices.Contains(owners, namedChild) {
		t.judgeAll(children, now)
		return
	}
	for _, owner := range slices.Compact(owners) {
		root, ok := t.roots[owner]
		if !ok {
			root, ok = t.roots[t.ownerOf[owner]]
		}
		if ok {
			t.judgeWithChildren(root, now)
		}
	}
}

func (t *tracker) judgeAll(children *childSet, now time.Time) {
	for _, i := range children.waiting {
		if t.records[i].owner != nil {
			t.judgeWithChildren(i, now)
		}
	}
}
