// Package fault lets things go wrong in a simulation, at random and yet the same way each time: Pods that fail, nodes that go away and
// come back, Stages that take long or for ever, readiness that flaps.
//
// # Terminology
//
// A [Fault] is what happens to an object, and how it ends. A [Plan] says when faults begin, to which objects, and how long they last.
// Arrivals that are draws from a distribution make a rate; a Size above 1 makes bursts; several plans may run at once.
//
// # Usage
//
// Every five minutes on average one of the ready nodes goes away, for a minute, but never more than two of them:
//
//	err := fault.Play(sim, fault.Plan{
//		Seed: 1, Name: "nodes", Kind: nodes,
//		Arrivals: load.MustNew(1, "faults", load.Exponential{Mean: 300}).Arrivals(20),
//		Lasts:    load.MustNew(1, "repairs", load.Fixed(60)),
//		Most:     2,
//	}, fault.Away())
//
// What else there is, with the Stages of package stage/presets:
//
//	fault.Label("pod-container-running-failed.stage.kwok.x-k8s.io", "true") // a Pod fails (PodChaos)
//	fault.Label("node-not-ready.stage.kwok.x-k8s.io", "true")               // a node stops being ready (NodeChaos)
//	fault.Slow("pod-ready", 10*time.Minute)                                 // a Stage takes long (PodGeneral)
//	fault.Slow("pod-ready", 10_000*time.Hour)                               // or is stuck, until the fault ends
//	fault.Condition("Ready")                                                // a Pod is not ready for a while
//
// # Determinism
//
// The objects that are struck are drawn by the Seed and Name of the plan from those that are there, in the order of their names. Plans of
// other names change nothing for each other.
//
// # Concurrency
//
// Plans and Faults are plain data. What Play began runs with the simulation.
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

	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/simulation/load"
)

// A Simulation is where faults happen. Package stage/simulation has one.
type Simulation interface {
	Now() time.Time
	At(t time.Time, do func(context.Context) error)
	Cluster() *memory.Cluster
}

// A Fault is what happens to an object, and how it ends.
type Fault struct {
	// Begin lets it happen.
	Begin func(context.Context, Target) error
	// End makes it good; nil if nothing can.
	End func(context.Context, Target) error
}

// A Strike is one object that a fault happens to.
type Target struct {
	Cluster *memory.Cluster
	Object  *unstructured.Unstructured // as it was before, at the end too; it is shared and must not be changed
	Now     time.Time
}

// A Plan says when and to which objects a fault happens.
type Plan struct {
	// Seed and Name decide which objects are struck.
	Seed uint64
	Name string
	// Kind is that of the objects.
	Kind schema.GroupVersionKind
	// Where tells which of them may be struck. Default: all. Those that are being deleted, and those that this plan has struck and are not
	// good yet, never are.
	Filter func(*unstructured.Unstructured) bool
	// Arrivals are when faults begin, counted from now.
	Arrivals []time.Duration
	// Size is how many objects are struck at each arrival, as far as there are so many. Default 1.
	Size int
	// Lasts draws how long each object is struck. Default: for ever.
	Durations *load.Stream
	// Most is how many objects may be struck at a time. Default: no limit.
	MaxActive int
}

// Play has faults happen by a plan from now on. An object that is gone meanwhile is no error; other errors of the Fault end the run. The
// error of Play is that of a kind that the cluster does not know, or of a Fault without Begin.
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

// A run is a plan that is being played.
type schedule struct {
	sim    Simulation
	plan   Plan
	fault  Fault
	random *rand.Rand
	active map[types.UID]bool
}

// strike lets a fault happen to as many objects as the plan says.
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

// candidates are the objects that may be struck, in the order of their names.
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

// present takes it for no error that an object is gone.
func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
