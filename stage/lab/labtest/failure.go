package labtest

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/kstatus/kstatustest"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/internal/object"
)

// A Failure happens to some objects of a kind, chosen at random. The choice is made once for each
// object, and again for an object that replaces another one. A Pod of a ReplicaSet that fails
// permanently can be replaced by a Pod that also fails. If this does not end, the test fails.
type Failure struct {
	State kstatustest.State // such as kstatustest.CrashLoopBackOff
	// Rate is the share of the objects that fail, from 0 to 1. Default: 0, or 1 if Count is set.
	Rate float64
	// Count is how many objects fail at most. Default: no limit.
	Count int
	// After is how long an object works before it fails. Default: it fails at once.
	After time.Duration
	// For is how long the failure lasts. Afterwards the object is driven to [Ready], so that
	// controllers and Stages continue with it: a claim that is Pending for five minutes is bound
	// then. Default: without end. A Pod that is Failed, Succeeded or Evicted cannot recover.
	For time.Duration
	// Kind is the kind of the objects. Default: Pods. A Pod fails when it has a node or, if the
	// State is Unschedulable, before.
	Kind schema.GroupVersionKind
	// Selector selects the objects by their labels. Default: all.
	Selector labels.Selector
}

// An objectSlot is a kind and name under which one object can follow another, such as Pod web-0 of
// a StatefulSet, for one Failure.
type objectSlot struct {
	failure int // in Options.Failures
	reference
}

// maxFailuresAtOnce is how many objects may fail, for each wanted replica, without time passing.
const maxFailuresAtOnce = 100

// expectFailures watches the objects that may fail.
func (l *Lab) expectFailures() error {
	for i, f := range l.options.Failures {
		if f.Kind.Empty() {
			f.Kind = pods
		}
		if f.Count > 0 && f.Rate == 0 {
			f.Rate = 1
		}
		if err := f.check(); err != nil {
			return fmt.Errorf("Failures[%d].%w", i, err)
		}
		if f.Selector == nil {
			f.Selector = labels.Everything()
		}
		err := l.sim.On(f.Kind, func(_ context.Context, e watch.Event) error { return l.decideFailure(i, f, e) })
		if err != nil {
			return err
		}
	}
	return nil
}

// decideFailure decides, once, whether a failure happens to an object.
func (l *Lab) decideFailure(i int, f Failure, e watch.Event) error {
	obj, ok := e.Object.(*unstructured.Unstructured)
	if ok && e.Type == watch.Deleted {
		l.forget(obj, i)
	}
	if !ok || e.Type == watch.Deleted || !f.applies(obj) || l.decided[failureKey(obj, i)] {
		return nil
	}
	l.decided[failureKey(obj, i)] = true
	place := objectSlot{i, referenceOf(obj)}
	before := l.occupants[place]
	l.occupants[place]++
	if l.holds(obj) || chance(l.options.Seed, place, before) >= f.Rate || f.Count > 0 && l.failed[i] >= f.Count {
		return nil
	}
	l.failed[i]++
	if f.After > 0 {
		l.later(f.After, obj, func() error { return l.fail(i, f, obj) })
		return nil
	}
	return l.fail(i, f, obj)
}

// forget drops what was decided about an object that is gone. The number of objects in its slot is
// still needed if another object can have the same name, as Pods of a StatefulSet have.
func (l *Lab) forget(obj *unstructured.Unstructured, failure int) {
	delete(l.decided, failureKey(obj, failure))
	if owner := metav1.GetControllerOf(obj); obj.GetGenerateName() != "" && (owner == nil || owner.Kind != "StatefulSet") {
		delete(l.occupants, objectSlot{failure, referenceOf(obj)})
	}
}

// fail begins a failure, and ends it when its time is over.
func (l *Lab) fail(i int, f Failure, obj *unstructured.Unstructured) error {
	ref := referenceOf(obj)
	if err := l.drive(ref, f.State); err != nil {
		return err
	}
	if f.For > 0 {
		l.later(f.For, obj, func() error { return l.drive(ref, Ready) })
	}
	return l.endlessFailure(i, obj)
}

