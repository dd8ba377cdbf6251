package wait

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// rechecks are the few objects on which time alone can change the verdict, kept until that time.
type rechecks struct {
	planned map[recheckKey]recheck
	due     time.Time // no recheck is due before; zero: without a plan
}

type recheckKey struct {
	source *source
	name   types.NamespacedName
}

func keyOf(o observation) recheckKey {
	return recheckKey{o.source, types.NamespacedName{Namespace: o.obj.GetNamespace(), Name: o.obj.GetName()}}
}

type recheck struct {
	observation observation
	at          time.Time
}

// set plans to observe an object again after a time. With 0 it drops the plan.
func (r *rechecks) set(o observation, after time.Duration, now time.Time) {
	key := keyOf(o)
	delete(r.planned, key)
	if after <= 0 {
		return
	}
	// o.obj itself can be part of a page, which would stay in memory. The round is 0, because the
	// object is not observed in a list again.
	obj := &unstructured.Unstructured{Object: o.obj.Object}
	at := now.Add(after)
	r.planned[key] = recheck{observation{source: o.source, kind: found, obj: obj}, at}
	if r.due.IsZero() || at.Before(r.due) {
		r.due = at
	}
}

// forget drops the plan for an object, unless another object has taken its name.
func (r *rechecks) forget(key recheckKey, uid types.UID) {
	if planned, ok := r.planned[key]; ok && planned.observation.obj.GetUID() == uid {
		delete(r.planned, key)
	}
}

// take removes and returns the rechecks that are due, in the order of their times.
func (r *rechecks) take(now time.Time) []recheck {
	if r.due.IsZero() || r.due.After(now) {
		return nil
	}
	var due []recheck
	r.due = time.Time{}
	for key, planned := range r.planned {
		switch {
		case !planned.at.After(now):
			due = append(due, planned)
			delete(r.planned, key)
		case r.due.IsZero() || planned.at.Before(r.due):
			r.due = planned.at
		}
	}
	slices.SortFunc(due, recheck.compare)
	return due
}

func (r recheck) compare(other recheck) int {
	a, b := r.observation.obj, other.observation.obj
	return cmp.Or(r.at.Compare(other.at), cmp.Compare(a.GetKind(), b.GetKind()),
		cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
}
