package controllers

import (
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

// A book is the census of one owner, kept up to date by what happens to its Pods.
type book struct {
	census
	selector selector
	labels   map[string]any // of the template
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
	kept := &book{selector: s, labels: labels}
	for _, p := range all {
		kept.add(p, labels, 1)
	}
	b[uid] = kept
	return kept.census, nil
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
		b.write(ch.Old, -1)
	}
	if ch.New == nil {
		return
	}
	if hasController(ch.New) {
		b.write(ch.New, 1)
		return
	}
	for _, name := range selectors(c, kind, ch.New) { // they will want to adopt it
		delete(b, c.Get(kind, name).GetUID())
	}
}

// write counts a Pod n times in the book of its controller. One that this does not select is to be released, which takes a closer look.
func (b books) write(obj *unstructured.Unstructured, n int64) {
	uid := controllerUID(obj)
	kept := b[uid]
	switch {
	case kept == nil:
	case !kept.selector.matches(obj):
		delete(b, uid)
	default:
		kept.add(pod{obj}, kept.labels, n)
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
