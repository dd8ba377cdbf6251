package controllers

import (
	"cmp"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/internal/patch"
)

const (
	revisionLabel     = "controller-revision-hash"      // of Pods, and of the revisions of DaemonSets
	revisionHashLabel = "controller.kubernetes.io/hash" // of the revisions of StatefulSets
)

// A history is the ControllerRevisions of a StatefulSet or DaemonSet, the oldest first, and which of them has its present template.
type history struct {
	all        []*unstructured.Unstructured
	update     *unstructured.Unstructured
	collisions int64
}

func revisionNumber(rev *unstructured.Unstructured) int64 { return number(rev.Object, 0, "revision") }

// history brings the revisions of an owner up to date: a new template gets one, going back to an old one makes its revision the latest.
func (c call) history(owner *unstructured.Unstructured, hashLabel string) (history, error) {
	revisions, err := c.claim(controllerRevisions, owner, selectorAt(owner))
	if err != nil {
		return history{}, err
	}
	slices.SortStableFunc(revisions, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(revisionNumber(a), revisionNumber(b)), byAge(a, b))
	})
	h := history{all: revisions, collisions: number(owner.Object, 0, "status", "collisionCount")}
	next := int64(1)
	if n := len(revisions); n > 0 {
		next = revisionNumber(revisions[n-1]) + 1
	}
	data := revisionData(owner)
	same := keep(revisions, func(rev *unstructured.Unstructured) bool { return patch.Equal(rev.Object["data"], data) })
	switch n := len(same); {
	case n == 0:
		return c.addRevision(h, owner, hashLabel, next)
	case revisionNumber(same[n-1]) == next-1:
		h.update = same[n-1]
		return h, nil
	default:
		return c.renumber(h, same[n-1], next)
	}
}

// revisionData is the patch that brings an owner to its present template.
func revisionData(owner *unstructured.Unstructured) map[string]any {
	template := maps.Clone(tree(owner.Object, "spec", "template"))
	if template == nil {
		template = map[string]any{}
	}
	template["$patch"] = "replace"
	return map[string]any{"spec": map[string]any{"template": template}}
}

// templateOf is the template that a revision keeps.
func templateOf(rev *unstructured.Unstructured) map[string]any {
	template := maps.Clone(tree(rev.Object, "data", "spec", "template"))
	delete(template, "$patch")
	return template
}

func (c call) renumber(h history, rev *unstructured.Unstructured, n int64) (history, error) {
	next, err := c.merge(rev, map[string]any{"revision": n})
	if err != nil {
		return h, err
	}
	h.update = next
	h.all = slices.DeleteFunc(h.all, func(r *unstructured.Unstructured) bool { return r.GetUID() == rev.GetUID() })
	h.all = append(h.all, next)
	return h, nil
}

// addRevision makes a revision. If another object has its name, the next name is tried.
func (c call) addRevision(h history, owner *unstructured.Unstructured, hashLabel string, n int64) (history, error) {
	data := revisionData(owner)
	for {
		hash, err := hashOf(data, h.collisions)
		if err != nil {
			return h, err
		}
		rev := newObject(controllerRevisions, owner.GetNamespace(), owner.GetName()+"-"+hash)
		metadata := rev.Object["metadata"].(map[string]any)
		labels := maps.Clone(tree(owner.Object, "spec", "template", "metadata", "labels"))
		if labels == nil {
			labels = map[string]any{}
		}
		labels[hashLabel] = hash
		metadata["labels"] = labels
		if annotations := tree(owner.Object, "metadata", "annotations"); len(annotations) > 0 {
			metadata["annotations"] = maps.Clone(annotations)
		}
		metadata["ownerReferences"] = []any{controllerRef(owner)}
		rev.Object["data"], rev.Object["revision"] = data, n
		if isTerminating(owner) {
			h.update = rev // for its name: it would be one more that the owner waits for
			return h, nil
		}
		created, err := c.create(rev)
		if err == nil {
			h.update, h.all = created, append(h.all, created)
			return h, nil
		}
		if !apierrors.IsAlreadyExists(err) || c.Cache.Get(controllerRevisions, nameOf(rev)) == nil {
			return h, err
		}
		h.collisions++
	}
}

// named returns the revision of a name, nil if there is none.
func (h history) named(name string) *unstructured.Unstructured {
	for _, rev := range h.all {
		if rev.GetName() == name {
			return rev
		}
	}
	return nil
}

// truncate deletes the oldest revisions that are not in use, except for the latest few.
func (c call) truncate(h history, owner *unstructured.Unstructured, inUse func(*unstructured.Unstructured) bool) error {
	idle := keep(h.all, func(rev *unstructured.Unstructured) bool { return rev != h.update && !inUse(rev) })
	return c.deleteAll(beyond(idle, number(owner.Object, 10, "spec", "revisionHistoryLimit")))
}