// later calls a function after a time, unless the object is gone by then, or being deleted.
func (l *Lab) later(d time.Duration, obj *unstructured.Unstructured, do func() error) {
	l.sim.At(l.Now().Add(d), func(context.Context) error {
		now, err := l.get(referenceOf(obj))
		if apierrors.IsNotFound(err) || err == nil && (now.GetUID() != obj.GetUID() || now.GetDeletionTimestamp() != nil) {
			return nil
		}
		if err != nil {
			return err
		}
		return do()
	})
}

// check returns an error that begins with the faulty field.
func (f Failure) check() error {
	ends := f.State == kstatustest.Failed || f.State == kstatustest.Succeeded || f.State == kstatustest.Evicted
	switch {
	case !(f.Rate >= 0 && f.Rate <= 1):
		return fmt.Errorf("Rate: %v is no share of the objects, from 0 to 1", f.Rate)
	case f.Count < 0:
		return fmt.Errorf("Count: %d is negative", f.Count)
	case f.After < 0:
		return fmt.Errorf("After: %s is negative", f.After)
	case f.For < 0:
		return fmt.Errorf("For: %s is negative", f.For)
	case f.For > 0 && f.Kind == pods && ends:
		return fmt.Errorf("For: a Pod that is %s does not recover", f.State)
	}
	return nil
}

// endlessFailure returns an error if the objects of a ReplicaSet or StatefulSet fail without end
// while no time passes, because each replacement also fails.
func (l *Lab) endlessFailure(failure int, obj *unstructured.Unstructured) error {
	owner := metav1.GetControllerOf(obj)
	if owner == nil {
		return nil
	}
	n := l.streak(owner.UID)
	if n < maxFailuresAtOnce {
		return nil
	}
	gv, _ := schema.ParseGroupVersion(owner.APIVersion)
	ref := reference{gv.WithKind(owner.Kind), types.NamespacedName{Namespace: obj.GetNamespace(), Name: owner.Name}}
	parent, err := l.get(ref)
	if err != nil {
		return err
	}
	if replicas, ok := object.Int64(parent.Object, "spec", "replicas"); !ok || n < maxFailuresAtOnce*int(max(1, replicas)) {
		return nil
	}
	return fmt.Errorf("%w: %d objects of %s failed by Failures[%d] without time passing, each in place of one before; let fewer fail, or in a way in which they stay, "+
		"such as CrashLoopBackOff", stage.ErrLivelock, n, ref, failure)
}

// streak counts one more failure of an owner at this time, and returns how many there are.
func (l *Lab) streak(owner types.UID) int {
	if now := l.Now(); !l.streakAt.Equal(now) {
		clear(l.streaks)
		l.streakAt = now
	}
	l.streaks[owner]++
	return l.streaks[owner]
}

// applies reports whether the lab can decide now if the object fails.
func (f Failure) applies(obj *unstructured.Unstructured) bool {
	if !f.Selector.Matches(labels.Set(obj.GetLabels())) || obj.GetDeletionTimestamp() != nil {
		return false
	}
	return f.Kind != pods || isBound(obj) != (f.State == kstatustest.Unschedulable)
}

func failureKey(obj *unstructured.Unstructured, failure int) types.UID {
	return types.UID(string(rune(failure))) + obj.GetUID()
}

// chance is a number in [0, 1) that depends only on the seed, the failure, the name of the object,
// and how many objects had the name before.
func chance(seed uint64, p objectSlot, before int) float64 {
	h := fnv.New64a()
	var n [8]byte
	binary.LittleEndian.PutUint64(n[:], uint64(p.failure))
	h.Write(n[:])
	h.Write([]byte(p.reference.String()))
	return rand.New(rand.NewPCG(seed, h.Sum64()+uint64(before))).Float64()
}
