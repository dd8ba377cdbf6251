package main

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/examples/simulator/mcad"
	"github.com/stagecraft-go/stagecraft/examples/simulator/report"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/batch"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/features"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/scheduling"
	"github.com/stagecraft-go/stagecraft/stage/lab/record"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

var (
	podKind     = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	nodeKind    = schema.GroupVersionKind{Version: "v1", Kind: "Node"}
	jobKind     = schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}
	wrapperKind = mcad.Kinds()[0].GroupVersionKind
)

//go:embed stages.yaml
var stagesYAML []byte

// studyStages are the Stages of Pods in the study.
func studyStages() stage.Source { return stage.Parse("stages.yaml", stagesYAML) }

// A labOptions describes a lab.
type labOptions struct {
	name        string // of the run
	seed        uint64
	nodes       int
	stages      stage.Source
	controllers []reconcile.Controller
	timing      *simulation.Timing // how long things take; nil for no time
	goal        goal
}

// A goal is the end of a run: a number of objects of a kind, as named in records, in a state.
type goal struct {
	kind, state string
	count       int
}

// A lab is a cluster of fake nodes in virtual time, with the controllers that run Jobs, and a log
// of everything that happens.
type lab struct {
	*simulation.Simulation
	labOptions
	start      time.Time
	log        record.Log
	reached    int   // objects that have reached the goal
	firstError error // of a controller
	features   *features.Report
}

// newLab returns a lab whose nodes are ready.
func newLab(ctx context.Context, s labOptions) (*lab, error) {
	set, err := stage.Compile(stage.Options{}, presets.NodeFast(), s.stages)
	if err != nil {
		return nil, err
	}
	l, running := &lab{labOptions: s}, append([]reconcile.Controller{batch.Jobs(), scheduling.Scheduler(scheduling.Options{})}, s.controllers...)
	recorder := record.New(record.Options{Seed: s.seed, Sink: l.sink, States: map[schema.GroupKind]func(*unstructured.Unstructured) string{
		wrapperKind.GroupKind(): mcad.StateOf,
	}})
	l.Simulation, err = simulation.New(set, simulation.Options{
		Seed: s.seed, Kinds: mcad.Kinds(), Filter: controllers.Bound, Trace: recorder.Trace,
		Controllers: running,
		Reconcile:   reconcile.Options{Trace: l.keepError},
		Timing:      s.timing,
	})
	if err != nil {
		return nil, err
	}
	if err := l.observeFeatures(set, running); err != nil {
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

// sink adds a record to the log.
func (l *lab) sink(r record.Record) error {
	if r.Kind == l.goal.kind && r.To == l.goal.state && r.From != r.To {
		l.reached++
	}
	return l.log.Append(r)
}

// clusterLike is how long things take on the cluster of the study: kube-controller-manager and
// kube-scheduler ran without flags.
func clusterLike(seed uint64) *simulation.Timing {
	t := simulation.ClusterLike()
	t.Seed = seed
	return t
}

// timingParameters are the numbers of a timing, for a report. It leaves out controllers of
// Kubernetes that labs do not run.
func timingParameters(t *simulation.Timing) (list []report.Parameter) {
	all := simulation.ClusterLike().Controllers
	for _, p := range t.Parameters() {
		name, is := strings.CutPrefix(p.Name, "controller ")
		if _, known := all[name]; is && known && name != "job" && name != "scheduler" {
			continue
		}
		list = append(list, report.Parameter(p))
	}
	return list
}

// keepError keeps the first error of a controller. In a study no controller should fail, except for
// a controller that has not seen the newest state of an object and tries again.
func (l *lab) keepError(e reconcile.TraceEvent) {
	if e.Err != nil && l.firstError == nil && !apierrors.IsConflict(e.Err) {
		l.firstError = fmt.Errorf("%s", e)
	}
}

// play runs the simulation until nothing more will happen, or until returns true.
func (l *lab) play(ctx context.Context, c *studyClock, until func() bool) error {
	for !until() {
		before := l.Now()
		went, err := l.Step(ctx)
		c.countStep(l, l.Now().Sub(before))
		if err == nil {
			err = l.firstError
		}
		if err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
		if !went {
			break
		}
	}
	if missing := l.goal.count - l.reached; missing > 0 {
		return fmt.Errorf("%s: nothing is left to happen, and %d of %d are not %s", l.name, missing, l.goal.count, l.goal.state)
	}
	return nil
}

// never is an until for play.
func never() bool { return false }
