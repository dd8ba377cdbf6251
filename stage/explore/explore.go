package explore

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/player"
)

// Options of [Explore]. The zero value follows only Stages and starts at 2006-01-02T15:04:05Z.
type Options struct {
	// MaxStates is the largest number of States that are followed. Further States are marked as
	// Unexplored. Default 10,000.
	MaxStates int
	// MaxBytes is the largest size of the objects of all States together, as JSON. Further States
	// are marked as Unexplored. Default 64 MiB.
	MaxBytes int
	// Actions are actions that a user may do to a start object in any State. Each Action is
	// followed in addition to the Stages.
	Actions []Action
	// OtherObjects are objects that exist in addition to the start objects. Only Stages of the
	// start objects change them.
	OtherObjects []*unstructured.Unstructured
	// Kinds are kinds in addition to the kinds of package memory. CustomResourceDefinitions among
	// the objects also add their kinds.
	Kinds []memory.Kind
	// Start is the time at which the exploration begins. Default 2006-01-02T15:04:05Z.
	Start time.Time
}

// An Action is a change by a user. It takes no time and happens as soon as a State is entered.
type Action struct {
	Name string
	// Do changes the object in the cluster. Its error becomes Transition.Err.
	Do func(ctx context.Context, c *memory.Cluster, obj *unstructured.Unstructured) error
}

// Delete is the Action of kubectl delete.
func Delete() Action { return Action{Name: "delete", Do: remove} }

func remove(ctx context.Context, c *memory.Cluster, obj *unstructured.Unstructured) error {
	key := stage.KeyOf(obj)
	return c.Delete(ctx, key.GroupVersionKind(), key.NamespacedName(), metav1.DeleteOptions{})
}

// Explore follows every Stage of a Set from the given objects, which may be manifests or objects
// from a cluster. They keep their status and begin with generation 1; an object with a
// deletionTimestamp is deleted at the start. The error comes from ctx, from an object that cannot
// be stored, or from an unknown kind. The error of an effect is the Err of its transition.
func Explore(ctx context.Context, set *stage.Set, o Options, objects ...*unstructured.Unstructured) (*Graph, error) {
	o.MaxStates, o.MaxBytes = cmp.Or(o.MaxStates, 10_000), cmp.Or(o.MaxBytes, 64<<20)
	if o.Start.IsZero() {
		o.Start = time.Date(2006, 1, 2, 15, 4, 5, 0, time.UTC)
	}
	x := &explorer{set: set, options: o, now: o.Start, graph: &Graph{}}
	x.found, x.versions = map[string]int{}, map[stage.Key]string{}
	x.cluster = memory.New(memory.Options{Now: func() time.Time { return x.now }, Kinds: o.Kinds}).Shared()
	starts, err := x.load(ctx, objects)
	if err != nil {
		return nil, fmt.Errorf("explore: %w", err)
	}
	for _, start := range starts {
		if err := x.exploreFrom(ctx, start); err != nil {
			return nil, fmt.Errorf("explore: %w", err)
		}
	}
	x.finish()
	return x.graph, nil
}

// An explorer searches breadth-first, so that it finds each State by one of the shortest paths.
type explorer struct {
	set      *stage.Set
	options  Options
	now      time.Time // the clock of all clusters
	cluster  *memory.Cluster
	kinds    []schema.GroupVersionKind // whose objects belong to States
	versions map[stage.Key]string      // resourceVersions of the objects before anything is played

	graph    *Graph
	found    map[string]int // States by identity
	bytes    int            // of the identities
	outgoing [][]outgoing   // by State
	start    stage.Key      // the start object that is explored now
	queue    []openState
}

// An openState is a State that is still to be followed, with the cluster as it is in that State.
type openState struct {
	id      int
	at      time.Time
	cluster *memory.Cluster
	members []memberObject
}

