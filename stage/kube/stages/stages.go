package stages

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stagecraft-go/stagecraft/render"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/player"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
	"github.com/stagecraft-go/stagecraft/stage/transport"
	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

// stageKind is the kind of Stages in a cluster.
var stageKind = schema.GroupVersionKind{Group: v1alpha1.Group, Version: v1alpha1.Version, Kind: v1alpha1.Kind}

// A Player plays Stages. [player.Player] implements it.
type Player interface {
	// Use replaces the present Set. It is called by one goroutine at a time.
	Use(*stage.Set)
}

// Options of [Follow]. The zero value is the default.
type Options struct {
	// Compile is how Stages are compiled. All Sets have the same Env: the Env of these options, or
	// one that is made for them. The default for Allow is the zero [stage.Allow]. It lets Stages
	// change only the objects that they are played on, because a user who may write Stages need not
	// be allowed to do everything.
	Compile stage.Options
	// Trace is called for each version of a Stage that was read, before the version takes effect.
	// The calls are in the order of the names, by one goroutine at a time.
	Trace func(VersionStatus)
	// Failed is called for requests that failed. They are tried again.
	Failed func(error)
}

// A VersionStatus says whether a version of a Stage is accepted and which version is in use.
type VersionStatus struct {
	Stage      string
	Generation int64 // metadata.generation of the version that was looked at
	InUse      int64 // metadata.generation of the version in use; 0 without one
	// Faults of the version. It is good if all are warnings.
	Faults []Fault

	used bool // whether a version is in use
}

// Accepted reports whether the version is good.
func (v VersionStatus) Accepted() bool {
	for _, f := range v.Faults {
		if !f.Warning {
			return false
		}
	}
	return true
}

// Follow keeps the Set of a player equal to the Stages in a cluster, until ctx is done, and returns
// its cause. Failures do not end it.
func Follow(ctx context.Context, cluster transport.Transport, player Player, o Options) error {
	loop := reconcile.Options{RetryAfter: 100 * time.Millisecond, MaxRetryAfter: time.Minute}
	if o.Failed != nil {
		loop.Trace = func(e reconcile.TraceEvent) {
			if e.Err != nil && ctx.Err() == nil {
				o.Failed(e.Err)
			}
		}
	}
	return reconcile.Play(ctx, cluster, reconcile.PlayOptions{Options: loop}, Controller(player, o))
}

// Play plays the Stages in a cluster on that cluster, until ctx is done, and returns its cause.
func Play(ctx context.Context, cluster transport.Transport, p player.Options, o Options) error {
	player := player.New(stage.MustCompile(), cluster, p)
	var both sync.WaitGroup
	both.Go(func() { _ = player.Run(ctx) }) // its error is the error of ctx
	err := Follow(ctx, cluster, player, o)
	both.Wait()
	return err
}

// Controller returns the controller that Follow runs, for loops of package reconcile.
func Controller(player Player, o Options) reconcile.Controller {
	if o.Compile.Env == nil {
		o.Compile.Env = render.NewNetwork(render.NetworkOptions{})
	}
	if o.Compile.Allow == nil {
		o.Compile.Allow = &stage.Allow{}
	}
	l := &library{options: o, player: player, stageRecords: map[string]*stageRecord{}}
	return reconcile.Controller{Name: "stages", For: stageKind, Reconcile: func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
		if err := l.read(r.Cache.List(stageKind, "")); err != nil {
			return reconcile.Result{}, reconcile.Final(err)
		}
		obj := r.Cache.Get(stageKind, r.Name)
		if obj == nil {
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, l.stageRecords[obj.GetName()].tell(ctx, r, obj)
	}}
}

// A library is all Stages of a cluster.
type library struct {
	options      Options
	player       Player
	stageRecords map[string]*stageRecord
	used         []*stage.Source // in the order of their names
}

// A stageRecord is the knowledge about one Stage.
type stageRecord struct {
	obj           *unstructured.Unstructured // the version that was looked at last
	good          *stage.Source              // the version in use, or nil
	versionStatus VersionStatus
	told          bool // whether the status of the Stage already says so
}

// read takes in all Stages, which are in the order of their names, and gives the player another Set
// if that changes anything.
func (l *library) read(objs []*unstructured.Unstructured) error {
	stageRecords := map[string]*stageRecord{}
	var used []*stage.Source
	for _, obj := range objs {
		b := l.look(obj)
		stageRecords[obj.GetName()] = b
		if b.good != nil {
			used = append(used, b.good)
		}
	}
	same := slices.Equal(l.used, used)
	l.stageRecords, l.used = stageRecords, used
	if same {
		return nil
	}
	return l.use()
}

func (l *library) use() error {
	sources := make([]stage.Source, len(l.used))
	for i, good := range l.used {
		sources[i] = *good
	}
	set, err := stage.Compile(l.options.Compile, sources...)
	if err == nil {
		l.player.Use(set)
	}
	return err
}

// look returns the stageRecord of a Stage, with the present version in it.
func (l *library) look(obj *unstructured.Unstructured) *stageRecord {
	old := l.stageRecords[obj.GetName()]
	switch {
	case old == nil || old.obj.GetUID() != obj.GetUID():
		old = &stageRecord{}
	case sameVersion(old.obj, obj):
		return old
	}
	b := &stageRecord{obj: obj, good: old.good, versionStatus: VersionStatus{Stage: obj.GetName(), Generation: obj.GetGeneration(), InUse: old.versionStatus.InUse}}
	faults, good := check(l.options.Compile, obj)
	b.versionStatus.Faults = faults
	if good != nil {
		b.good, b.versionStatus.InUse = good, obj.GetGeneration()
	}
	b.versionStatus.used = b.good != nil
	if l.options.Trace != nil {
		l.options.Trace(b.versionStatus)
	}
	return b
}
