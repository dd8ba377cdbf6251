package hunt

import (
	"cmp"
	"runtime"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

// Options of [Test], [Fuzz], [Search] and [Play]. The zero value is the default.
type Options struct {
	// Seed decides which faults are drawn, and is the seed of the runs.
	Seed uint64
	// Runs is how many runs a search makes at most, twins and shrinking not counted. Default 500;
	// with -short, 100. The flag -hunt.runs has precedence.
	Runs int
	// Time is the real time after which a search ends, though not before its first 32 runs. Default:
	// none. The flag -hunt.time has precedence.
	Time time.Duration
	// Workers is how many runs are made at the same time. Default: GOMAXPROCS.
	Workers int
	// Patience is the virtual time that a run has to come to rest after the last fault. A key that
	// fails is tried again after a quarter of it at the latest. Default 5m.
	Patience time.Duration
	// Lab are the options of the labs. Seed, NoEvents and Quiet are set by the hunt: what is not
	// modelled is in the Report. The default of
	// GarbageCollection is a delay of 1s, and 50ms between two steps.
	Lab labtest.Options
	// Controllers returns controllers that run in each lab in addition to those of Lab, without faults. They
	// may keep a state, so each lab has its own: Lab.Controllers are refused.
	Controllers func() []reconcile.Controller
	// OwnWrites promises the controllers that they see their own writes at once, unless they start
	// again or a view lags.
	OwnWrites bool
	// TimeTravel has the views of some processes begin at an earlier state after a crash, as those
	// of API servers that are behind do.
	TimeTravel bool
	// Keeps are kinds whose objects may stay when the users have deleted what they applied, in addition to
	// claims and volumes.
	Keeps []schema.GroupVersionKind
	// Precious are kinds whose objects must not be made or deleted more often by the processes than
	// in the twin. Default: Pods, claims and Jobs.
	Precious []schema.GroupVersionKind
	// Ignore are names of fields, at any depth, that are not compared between a run and its twin, in
	// addition to what a [State] leaves out.
	Ignore []string
	// Known are findings that are not reported, by check and kind as they are printed, such as "the
	// same end (Deployment)": of a bug that is not fixed yet.
	Known []string
	// Corpus is the directory whose plans Test plays first, and into which it writes what it finds.
	// Default testdata/hunt and the name of the test.
	Corpus string

	watchCaches bool // look if controllers change what is in their caches
}

func (o Options) withDefaults() Options {
	o.Runs = cmp.Or(o.Runs, 500)
	o.Workers = cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	o.Patience = cmp.Or(o.Patience, 5*time.Minute)
	if o.Lab.GarbageCollection == nil {
		o.Lab.GarbageCollection = &simulation.GarbageCollection{Delay: time.Second, Each: 50 * time.Millisecond}
	}
	if o.Precious == nil {
		o.Precious = []schema.GroupVersionKind{{Version: "v1", Kind: "Pod"}, {Version: "v1", Kind: "PersistentVolumeClaim"}, {Group: "batch", Version: "v1", Kind: "Job"}}
	}
	return o
}

func (o Options) precious(kind string) bool { return hasKind(o.Precious, kind) }

func (o Options) keeps(kind string) bool {
	return kind == "PersistentVolumeClaim" || kind == "PersistentVolume" || hasKind(o.Keeps, kind)
}

func hasKind(kinds []schema.GroupVersionKind, kind string) bool {
	return slices.ContainsFunc(kinds, func(k schema.GroupVersionKind) bool { return k.Kind == kind })
}

// Play carries out one run with the faults of a plan, and its twin. The error is that of a scenario
// that cannot be set up.
func Play(o Options, scenario func(*Run), plan Plan) (*Outcome, error) {
	h, err := newSearch(o, scenario, plan.Seed)
	if err != nil {
		return nil, err
	}
	return h.play(plan)
}