// load puts all objects into the cluster and returns the keys of the start objects.
func (x *explorer) load(ctx context.Context, objects []*unstructured.Unstructured) ([]stage.Key, error) {
	list := map[string]any{"apiVersion": "v1", "kind": "List"}
	var items []any
	for _, obj := range append(objects[:len(objects):len(objects)], x.options.OtherObjects...) {
		items = append(items, withoutVersion(obj))
	}
	list["items"] = items
	data, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	if err := x.cluster.Load(ctx, data); err != nil {
		return nil, err
	}
	starts := make([]stage.Key, len(objects))
	for i, obj := range objects {
		if starts[i], err = x.startKey(ctx, obj); err != nil {
			return nil, err
		}
	}
	return starts, x.recordInitial(ctx, starts)
}

// withoutVersion returns an object that can be created: without resourceVersion, and with observed
// generations that fit the new generation 1.
func withoutVersion(obj *unstructured.Unstructured) map[string]any {
	obj = obj.DeepCopy()
	obj.SetResourceVersion("")
	if generation, _ := object.Int64(obj.Object, "metadata", "generation"); generation > 1 {
		lowerObserved(obj.Object, generation-1)
	}
	return obj.Object
}

// lowerObserved subtracts a number of generations from all fields named observedGeneration below v.
func lowerObserved(v any, generations int64) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			lowerObserved(item, generations)
		}
	case map[string]any:
		for name, item := range v {
			if n, ok := object.ToInt64(item); ok && name == "observedGeneration" {
				v[name] = n - generations
			}
			lowerObserved(item, generations)
		}
	}
}

// startKey finds a start object in the cluster, and deletes it if it came with a deletionTimestamp.
func (x *explorer) startKey(ctx context.Context, obj *unstructured.Unstructured) (stage.Key, error) {
	if obj.GetName() == "" {
		return stage.Key{}, fmt.Errorf("%s has no name", obj.GetKind())
	}
	name := types.NamespacedName{Namespace: cmp.Or(obj.GetNamespace(), metav1.NamespaceDefault), Name: obj.GetName()}
	stored, err := x.cluster.Get(ctx, obj.GroupVersionKind(), name)
	if err != nil {
		return stage.Key{}, err
	}
	if obj.GetDeletionTimestamp() != nil {
		err = remove(ctx, x.cluster, stored)
	}
	return stage.KeyOf(stored), err
}

