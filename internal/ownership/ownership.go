// Package ownership knows which objects belong to which: where those are found that another one made or refers to, and which of them are
// of its current revision.
//
// # Terminology
//
// A parent has levels of kin: the ReplicaSets of a Deployment, then their Pods. What is made by an object is told by the uid of its
// owner; labels only narrow where to look.
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

// A Place is where the kin of an object on one level are found.
type Place struct {
	Kind      schema.GroupVersionKind
	Namespace string
	Name      string // of the only object, which belongs whoever owns it; "": all that the selector matches and the parent owns
	Selector  string // of labels; "": everything
}

// Options are the options to list a place with.
func (p Place) Options() metav1.ListOptions {
	o := metav1.ListOptions{LabelSelector: p.Selector}
	if p.Name != "" {
		o.FieldSelector = fields.OneTermEqualSelector("metadata.name", p.Name).String()
	}
	return o
}

// Places are where to look for the kin of an object, level by level; none if there are none to look for.
func Places(obj *unstructured.Unstructured) []Place {
	levels := lines[obj.GroupVersionKind().GroupKind()].levels
	var places []Place
	for _, l := range levels {
		place, ok := l.where(obj)
		if !ok {
			return nil
		}
		place.Kind = l.kind
		places = append(places, place)
	}
	return places
}

// Decide tells whether the kin of a kind can change the verdict on it; those of others are only worth showing.
func Decide(parent schema.GroupKind) bool { return lines[parent].decide }

// Facts are what decides to whom an object belongs.
type Facts struct {
	UID      types.UID
	Owner    types.UID // its controller
	Revision string    // of its owner, when it was made; "" if that is not told
	Wants    string    // the revision of its own kin; "": the newest
}

// FactsOf reads the facts of an object.
func FactsOf(obj *unstructured.Unstructured) Facts {
	f := Facts{UID: obj.GetUID()}
	if wants := lines[obj.GroupVersionKind().GroupKind()].wants; wants != nil {
		f.Wants = wants(obj.Object)
	}
	owner, owned := controller(obj.Object)
	if !owned {
		return f
	}
	uid, _ := object.String(owner, "uid")
	f.Owner = types.UID(uid)
	if revision := lines[kindOf(owner)].revision; revision != nil {
		f.Revision = revision(obj.Object)
	}
	return f
}

// controller is the owner reference that says so of itself, or the only one.
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

// Current tells which of the children of an object are of its current revision: those of the revision it wants, else the newest by
// number. The answer is a test for revisions.
func Current(wants string, revisions iter.Seq[string]) func(revision string) bool {
	if wants != "" {
		return func(revision string) bool { return revision == wants }
	}
	newest := int64(0)
	for revision := range revisions {
		newest = max(newest, number(revision))
	}
	return func(revision string) bool { return number(revision) == newest }
}

// number is 0 for what is none, so that unnumbered revisions are all the same.
func number(revision string) int64 {
	n, err := strconv.ParseInt(revision, 10, 64)
	if err != nil {
		return 0
	}
	return max(0, n)
}
