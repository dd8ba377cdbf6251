package main

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/examples/simulator/mcad"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/controllers"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
	"github.com/stagecraft-go/stagecraft/stage/simulation/record"
)

var (
	podKind     = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	nodeKind    = schema.GroupVersionKind{Version: "v1", Kind: "Node"}
	jobKind     = schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}
	wrapperKind = mcad.Kinds()[0].GroupVersionKind
)

var (
	//go:embed stages.yaml
	stagesYAML []byte
)

// batch is how long the Job controller of Kubernetes gathers changes of Pods before it looks at their Job. That of the lab looks at once.
const batch = time.Second

// A setting is what a lab is made of.
type setting struct {
	seed   uint64
	nodes  int
	stages stage.Source
	rest   time.Duration // between looks at one object, as reconcile.Options.MinInterval
	more   []reconcile.Controller
}

// A lab is a cluster of fake nodes in virtual time, with what it needs to run Jobs, and a log of all that happens.
type lab struct {
	*simulation.Simulation
	start  time.Time
	log    record.Log
	faulty error // the first that a controller met
}

// newLab returns a lab whose nodes are ready.
func newLab(ctx context.Context, s setting) (*lab, error) {
	set, err := stage.Compile(stage.Options{}, presets.NodeFast(), s.stages)
	if err != nil {
		return nil, err
	}
	l := &lab{}
	recorder := record.New(record.Options{Seed: s.seed, Sink: l.log.Append, States: map[schema.GroupKind]func(*unstructured.Unstructured) string{
		wrapperKind.GroupKind(): mcad.StateOf,
	}})
	l.Simulation, err = simulation.New(set, simulation.Options{
		Seed: s.seed, Kinds: mcad.Kinds(), Plays: controllers.Bound, Trace: recorder.Trace,
		Controllers: append([]reconcile.Controller{gathering(controllers.Jobs(), batch), controllers.Scheduler("")}, s.more...),
		Reconcile:   reconcile.Options{MinInterval: s.rest, Trace: l.note},
	})
	if err != nil {
		return nil, err
	}
	if err := recorder.Follow(l, nodeKind, podKind, jobKind, wrapperKind); err != nil {
		return nil, err
	}
	for i := range s.nodes {
		if err := l.create(ctx, "node", i+1); err != nil {
			return nil, err
		}
	}
	l.start = l.Now()
	return l, l.Advance(ctx, 0)
}

// note keeps the first error of a controller: in a study nothing should fail.
func (l *lab) note(e reconcile.TraceEvent) {
	if e.Err != nil && l.faulty == nil {
		l.faulty = fmt.Errorf("%s", e)
	}
}

// complete counts the Jobs that are complete, as kubectl get jobs would.
func (l *lab) complete(ctx context.Context) (n int, err error) {
	list, err := l.Cluster().Shared().List(ctx, jobKind, "", metav1.ListOptions{})
	if err != nil {
		return 0, err
	}
	for _, job := range list.Items {
		if record.StateOf(&job) == record.Complete {
			n++
		}
	}
	return n, nil
}

// step does what is next and keeps the clock. It is false if nothing is left to do.
func (l *lab) step(ctx context.Context, c *clock, name string) (bool, error) {
	before := l.Now()
	went, err := l.Step(ctx)
	c.steps++
	c.virtual += l.Now().Sub(before)
	if now := time.Now(); c.steps%64 == 0 && c.progress.due(now) {
		c.progress.show(now, fmt.Sprintf("%s: %s, %d transitions", name, l.Now().Sub(l.start).Round(time.Second), len(l.log)))
	}
	if err == nil {
		err = l.faulty
	}
	return went, err
}

// gathering has a controller look at an object only some time after its Pods have changed, and at a new object at once.
func gathering(c reconcile.Controller, d time.Duration) reconcile.Controller {
	due, look := map[string]time.Time{}, c.Reconcile
	c.Reconcile = func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
		obj, name := r.Cache.Get(c.For, r.Name), r.Name.String()
		if obj == nil || record.StateOf(obj) == record.Pending {
			delete(due, name)
			return look(ctx, r)
		}
		if due[name].IsZero() {
			due[name] = r.Now.Add(d)
		}
		if wait := due[name].Sub(r.Now); wait > 0 {
			return reconcile.Result{After: wait}, nil
		}
		delete(due, name)
		return look(ctx, r)
	}
	return c
}