// recordInitial records the kinds, and the versions of all objects before anything is played.
func (x *explorer) recordInitial(ctx context.Context, starts []stage.Key) error {
	x.kinds = x.set.Kinds()
	for _, key := range starts {
		x.addKind(key.GroupVersionKind())
	}
	for _, kind := range x.kinds {
		list, err := x.cluster.List(ctx, kind, "", metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range list.Items {
			obj := &list.Items[i]
			x.set.ObserveEnv(obj)
			x.versions[stage.KeyOf(obj)] = obj.GetResourceVersion()
		}
	}
	return nil
}

// addKind adds a kind to those whose objects belong to States.
func (x *explorer) addKind(kind schema.GroupVersionKind) {
	for _, k := range x.kinds {
		if k == kind {
			return
		}
	}
	x.kinds = append(x.kinds, kind)
}

// exploreFrom explores one start object.
func (x *explorer) exploreFrom(ctx context.Context, start stage.Key) error {
	x.start = start
	x.now = x.options.Start
	first := openState{at: x.now, cluster: x.cluster.Fork()}
	first.members = x.members(ctx, first.cluster, nil)
	id := x.stateOf(first)
	x.graph.Starts = append(x.graph.Starts, id)
	for len(x.queue) > 0 {
		p := x.queue[0]
		x.queue[0] = openState{}
		x.queue = x.queue[1:]
		if err := ctx.Err(); err != nil {
			return err
		}
		if p.id >= x.options.MaxStates || x.bytes > x.options.MaxBytes {
			x.graph.States[p.id].Unexplored = true
			continue
		}
		x.expand(ctx, p)
	}
	return nil
}

// stateOf returns the id of a State, which is new or was found before.
func (x *explorer) stateOf(p openState) int {
	identity := x.identity(p.members)
	matching := x.outgoingOf(p)
	if id, known := x.found[identity]; known {
		if !sameOutgoing(matching, x.outgoing[id]) {
			x.graph.States[id].TimeDependent = true
		}
		return id
	}
	p.id = len(x.graph.States)
	x.found[identity] = p.id
	x.bytes += len(identity)
	x.outgoing = append(x.outgoing, matching)
	x.queue = append(x.queue, p)
	x.graph.States = append(x.graph.States, State{ID: p.id, Key: x.start, Entered: p.at.Sub(x.options.Start), Objects: objectsOf(p.members)})
	return p.id
}

// expand plays everything that can happen in a State.
func (x *explorer) expand(ctx context.Context, p openState) {
	for _, e := range x.outgoing[p.id] {
		x.graph.States[p.id].matched = append(x.graph.States[p.id].matched, Stage{Kind: e.key.GroupVersionKind(), Name: e.candidate.Stage})
		if e.candidate.Probability > 0 {
			x.play(ctx, p, e)
		}
	}
	if obj := x.graph.States[p.id].Object(); obj != nil {
		for _, a := range x.options.Actions {
			x.applyAction(ctx, p, a, obj)
		}
	}
}

// play executes a Stage at its earliest time, and compares the result with that at its latest.
func (x *explorer) play(ctx context.Context, p openState, e outgoing) {
	t := Transition{From: p.id, Key: e.key, Stage: e.candidate.Stage, Chance: e.candidate.Probability, Delay: e.candidate.Delay, Weight: -1}
	if e.candidate.Weighted {
		t.Weight = e.candidate.Weight
	}
	next := x.execute(ctx, p, e, &t)
	t.Changes = changes(p.members, next.members)
	t.To = x.stateOf(next)
	if latest, ok := e.latest(); ok {
		other := Transition{}
		late := x.execute(ctx, p, latest, &other)
		if !x.isState(late, t.To) || (other.Err == nil) != (t.Err == nil) {
			x.graph.States[t.To].TimeDependent = true
		}
	}
	x.graph.Transitions = append(x.graph.Transitions, t)
}

// isState reports whether p is the State id, with the same outgoing Stages.
func (x *explorer) isState(p openState, id int) bool {
	known, ok := x.found[x.identity(p.members)]
	return ok && known == id && sameOutgoing(x.outgoingOf(p), x.outgoing[id])
}

// execute plays a Stage on a copy of the cluster. The transition gets its effects and its error.
func (x *explorer) execute(ctx context.Context, p openState, e outgoing, t *Transition) openState {
	x.now = e.due
	next := openState{at: e.due, cluster: p.cluster.Fork()}
	_, t.Err = player.Do(ctx, next.cluster, e.transition, e.obj, player.DoOptions{Now: e.due, Trace: func(ev stage.TraceEvent) {
		if ev.Kind == stage.TraceEffected {
			t.Effects = append(t.Effects, ev.Effect)
		}
		if apply, ok := ev.Effect.(stage.Apply); ok {
			x.addKind(apply.Object.GroupVersionKind())
		}
	}})
	next.members = x.members(ctx, next.cluster, p.members)
	for i, m := range next.members {
		if m.key == e.key && m.version() == e.obj.GetResourceVersion() {
			next.members[i].resting = true
		}
	}
	return next
}

// applyAction follows an action of the user, unless the action changes nothing.
func (x *explorer) applyAction(ctx context.Context, p openState, a Action, obj *unstructured.Unstructured) {
	x.now = p.at
	t := Transition{From: p.id, Key: x.start, Action: a.Name, Weight: -1}
	next := openState{at: p.at, cluster: p.cluster.Fork()}
	if t.Err = a.Do(ctx, next.cluster, obj.DeepCopy()); apierrors.IsNotFound(t.Err) {
		return
	}
	next.members = x.members(ctx, next.cluster, p.members)
	if t.Changes = changes(p.members, next.members); len(t.Changes) == 0 && t.Err == nil {
		return
	}
	t.To = x.stateOf(next)
	x.graph.Transitions = append(x.graph.Transitions, t)
}

// finish fills in what depends on the whole graph.
func (x *explorer) finish() {
	x.graph.label()
	for _, kind := range x.set.Kinds() {
		for _, name := range x.set.Stages(kind) {
			x.graph.Stages = append(x.graph.Stages, Stage{Kind: kind, Name: name})
		}
	}
}
