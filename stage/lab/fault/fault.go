// Package fault makes things fail in a simulation, at random but reproducibly: Pods that fail,
// nodes that disappear and come back, Stages that take long or are stuck, readiness that flaps.
//
// # Terminology
//
// A [Fault] changes an object and later undoes the change. A [Plan] says when faults begin, on
// which objects, and how long they last. Random arrivals give a failure rate, and a Size above 1
// gives bursts. Several plans may run at the same time.
//
// # Usage
//
// Every five minutes on average, delete one of the nodes for a minute, but never more than two at a
// time:
//
//	err := fault.Schedule(sim, fault.Plan{
//		Seed: 1, Name: "nodes", Kind: nodes,
//		Arrivals:  load.MustNew(1, "faults", load.Exponential{Mean: 300}).Arrivals(20),
//		Durations: load.MustNew(1, "repairs", load.Fixed(60)),
//		MaxActive: 2,
//	}, fault.Remove())
//
// Other faults, for the Stages of package stage/presets:
//
//	fault.Label("pod-container-running-failed.stage.kwok.x-k8s.io", "true") // a Pod fails (PodChaos)
//	fault.StopKubelet()                                                     // a machine is off or cut off
//	fault.Label("node-not-ready.stage.kwok.x-k8s.io", "true")               // a node stops being ready (NodeChaos)
//	fault.Slow("pod-ready", 10*time.Minute)                                 // a Stage takes long (PodGeneral)
//	fault.Slow("pod-ready", 10_000*time.Hour)                               // a Stage is stuck until the fault ends
//	fault.Condition("Ready")                                                // a Pod is not ready for a while
//
// # Determinism
//
// The Seed and Name of a plan decide which of the existing objects are chosen, in the order of
// their names. Plans with other names do not change that.
//
// # Concurrency
//
// Plans and Faults are plain data. The schedule runs with the simulation.
package fault

import (
	"cmp"
	"context"
	"errors"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/load"
	"github.com/stagecraft-go/stagecraft/stage/memory"
)

// A Simulation is where faults happen. *simulation.Simulation implements it.
type Simulation interface {
	Now() time.Time
	At(t time.Time, do func(context.Context) error)
	Cluster() *memory.Cluster
}

// A Fault changes an object when it begins, and undoes the change when it ends.
type Fault struct {
	// Begin starts the fault.
	Begin func(context.Context, Target) error
	// End undoes it; nil if it cannot be undone.
	End func(context.Context, Target) error
}

// A Target is one object that a fault happens to.
type Target struct {
	Cluster *memory.Cluster
	Object  *unstructured.Unstructured // as it was before the fault, also in End; it is shared and must not be changed
	Now     time.Time
}

// A Plan says when a fault happens, how long it lasts, and to which objects.
type Plan struct {
	// Seed and Name decide which objects are chosen.
	Seed uint64
	Name string
	// Kind is the kind of the objects.
	Kind schema.GroupVersionKind
	// Filter reports whether an object may be chosen. Default: all objects. An object that is being
	// deleted, or that still has a fault of this plan, is never chosen.
	Filter func(*unstructured.Unstructured) bool
	// Arrivals are the times at which faults begin, counted from now.
	Arrivals []time.Duration
	// Size is how many objects get the fault at each arrival, if there are enough. Default 1.
	Size int
	// Durations draws how long the fault of each object lasts. Default: forever.
	Durations *load.Stream
	// MaxActive is how many objects may have the fault at the same time. Default: no limit.
	MaxActive int
}

// Schedule makes faults happen by a plan from now on. It is not an error if an object no longer
// exists; other errors of the Fault end the run. Schedule returns an error for a kind that the
// cluster does not know, and for a Fault without Begin.
func Schedule(s Simulation, p Plan, f Fault) error {
	if f.Begin == nil {
		return errors.New("fault: a Fault without Begin")
	}
	if _, err := s.Cluster().List(context.Background(), p.Kind, "", metav1.ListOptions{Limit: 1}); err != nil {
		return err
	}
	h := fnv.New64a()
	h.Write([]byte(p.Name))
	r := &schedule{sim: s, plan: p, fault: f, random: rand.New(rand.NewPCG(p.Seed, h.Sum64())), active: map[types.UID]bool{}}
	load.Schedule(s, p.Arrivals, func(ctx context.Context, _ int) error { return r.beginFaults(ctx) })
	return nil
}

// A schedule is a running plan.
type schedule struct {
	sim    Simulation
	plan   Plan
	fault  Fault
	random *rand.Rand
	// objects that have the fault now
	active map[types.UID]bool
}

// beginFaults begins the fault on the planned number of objects.
func (r *schedule) beginFaults(ctx context.Context) error {
	candidates, err := r.candidates(ctx)
	if err != nil {
		return err
	}
	size := min(cmp.Or(r.plan.Size, 1), len(candidates))
	if r.plan.MaxActive > 0 {
		size = min(size, r.plan.MaxActive-len(r.active))
	}
	for i := range max(size, 0) {
		j := i + r.random.IntN(len(candidates)-i)
		candidates[i], candidates[j] = candidates[j], candidates[i]
		if err := r.begin(ctx, candidates[i]); err != nil {
			return err
		}
	}
	return nil
}

// candidates are the objects that may be chosen, ordered by name.
func (r *schedule) candidates(ctx context.Context) ([]*unstructured.Unstructured, error) {
	all, err := r.sim.Cluster().Shared().List(ctx, r.plan.Kind, "", metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var found []*unstructured.Unstructured
	for i := range all.Items {
		obj := &all.Items[i]
		if obj.GetDeletionTimestamp() == nil && !r.active[obj.GetUID()] && (r.plan.Filter == nil || r.plan.Filter(obj)) {
			found = append(found, obj)
		}
	}
	slices.SortFunc(found, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return found, nil
}

func (r *schedule) begin(ctx context.Context, obj *unstructured.Unstructured) error {
	r.active[obj.GetUID()] = true
	strike := Target{Cluster: r.sim.Cluster(), Object: obj, Now: r.sim.Now()}
	if err := r.fault.Begin(ctx, strike); err != nil {
		return ignoreNotFound(err)
	}
	if r.plan.Durations == nil {
		return nil
	}
	r.sim.At(r.sim.Now().Add(r.plan.Durations.Duration()), func(ctx context.Context) error {
		delete(r.active, obj.GetUID())
		if r.fault.End == nil {
			return nil
		}
		strike.Now = r.sim.Now()
		return ignoreNotFound(r.fault.End(ctx, strike))
	})
	return nil
}

// ignoreNotFound returns nil for the error that an object does not exist.
func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
