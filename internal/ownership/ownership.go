// Package ownership finds the children of an object: its dependents, which have an owner reference
// to the object, and the objects that it refers to by name. It also says which dependents have the
// current revision of their owner.
//
// # Terminology
//
// An owner has one or more levels of children: a Deployment has ReplicaSets, and these have Pods.
// An owner reference decides whose dependent an object is; label selectors only narrow the search.
//
// # Determinism
//
// Every function is pure. Objects are read only and never retained.
package ownership

import (
	"iter"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// A Query finds the children of an object on one level.
type Query struct {
	Kind      schema.GroupVersionKind
	Namespace string
	Name      string // of the only child, with any owner; "": all objects that Selector matches and the object owns
	Selector  string // of labels; "": everything
}

// ListOptions returns the selectors of the query.
func (q Query) ListOptions() metav1.ListOptions {
	o := metav1.ListOptions{LabelSelector: q.Selector}
	if q.Name != "" {
		o.FieldSelector = fields.OneTermEqualSelector("metadata.name", q.Name).String()
	}
	return o
}

// Queries returns one query for each level of children of an object; it is empty for an object
// without children.
func Queries(owner *unstructured.Unstructured) []Query {
	var queries []Query
	for _, l := range kinds[owner.GroupVersionKind().GroupKind()].levels {
		query, ok := l.query(owner)
		if !ok {
			return nil
		}
		query.Kind = l.kind
		queries = append(queries, query)
	}
	return queries
}

// DependsOnChildren reports whether the children of an object can change its status. Children of
// other kinds of objects are only useful to show.
func DependsOnChildren(owner schema.GroupKind) bool { return kinds[owner].dependsOnChildren }

// References are the fields of an object that name its owner, and that say which of its dependents
// are current.
type References struct {
	UID             types.UID
	Owner           types.UID // uid of its controller; "": none
	Revision        string    // the revision of its owner that it was made from; "": not known
	CurrentRevision string    // the current revision of its dependents; "": the newest
}

// Read returns the references of an object.
func Read(obj *unstructured.Unstructured) References {
	r := References{UID: obj.GetUID()}
	if current := kinds[obj.GroupVersionKind().GroupKind()].currentRevision; current != nil {
		r.CurrentRevision = current(obj.Object)
	}
	owner, owned := controller(obj.Object)
	if !owned {
		return r
	}
	uid, _ := object.String(owner, "uid")
	r.Owner = types.UID(uid)
	if revision := kinds[kindOf(owner)].dependentRevision; revision != nil {
		r.Revision = revision(obj.Object)
	}
	return r
}

// controller returns the owner reference with controller: true, or the only one.
func controller(fields map[string]any) (map[string]any, bool) {
	owners, _ := object.Slice(fields, "metadata", "ownerReferences")
	for _, item := range owners {
		owner, ok := object.ToMap(item)
		if is, _ := object.Bool(owner, "controller"); ok && (is || len(owners) == 1) {
			return owner, true
		}
	}
	return nil, false
}

func kindOf(owner map[string]any) schema.GroupKind {
	version, _ := object.String(owner, "apiVersion")
	kind, _ := object.String(owner, "kind")
	return schema.FromAPIVersionAndKind(version, kind).GroupKind()
}

// CurrentRevision returns a function that tests the revision of a dependent. The revision must be
// the wanted one or, if wanted is "", the greatest number of the given revisions.
func CurrentRevision(wanted string, revisions iter.Seq[string]) func(revision string) bool {
	if wanted != "" {
		return func(revision string) bool { return revision == wanted }
	}
	newest := int64(0)
	for revision := range revisions {
		newest = max(newest, number(revision))
	}
	return func(revision string) bool { return number(revision) == newest }
}

// number returns 0 for a revision that is not a number, so that all such revisions are equal.
func number(revision string) int64 {
	n, err := strconv.ParseInt(revision, 10, 64)
	if err != nil {
		return 0
	}
	return max(0, n)
}
