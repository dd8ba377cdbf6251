package stagetest

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/kstatus/kstatustest"
	"github.com/stagecraft-go/stagecraft/stage"
)

// A Failure happens to some objects of a kind, chosen at random. Each object is decided about once;
// an object that replaces another one is decided about anew. A Pod of a ReplicaSet that fails
// permanently may be replaced by one that fails too: if that does not end, the test fails.
type Failure struct {
	State kstatustest.State // such as kstatustest.CrashLoopBackOff
	Rate  float64           // the share of the objects that fail, from 0 to 1
	// Kind is the kind of the objects. Default: Pods. A Pod fails when it has a node or, if the
	// State is Unschedulable, before.
	Kind schema.GroupVersionKind
	// Selector selects them by their labels. Default: all.
	Selector labels.Selector
}

// An objectSlot is a kind and name under which one object may follow another, such as the Pods
// web-0 of a StatefulSet, for one Failure.
type objectSlot struct {
	failure int // in LabOptions.Failures
	reference
}

// A failureStreak is how many objects of one owner failed at the same time.
type failureStreak struct {
	at     time.Time
	length int
}

// maxFailuresAtOnce is how many objects may fail, for each wanted replica, without time passing.
const maxFailuresAtOnce = 100

// expectFailures watches the objects that may fail.
func (l *Lab) expectFailures() error {
	for i, f := range l.options.Failures {
		if !(f.Rate >= 0 && f.Rate <= 1) {
			return fmt.Errorf("Failures[%d].Rate: %v is no share of the objects, from 0 to 1", i, f.Rate)
		}
		if f.Kind.Empty() {
			f.Kind = pods
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
	if !ok || e.Type == watch.Deleted || !f.applies(obj) || l.decided[failureKey(obj, i)] {
		return nil
	}
	l.decided[failureKey(obj, i)] = true
	place := objectSlot{i, referenceOf(obj)}
	before := l.occupants[place]
	l.occupants[place]++
	if l.holds(obj) || chance(l.options.Seed, place, before) >= f.Rate {
		return nil
	}
	if err := l.drive(place.reference, f.State); err != nil {
		return err
	}
	return l.endlessFailure(i, obj)
}

// endlessFailure returns an error if the objects of a ReplicaSet or StatefulSet fail again and
// again without time passing, because each is replaced by one that fails too.
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
	s := l.streaks[owner]
	if !s.at.Equal(l.Now()) {
		s = failureStreak{at: l.Now()}
	}
	s.length++
	l.streaks[owner] = s
	return s.length
}

// applies reports whether it can be decided now if the object fails.
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
