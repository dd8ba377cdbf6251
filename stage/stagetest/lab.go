package stagetest

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/kstatus/kstatustest"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

// T is what a [Lab] needs of a *testing.T; Ginkgo's GinkgoT() is one too.
type T = kstatustest.T

// LabOptions of [New]. The zero value is the default.
type LabOptions struct {
	// Seed decides all draws, uids and generated names.
	Seed uint64
	// Start is the time at which the lab begins. Default 2006-01-02T15:04:05Z.
	Start time.Time
	// Nodes is how many nodes there are, each for 110 Pods with 32 CPUs and 256Gi of memory. Default 3; -1: none.
	Nodes int
	// Stages play nodes, Pods and whatever they are for. Default: presets NodeFast and PodFast.
	Stages []stage.Source
	// Compile is how the Stages are compiled.
	Compile stage.Options
	// Controllers run beside the Stages. Default: Controllers().
	Controllers []reconcile.Controller
	// Kinds are kinds beside those that memory knows. CustomResourceDefinitions can be applied instead, unless there are Stages or controllers
	// for their kinds: then they belong into Definitions.
	Kinds       []memory.Kind
	Definitions []*unstructured.Unstructured
	// Failures happen by chance.
	Failures []Failure
	// Patience is how much virtual time Settle and WaitCurrent let pass at most. Default 1h.
	Patience time.Duration
	// Follow lets time pass for what uses the cluster from other goroutines, such as informers: it is called before the lab looks what is next,
	// and when its time goes on, by how much. Default: nobody follows. In a testing/synctest bubble, with Start: time.Now(), it is
	//
	//	func(d time.Duration) { time.Sleep(d); synctest.Wait() }
	Follow func(time.Duration)
}

// A Lab is a cluster in memory with nodes on which, in virtual time, workload controllers, a scheduler and Stages do what they do on a real one. What
// goes wrong with it fails its test. It must not be used from several goroutines at once; its cluster may be, see LabOptions.Follow.
type Lab struct {
	t       T
	options LabOptions
	sim     *simulation.Simulation
	applied []reference
	held    map[reference]types.UID // objects that were driven somewhere, which nobody else may change
	decided map[types.UID]bool      // whether a failure happens to them
	fates   map[place]int           // how often that was decided for a place
	streaks map[types.UID]streak    // of failures, by the uid of the owner
	wrong   []error
}

// New returns a lab with its nodes, which are ready, the namespace default, and a default StorageClass by which claims are bound at once.
// Stages with faults fail the test.
func New(t T, o LabOptions) *Lab {
	t.Helper()
	if o.Patience == 0 {
		o.Patience = time.Hour
	}
	if o.Nodes == 0 {
		o.Nodes = 3
	}
	if o.Stages == nil {
		o.Stages = []stage.Source{presets.NodeFast(), presets.PodFast()}
	}
	if o.Controllers == nil {
		o.Controllers = Controllers()
	}
	l := &Lab{t: t, options: o, held: map[reference]types.UID{}, decided: map[types.UID]bool{}, fates: map[place]int{}, streaks: map[types.UID]streak{}}
	l.must(l.begin())
	return l
}

func (l *Lab) begin() error {
	set, err := stage.Compile(l.options.Compile, l.options.Stages...)
	if err != nil {
		return err
	}
	l.sim, err = simulation.New(set, simulation.Options{
		Seed: l.options.Seed, Start: l.options.Start, Kinds: l.options.Kinds, Definitions: l.options.Definitions,
		Filter: l.plays, Trace: l.traced, Controllers: l.restrained(), Reconcile: reconcile.Options{Trace: l.reconciled},
	})
	if err != nil {
		return err
	}
	if err := l.expectFailures(); err != nil {
		return err
	}
	if err := l.furnish(); err != nil {
		return err
	}
	return l.sim.Advance(context.Background(), 0)
}

// furnish makes what is in a cluster before its users come.
func (l *Lab) furnish() error {
	objs := []string{namespace, storageClass}
	for i := range l.options.Nodes {
		objs = append(objs, fmt.Sprintf(node, i+1))
	}
	for _, text := range objs {
		if err := l.sim.Cluster().Load(context.Background(), []byte(text)); err != nil {
			return err
		}
	}
	return nil
}

const (
	namespace    = `{apiVersion: v1, kind: Namespace, metadata: {name: default}}`
	storageClass = `{apiVersion: storage.k8s.io/v1, kind: StorageClass, provisioner: stagetest, volumeBindingMode: Immediate, reclaimPolicy: Delete,
  metadata: {name: standard, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}}`
	node = `{apiVersion: v1, kind: Node, metadata: {name: node-%d}, status: {
  allocatable: {cpu: "32", memory: 256Gi, ephemeral-storage: 1Ti, pods: "110"}, capacity: {cpu: "32", memory: 256Gi, ephemeral-storage: 1Ti, pods: "110"}}}`
)

// Cluster returns the API server of the lab: give it to what is tested.
func (l *Lab) Cluster() *memory.Cluster { return l.sim.Cluster() }

// Simulation returns what drives the lab, for functions that are called at a time or on an event.
func (l *Lab) Simulation() *simulation.Simulation { return l.sim }

// Now returns the virtual time.
func (l *Lab) Now() time.Time { return l.sim.Now() }

func (l *Lab) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatalf("stagetest: %v", err)
	}
}

// A fault is an error of a Stage or a controller, told with what it was about.
type fault struct {
	text string
	err  error
}

func (f fault) Error() string { return f.text }

func (f fault) Unwrap() error { return f.err }

func (l *Lab) traced(e stage.TraceEvent) {
	if e.Err != nil {
		l.wrong = append(l.wrong, fault{e.String(), e.Err})
	}
}

// reconciled keeps the errors of controllers that will not be gone with the next try.
func (l *Lab) reconciled(e reconcile.TraceEvent) {
	if e.Err != nil && !apierrors.IsConflict(e.Err) {
		l.wrong = append(l.wrong, fault{e.String(), e.Err})
	}
}
