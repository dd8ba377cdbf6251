package answer

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/yaml"

	"github.com/stagecraft-go/stagecraft/examples/stagecraft/internal/stages"
	"github.com/stagecraft-go/stagecraft/kstatus"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/explore"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

// A Run is one life of the objects in virtual time.
type Run struct {
	Start   time.Time `json:"start"`
	Objects []string  `json:"objects"`
	Moments []Moment  `json:"moments"`
	End     string    `json:"end"` // why it ends
}

// A Moment is what happens at one time.
type Moment struct {
	At      string   `json:"at"`      // after the start
	Seconds float64  `json:"seconds"` // after the start
	Events  []string `json:"events"`
	Changes []Change `json:"changes"`
}

// A Change is an object after a change.
type Change struct {
	Object int    `json:"object"` // index into Run.Objects
	Status string `json:"status"` // of kstatus
	Reason string `json:"reason,omitempty"`
	YAML   string `json:"yaml,omitempty"` // "": the object is gone
}

// A recorder records a simulation.
type recorder struct {
	sim   *simulation.Simulation
	run   *Run
	bytes int // of the objects
}

// run plays the Stages on the objects, from their first State in a graph.
func (r Request) run(ctx context.Context, set *stage.Set, in stages.Input, graph *explore.Graph) (*Run, error) {
	o := in.Options()
	rec := &recorder{run: &Run{Start: o.Start, Moments: []Moment{}}}
	var err error
	rec.sim, err = simulation.New(set, simulation.Options{Seed: r.Seed, Start: o.Start, Kinds: o.Kinds, Trace: rec.trace})
	if err != nil {
		return nil, err
	}
	if err := rec.load(ctx, in, graph); err != nil {
		return nil, err
	}
	return rec.run, rec.play(ctx)
}

// load creates the objects, and deletes each that came with a request to delete it.
func (rec *recorder) load(ctx context.Context, in stages.Input, graph *explore.Graph) error {
	list := map[string]any{"apiVersion": "v1", "kind": "List"}
	items := []any{}
	var deleted []*unstructured.Unstructured
	for _, start := range graph.Starts {
		obj := graph.States[start].Object()
		if obj == nil { // it was deleted, and had no finalizers
			continue
		}
		if obj.GetDeletionTimestamp() != nil {
			deleted = append(deleted, obj)
		}
		items = append(items, stored(obj))
	}
	for _, obj := range in.Others {
		items = append(items, stored(obj))
	}
	list["items"] = items
	data, err := json.Marshal(list)
	if err != nil {
		return err
	}
	if err := rec.sim.Cluster().Load(ctx, data); err != nil {
		return err
	}
	for _, obj := range deleted {
		if err := explore.Delete().Do(ctx, rec.sim.Cluster(), obj); err != nil {
			return err
		}
	}
	return rec.watch(in)
}

// stored returns an object that can be created.
func stored(obj *unstructured.Unstructured) map[string]any {
	obj = obj.DeepCopy()
	obj.SetResourceVersion("")
	return obj.Object
}

// watch records the changes of the kinds.
func (rec *recorder) watch(in stages.Input) error {
	var kinds []schema.GroupVersionKind
	for _, kind := range in.Kinds() {
		if slices.Contains(kinds, kind.GroupVersionKind) {
			continue
		}
		kinds = append(kinds, kind.GroupVersionKind)
		if err := rec.sim.On(kind.GroupVersionKind, rec.change); err != nil {
			return err
		}
	}
	return nil
}

// play plays until nothing happens any more, or a limit is reached.
func (rec *recorder) play(ctx context.Context) error {
	for {
		more, err := rec.sim.Step(ctx)
		switch {
		case err != nil:
			return err
		case !more:
			rec.run.End = "nothing more happens"
			return nil
		case len(rec.run.Moments) >= MaxMoments:
			rec.run.End = fmt.Sprintf("the page shows %d moments", MaxMoments)
			return nil
		case rec.bytes >= MaxRun:
			rec.run.End = "the objects of later moments are too large for the page"
			return nil
		}
	}
}

// moment returns the moment of the virtual time.
func (rec *recorder) moment() *Moment {
	after := rec.sim.Now().Sub(rec.run.Start)
	if n := len(rec.run.Moments); n == 0 || rec.run.Moments[n-1].Seconds != after.Seconds() {
		rec.run.Moments = append(rec.run.Moments, Moment{At: short(after), Seconds: after.Seconds(), Events: []string{}, Changes: []Change{}})
	}
	return &rec.run.Moments[len(rec.run.Moments)-1]
}

// short prints a time to the millisecond.
func short(d time.Duration) string { return d.Round(time.Millisecond).String() }

// trace records what the Stages do.
func (rec *recorder) trace(e stage.TraceEvent) {
	text := ""
	switch e.Kind {
	case stage.TraceScheduled:
		text = fmt.Sprintf("waits %s for %s", short(e.Due.Sub(e.Time)), e.Stage)
	case stage.TracePlayed:
		text = e.Stage + " is played"
	case stage.TraceCancelled:
		text = e.Stage + " does not match any more"
	case stage.TraceFailed:
		text = fmt.Sprintf("%s failed: %v", e.Stage, e.Err)
	default:
		return
	}
	m := rec.moment()
	m.Events = append(m.Events, e.Key.String()+": "+text)
}

// change records an object. Of several changes at a moment the last one counts.
func (rec *recorder) change(_ context.Context, e watch.Event) error {
	obj, ok := e.Object.(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	name := stage.KeyOf(obj).String()
	c := Change{Object: slices.Index(rec.run.Objects, name), Status: string(kstatus.NotFound)}
	if c.Object < 0 {
		c.Object = len(rec.run.Objects)
		rec.run.Objects = append(rec.run.Objects, name)
	}
	if e.Type != watch.Deleted {
		text, err := yaml.Marshal(withoutManagedFields(obj).Object)
		if err != nil {
			return err
		}
		status := kstatus.Extended().Compute(obj, rec.sim.Now())
		c.Status, c.Reason, c.YAML = string(status.Status), status.Reason, string(text)
	}
	rec.bytes += len(c.YAML)
	m := rec.moment()
	m.Changes = append(slices.DeleteFunc(m.Changes, func(former Change) bool { return former.Object == c.Object }), c)
	return nil
}

// withoutManagedFields returns an object without the fields that no reader wants to see.
func withoutManagedFields(obj *unstructured.Unstructured) *unstructured.Unstructured {
	obj = obj.DeepCopy()
	obj.SetManagedFields(nil)
	return obj
}
