package controllers

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/patch"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// A census counts Pods.
type census struct {
	active, labelled, ready int64 // Pods that count as replicas; of these, those with the labels of the template; and those that are ready
	terminating             int64 // Pods that are on their way out and have not ended
}

// add counts a Pod n times.
func (t *census) add(p pod, labels map[string]any, n int64) {
	switch {
	case p.ended():
	case p.terminating():
		t.terminating += n
	default:
		t.active += n
		t.labelled += n * int64(truth(contains(tree(p.Object, "metadata", "labels"), labels)))
		t.ready += n * int64(truth(p.ready()))
	}
}

// A book is the census of one owner, kept up to date by what happens to its Pods, and who they are.
type book struct {
	census
	selector selector
	labels   map[string]any      // of the template
	active   map[types.UID]*rank // those that count
	onNode   map[string]int      // how many of them each node has
}

func newBook(s selector, labels map[string]any) *book {
	return &book{selector: s, labels: labels, active: map[types.UID]*rank{}, onNode: map[string]int{}}
}

func (b *book) enter(p pod) {
	b.add(p, b.labels, 1)
	if p.active() {
		b.active[p.GetUID()] = rankOf(p)
		b.onNode[p.node()]++
	}
}

func (b *book) leave(p pod) {
	b.add(p, b.labels, -1)
	if p.active() {
		delete(b.active, p.GetUID())
		b.onNode[p.node()]--
	}
}

// books are those of owners, so that a look at one costs as much as what has changed, and not as much as it has Pods. An owner that has none, because
// something unusual happened to its Pods, has them counted and claimed anew.
type books map[types.UID]*book

// of returns the census of an owner, from its book if that is there.
func (b books) of(c call, owner *unstructured.Unstructured) (census, error) {
	uid, labels := owner.GetUID(), tree(owner.Object, "spec", "template", "metadata", "labels")
	if kept := b[uid]; kept != nil && patch.Equal(kept.labels, labels) {
		return kept.census, nil
	}
	delete(b, uid)
	s := selectorAt(owner)
	all, err := c.claimPods(owner, s)
	if err != nil {
		return census{}, err
	}
	kept := newBook(s, labels)
	for _, p := range all {
		kept.enter(p)
	}
	b[uid] = kept
	return kept.census, nil
}

// ranks returns the Pods of an owner that count, by uid.
func (b books) ranks(owner *unstructured.Unstructured) []*rank {
	kept := b[owner.GetUID()]
	if kept == nil {
		return nil
	}
	return slices.SortedFunc(maps.Values(kept.active), func(x, y *rank) int { return cmp.Compare(x.uid, y.uid) })
}

// onNodes returns how many Pods of several owners each node has. Those of an owner without a book do not count: it is new.
func (b books) onNodes(owners []*unstructured.Unstructured) map[string]int {
	sum := map[string]int{}
	for _, owner := range owners {
		if kept := b[owner.GetUID()]; kept != nil {
			for node, n := range kept.onNode {
				sum[node] += n
			}
		}
	}
	return sum
}

// watches keep the books of owners of a kind.
func (b books) watches(kind schema.GroupVersionKind) []reconcile.Watch {
	return []reconcile.Watch{
		{Kind: kind, Map: b.sawOwner},
		{Kind: pods, Map: func(c *reconcile.Cache, ch reconcile.Change) []types.NamespacedName {
			b.sawPod(c, kind, ch)
			return nil
		}},
	}
}

func (b books) sawOwner(_ *reconcile.Cache, ch reconcile.Change) []types.NamespacedName {
	if ch.Old != nil && (ch.New == nil || ch.New.GetUID() != ch.Old.GetUID()) {
		delete(b, ch.Old.GetUID())
	}
	return nil
}

func (b books) sawPod(c *reconcile.Cache, kind schema.GroupVersionKind, ch reconcile.Change) {
	if ch.Old != nil {
		b.write(ch.Old, (*book).leave)
	}
	if ch.New == nil {
		return
	}
	if hasController(ch.New) {
		b.write(ch.New, (*book).enter)
		return
	}
	for _, name := range selectors(c, kind, ch.New) { // they will want to adopt it
		delete(b, c.Get(kind, name).GetUID())
	}
}

// write writes of a Pod into the book of its controller. One that this does not select is to be released, which takes a closer look.
func (b books) write(obj *unstructured.Unstructured, what func(*book, pod)) {
	uid := controllerUID(obj)
	kept := b[uid]
	switch {
	case kept == nil:
	case !kept.selector.matches(obj):
		delete(b, uid)
	default:
		what(kept, pod{obj})
	}
}

// controllerUID is the uid of the owner that controls an object, "" if there is none.
func controllerUID(obj *unstructured.Unstructured) types.UID {
	for _, ref := range trees(obj.Object, "metadata", "ownerReferences") {
		if flag(ref, "controller") {
			return uidOf(ref)
		}
	}
	return ""
}
