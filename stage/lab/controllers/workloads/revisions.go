package workloads

import (
	"cmp"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/control"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/fields"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/kinds"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/lists"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/internal/selectors"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
)

const (
	revisionLabel     = "controller-revision-hash"      // of Pods, and of the revisions of DaemonSets
	revisionHashLabel = "controller.kubernetes.io/hash" // of the revisions of StatefulSets
)

// A history is the ControllerRevisions of a StatefulSet or DaemonSet.
type history struct {
	all        []*unstructured.Unstructured // the oldest first
	update     *unstructured.Unstructured   // the revision with the present template
	collisions int64                        // status.collisionCount
}

func revisionNumber(rev *unstructured.Unstructured) int64 {
	return fields.Int64(rev.Object, 0, "revision")
}

// syncRevisions brings the revisions of an owner up to date: a new template gets a revision, and
// going back to an old template makes its revision the latest. hashLabel is the label of the
// revisions that has the hash.
func syncRevisions(c control.Call, owner *unstructured.Unstructured, hashLabel string) (history, error) {
	revisions, err := c.Claim(kinds.ControllerRevision, owner, selectors.Of(owner))
	if err != nil {
		return history{}, err
	}
	slices.SortStableFunc(revisions, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(revisionNumber(a), revisionNumber(b)), fields.ByAge(a, b))
	})
	h := history{all: revisions, collisions: fields.Int64(owner.Object, 0, "status", "collisionCount")}
	next := int64(1)
	if n := len(revisions); n > 0 {
		next = revisionNumber(revisions[n-1]) + 1
	}
	data := revisionData(owner)
	same := lists.Filter(revisions, func(rev *unstructured.Unstructured) bool {
		return object.DeepEqual(fields.Value(rev.Object, "data"), data)
	})
	switch n := len(same); {
	case n == 0:
		return addRevision(c, h, owner, newRevision(owner, hashLabel, next))
	case revisionNumber(same[n-1]) == next-1:
		h.update = same[n-1]
		return h, nil
	default:
		return renumber(c, h, same[n-1], next)
	}
}

// revisionData returns the patch that brings an owner to its present template.
func revisionData(owner *unstructured.Unstructured) map[string]any {
	template := fields.CloneMap(owner.Object, "spec", "template")
	template["$patch"] = "replace"
	return map[string]any{"spec": map[string]any{"template": template}}
}

// templateOf returns the template that a revision keeps.
func templateOf(rev *unstructured.Unstructured) map[string]any {
	template := maps.Clone(fields.Map(rev.Object, "data", "spec", "template"))
	delete(template, "$patch")
	return template
}

// renumber makes an old revision the latest.
func renumber(c control.Call, h history, rev *unstructured.Unstructured, n int64) (history, error) {
	next, err := c.MergePatch(rev, map[string]any{"revision": n})
	if err != nil {
		return h, err
	}
	h.update = next
	h.all = slices.DeleteFunc(h.all, func(r *unstructured.Unstructured) bool { return r.GetUID() == rev.GetUID() })
	h.all = append(h.all, next)
	return h, nil
}

// newRevision returns a function that makes the revision of the present template, whose name
// depends on the number of collisions.
func newRevision(owner *unstructured.Unstructured, hashLabel string, n int64) func(collisions int64) (*unstructured.Unstructured, error) {
	data := revisionData(owner)
	return func(collisions int64) (*unstructured.Unstructured, error) {
		hash, err := hashOf(data, collisions)
		if err != nil {
			return nil, err
		}
		rev := control.NewObject(kinds.ControllerRevision, owner.GetNamespace(), owner.GetName()+"-"+hash)
		metadata, labels := control.Metadata(rev), fields.CloneMap(owner.Object, "spec", "template", "metadata", "labels")
		labels[hashLabel] = hash
		metadata["labels"] = labels
		if annotations := fields.Map(owner.Object, "metadata", "annotations"); len(annotations) > 0 {
			metadata["annotations"] = maps.Clone(annotations)
		}
		metadata["ownerReferences"] = []any{control.ControllerRef(owner)}
		rev.Object["data"], rev.Object["revision"] = data, n
		return rev, nil
	}
}

// addRevision creates a revision. If another revision has the same name and the same template,
// addRevision takes that revision, with any owner. Otherwise it tries the next name.
func addRevision(c control.Call, h history, owner *unstructured.Unstructured, revision func(collisions int64) (*unstructured.Unstructured, error)) (history, error) {
	for {
		rev, err := revision(h.collisions)
		if err != nil {
			return h, err
		}
		created, err := c.Create(rev)
		if err == nil {
			h.update, h.all = created, append(h.all, created)
			return h, nil
		}
		other := c.Cache.Get(kinds.ControllerRevision, control.NameOf(rev))
		switch {
		case !apierrors.IsAlreadyExists(err) || other == nil:
			return h, err
		case object.DeepEqual(fields.Value(other.Object, "data"), fields.Value(rev.Object, "data")):
			h.update = other
			return h, nil
		}
		h.collisions++
	}
}

// named returns the revision with the given name, or nil.
func (h history) named(name string) *unstructured.Unstructured {
	for _, rev := range h.all {
		if rev.GetName() == name {
			return rev
		}
	}
	return nil
}

// truncateHistory deletes the oldest revisions that are not in use, except for as many as
// spec.revisionHistoryLimit says.
func truncateHistory(c control.Call, h history, owner *unstructured.Unstructured, inUse func(*unstructured.Unstructured) bool) error {
	unused := lists.Filter(h.all, func(rev *unstructured.Unstructured) bool { return rev != h.update && !inUse(rev) })
	return c.DeleteAll(lists.AllButLast(unused, fields.Int64(owner.Object, 10, "spec", "revisionHistoryLimit")))
}
