package wait

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// rechecks are the few objects on which time alone can change the verdict, kept until it has.
type rechecks struct {
	waiting map[recheckKey]recheck
	due     time.Time // no recheck is due before; zero if there is none
}

type recheckKey struct {
	source *source
	name   types.NamespacedName
}

func keyOf(s sighting) recheckKey {
	return recheckKey{s.source, types.NamespacedName{Namespace: s.obj.GetNamespace(), Name: s.obj.GetName()}}
}

type recheck struct {
	sighting sighting
	at       time.Time
}

// set plans to see an object again after a time; 0: not.
func (r *rechecks) set(s sighting, after time.Duration, now time.Time) {
	key := keyOf(s)
	delete(r.waiting, key)
	if after <= 0 {
		return
	}
	// Not s.obj itself, which may be part of a page. Seeing it again is not seeing it in a list.
	obj := &unstructured.Unstructured{Object: s.obj.Object}
	at := now.Add(after)
	r.waiting[key] = recheck{sighting{source: s.source, what: found, obj: obj}, at}
	if r.due.IsZero() || at.Before(r.due) {
		r.due = at
	}
}

// forget drops the plan for an object, unless another one has taken its name.
func (r *rechecks) forget(key recheckKey, uid types.UID) {
	if w, ok := r.waiting[key]; ok && w.sighting.obj.GetUID() == uid {
		delete(r.waiting, key)
	}
}

// take returns what is due, what was due first before the others, and forgets it.
func (r *rechecks) take(now time.Time) []recheck {
	if r.due.IsZero() || r.due.After(now) {
		return nil
	}
	var due []recheck
	r.due = time.Time{}
	for key, w := range r.waiting {
		switch {
		case !w.at.After(now):
			due = append(due, w)
			delete(r.waiting, key)
		case r.due.IsZero() || w.at.Before(r.due):
			r.due = w.at
		}
	}
	slices.SortFunc(due, recheck.compare)
	return due
}

func (r recheck) compare(other recheck) int {
	a, b := r.sighting.obj, other.sighting.obj
	return cmp.Or(r.at.Compare(other.at), cmp.Compare(a.GetKind(), b.GetKind()),
		cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
}
