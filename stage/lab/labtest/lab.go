package labtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/kstatus/kstatustest"
	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/backup"
	"github.com/stagecraft-go/stagecraft/stage/lab/containers"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/admission"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/autoscaling"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/features"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers/kubelet"
	"github.com/stagecraft-go/stagecraft/stage/lab/defaults"
	"github.com/stagecraft-go/stagecraft/stage/lab/definitions"
	"github.com/stagecraft-go/stagecraft/stage/lab/validation"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

// T is the part of a *testing.T that a [Lab] needs. Ginkgo's GinkgoT() also implements it.
type T = kstatustest.T

// Options of [New]. The zero value is the default.
type Options struct {
	// Seed decides all draws, uids and generated names.
	Seed uint64
	// Start is the virtual time at which the lab begins. Default 2006-01-02T15:04:05Z. A program that
	// reads the real clock needs time.Now(), see Lab.RealClock.
	Start time.Time
	// Nodes is the number of nodes, each for 110 Pods with 32 CPUs and 256Gi of memory. Default 3;
	// -1: no nodes. All nodes are in one zone. A test that needs several zones applies its own
	// Nodes with labels, or applies node-1 and further nodes again. A Node that a test creates gets
	// the labels that a kubelet sets (hostname, os and arch), unless it has them or OnlyStages is
	// set.
	Nodes int
	// Stages are played in addition to preset NodeFast. If they are for Pods, they replace the
	// kubelets, and PodFast is played as well. For Pods or Nodes you nearly always want OnlyStages.
	Stages []stage.Source
	// OnlyStages leaves NodeFast, PodFast and the kubelets out: the Stages have to play Nodes and Pods themselves.
	OnlyStages bool
	// Compile are the options with which the Stages are compiled.
	Compile stage.Options
	// Controllers run in addition to those of the function Controllers.
	Controllers []reconcile.Controller
	// Operator returns the controllers under test, which need the cluster: for example reconcilers
	// with a client of it. The lab calls it once, before anything happens, and each lab of a Base
	// calls it again. The controllers run in addition to those of Controllers.
	Operator func(*memory.Cluster) []reconcile.Controller
	// OnlyControllers leaves out the controllers of the function Controllers.
	OnlyControllers bool
	// Kinds are kinds in addition to the kinds of package memory. CustomResourceDefinitions can be
	// applied instead, unless Stages or controllers are for their kinds: then put them into
	// Definitions.
	Kinds       []memory.Kind
	Definitions []*unstructured.Unstructured
	// Backup is the state from which the cluster goes on, for example that of a real cluster. Then the lab
	// makes no namespaces and no StorageClass. Nodes are in addition to the Nodes of the Backup, by default none,
	// and Start is by default the time of the Backup.
	Backup *backup.Backup
	// Objects are in the cluster before the controllers start, such as the namespaces and
	// configuration that an operator finds: manifests as for Apply. WaitCurrent does not wait for
	// them. The users of a hunt neither delete nor change them.
	Objects []any
	// Kubelets are the options of the kubelets that do what Pods say, see package kubelet.
	Kubelets kubelet.Options
	// Containers say what containers print, answer and use, for [Lab.Logs] and [Lab.Exec], for
	// HorizontalPodAutoscalers, and for the clients of a server of package stage/lab/apiserver. See
	// package stage/lab/containers. Functions of a server's requests run in other goroutines.
	Containers containers.Options
	// NoEvents turns off the Events that controllers and kubelets record as on a cluster.
	NoEvents bool
	// Timing is how long things take. Nil: only what Pods and Stages say takes time. See
	// simulation.ClusterLike. Requests that are under way end with the test, if T has a method
	// Cleanup; otherwise call Close of Lab.Simulation.
	Timing *simulation.Timing
	// GarbageCollection is how long garbage collection takes. Nil: no time; it happens with the
	// write that causes it.
	GarbageCollection *simulation.GarbageCollection
	// Metrics are the metrics that HorizontalPodAutoscalers use. Default
	// autoscaling.FromAnnotations, and Containers.Usage for CPU and memory of Pods without annotations.
	Metrics autoscaling.Metrics
	// Failures make random objects fail.
	Failures []Failure
	// Lenient has Apply accept fields that a kind does not have, and log them, as
	// kubectl apply --validate=warn does.
	Lenient bool
	// Convert converts objects between the versions of definitions whose strategy is Webhook, since
	// no webhook is called without a server. Default: such definitions are refused.
	Convert definitions.Converter
	// Strict fails the test at its end if objects asked for features that are not modelled, see
	// [Lab.NotModelled]. Default: these features are logged.
	Strict bool
	// Quiet turns off the search for such features: [Lab.NotModelled] returns nil.
	Quiet bool
	// Timeout is the most virtual time that Settle and WaitCurrent let pass. Default 1h.
	Timeout time.Duration
	// Sync lets other goroutines that use the cluster, such as informers, react. It is called
	// before the lab looks for what is due next, with 0, and when virtual time passes, with the
	// duration, which is at most a second: then the lab looks at what they did meanwhile. Default: nothing. In a testing/synctest bubble, with Start: time.Now(), it is
	//
	//	func(d time.Duration) { time.Sleep(d); synctest.Wait() }
	Sync func(time.Duration)
}

// A Lab is a cluster in memory with nodes. Workload controllers, a scheduler and Stages run on it
// in virtual time, and behave as on a real cluster. Errors fail the test. A Lab must not be used
// from several goroutines at once; its cluster may be, see Options.Sync.
type Lab struct {
	t         T
	options   Options
	base      *Base // nil: none
	set       *stage.Set
	schemas   *definitions.Index
	sim       *simulation.Simulation
	features  *features.Report
	dropping  sync.Mutex                   // guards dropped and realClock
	dropped   []*unstructured.Unstructured // objects with fields that the API server drops
	realClock string                       // see RealClock
	applied   []reference
	held      map[reference]types.UID // objects that Drive holds in a state
	decided   map[types.UID]bool      // whether it was decided if a failure happens to them
	occupants map[objectSlot]int      // how many objects have been in a slot
	failed    map[int]int             // how many objects failed, by the place in Options.Failures
	streaks   map[types.UID]int       // how many objects failed at streakAt, by the uid of the owner
	streakAt  time.Time
	begun     bool    // the objects that the lab makes exist
	errors    []error // of Stages and controllers, the latest
	reported  int     // how many of them messages have had

	usageErrors map[string]bool // texts that are kept in errors
	livelock    error           // the first one
	twice       error           // a controller of Options.Operator is also a default
}

// New returns a lab with these objects:
//
//   - ready nodes with the labels that a kubelet and a cloud provider set
//   - the namespaces default, kube-system, kube-public and kube-node-lease. As on a cluster, each
//     namespace has the ServiceAccount default and the ConfigMap kube-root-ca.crt, unless
//     Options.OnlyControllers is set
//   - a default StorageClass that binds claims at once
//
// The lab refuses objects in namespaces that do not exist, and workloads without a Pod template or
// with a selector that does not match it. Stages with faults fail the test.
func New(t T, o Options) *Lab {
	t.Helper()
	return newLab(t, o, nil)
}

func newLab(t T, o Options, base *Base) *Lab {
	t.Helper()
	if o.Timeout == 0 {
		o.Timeout = time.Hour
	}
	switch {
	case o.Backup != nil && o.Start.IsZero():
		o.Start = o.Backup.Time
	case o.Backup == nil && o.Nodes == 0:
		o.Nodes = 3
	}
	if !o.OnlyStages && base == nil {
		o.Stages = append([]stage.Source{presets.NodeFast(), presets.PodFast()}, o.Stages...)
	}
	l := &Lab{t: t, options: o, base: base, held: map[reference]types.UID{}, decided: map[types.UID]bool{}, occupants: map[objectSlot]int{}, failed: map[int]int{}, streaks: map[types.UID]int{}, usageErrors: map[string]bool{}}
	l.must(l.addDefaultControllers())
	l.must(l.start())
	return l
}

func (l *Lab) start() error {
	if err := l.simulate(); err != nil {
		return err
	}
	if t, ok := l.t.(interface{ Cleanup(func()) }); ok {
		t.Cleanup(l.sim.Close)
	}
	if err := l.reportFeatures(); err != nil {
		return err
	}
	if err := l.expectFailures(); err != nil {
		return err
	}
	if l.base == nil {
		if err := l.createInitialObjects(); err != nil {
			return err
		}
	}
	l.begun = true
	return l.sim.Advance(context.Background(), 0)
}

// simulate compiles the Stages and makes the simulation.
func (l *Lab) simulate() (err error) {
	var from *memory.Cluster
	l.schemas = definitions.New(definitions.Options{Convert: l.options.Convert, Metadata: validation.Metadata})
	if l.base != nil {
		l.set, from, l.schemas = l.base.set.WithEnv(l.options.Compile.Env), l.base.cluster, l.base.schemas
	} else if l.set, err = stage.Compile(l.options.Compile, l.options.Stages...); err != nil {
		return l.explainDefaults(err)
	} else if from, err = l.restored(); err != nil {
		return err
	}
	l.sim, err = simulation.New(l.set, simulation.Options{
		Seed: l.options.Seed, Start: l.options.Start, Kinds: l.options.Kinds, Definitions: l.options.Definitions, From: from,
		Strict: true, Hooks: l.hooks(),
		Filter: l.isPlayed, Kubelet: l.kubelet(), Trace: l.traceStage, Controllers: l.exceptHeld(l.options.Controllers), Operator: l.operator, Timing: l.options.Timing, GarbageCollection: l.options.GarbageCollection,
		Reconcile: reconcile.Options{Trace: l.traceReconcile, Events: !l.options.NoEvents},
	})
	return errors.Join(err, l.twice)
}

func (l *Lab) hooks() []memory.Hooks {
	all := []memory.Hooks{defaults.Hooks(), l.schemas.Hooks(), definitions.Check(), validation.Hooks(), admission.Plugins(), l.admission(), containers.Hooks(l.containers())}
	if l.options.Quiet {
		return all
	}
	return append(all, memory.Hooks{Name: "clock", Validate: l.checkClock})
}

// operator returns the controllers under test.
func (l *Lab) operator(c *memory.Cluster) []reconcile.Controller {
	if l.options.Operator == nil {
		return nil
	}
	own := l.options.Operator(c)
	l.twice = runTwice(l.options.Controllers, own)
	l.options.Controllers = append(l.options.Controllers, own...)
	return l.exceptHeld(own)
}

// explainDefaults adds to the faults of Stages that some of them are the defaults.
func (l *Lab) explainDefaults(err error) error {
	if l.options.OnlyStages {
		return err
	}
	return fmt.Errorf("%w\n(Options.Stages are played together with presets NodeFast and PodFast, unless OnlyStages is set)", err)
}

// addDefaultControllers adds the default controllers. It refuses a controller of the options that
// is also a default.
func (l *Lab) addDefaultControllers() error {
	if l.options.OnlyControllers {
		return nil
	}
	defaults := append(defaultControllers(controllers.Options{Autoscaling: autoscaling.Options{Metrics: l.metrics()}}), l.podKubelets()...)
	if err := runTwice(defaults, l.options.Controllers); err != nil {
		return err
	}
	l.options.Controllers = append(defaults, l.options.Controllers...)
	return nil
}

// runTwice returns an error if some of the controllers under test have the name of another one.
func runTwice(others, own []reconcile.Controller) error {
	var faults []error
	for _, c := range own {
		if slices.ContainsFunc(others, func(o reconcile.Controller) bool { return o.Name == c.Name }) {
			faults = append(faults, fmt.Errorf("controller %q would run twice: the controllers of the options run together with labtest.Controllers(), unless OnlyControllers is set", c.Name))
		}
	}
	return errors.Join(faults...)
}

// newNodes returns the Nodes of the options, with names that no Node of a Backup has.
func (l *Lab) newNodes() (manifests []string) {
	taken := map[string]bool{}
	if l.options.Backup != nil {
		for _, obj := range l.options.Backup.Objects {
			taken[obj.GetName()] = taken[obj.GetName()] || obj.GetKind() == "Node"
		}
	}
	for n := 1; len(manifests) < l.options.Nodes; n++ {
		if !taken[fmt.Sprint("node-", n)] {
			manifests = append(manifests, fmt.Sprintf(node, n))
		}
	}
	return manifests
}

// createInitialObjects creates the namespaces and the StorageClass, unless a Backup has its own, and
// the nodes and Options.Objects.
func (l *Lab) createInitialObjects() error {
	var objs []string
	if l.options.Backup == nil {
		objs = append(objs, bornWith...)
	}
	objs = append(objs, l.newNodes()...)
	for _, text := range objs {
		if err := l.sim.Cluster().Load(context.Background(), []byte(text)); err != nil {
			return err
		}
	}
	defer func() { l.applied = nil }()
	if err := l.applyAll(l.options.Objects); err != nil {
		return fmt.Errorf("Options.Objects: %w", err)
	}
	return nil
}

// bornWith are the objects of a cluster without a Backup.
var bornWith = []string{
	`{apiVersion: v1, kind: Namespace, metadata: {name: default}}`,
	`{apiVersion: v1, kind: Namespace, metadata: {name: kube-system}}`,
	`{apiVersion: v1, kind: Namespace, metadata: {name: kube-public}}`,
	`{apiVersion: v1, kind: Namespace, metadata: {name: kube-node-lease}}`,
	`{apiVersion: storage.k8s.io/v1, kind: StorageClass, provisioner: stagetest, volumeBindingMode: Immediate, reclaimPolicy: Delete,
  metadata: {name: standard, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}}`,
}

const node = `{apiVersion: v1, kind: Node, metadata: {name: node-%d, labels: {
  node.kubernetes.io/instance-type: lab, topology.kubernetes.io/region: lab, topology.kubernetes.io/zone: lab-a}}, status: {
  allocatable: {cpu: "32", memory: 256Gi, ephemeral-storage: 1Ti, pods: "110"}, capacity: {cpu: "32", memory: 256Gi, ephemeral-storage: 1Ti, pods: "110"}}}`

// Cluster returns the API server of the lab, for the code under test.
func (l *Lab) Cluster() *memory.Cluster { return l.sim.Cluster() }

// Simulation returns the simulation of the lab, for example to call functions at a time or on an
// event.
func (l *Lab) Simulation() *simulation.Simulation { return l.sim }

// Now returns the virtual time.
func (l *Lab) Now() time.Time { return l.sim.Now() }

func (l *Lab) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatalf("labtest: %v", err)
	}
}

// A tracedError is an error of a Stage or a controller, with a text that names the object.
type tracedError struct {
	text string
	err  error
}

func (f tracedError) Error() string { return f.text }

func (f tracedError) Unwrap() error { return f.err }

func (l *Lab) traceStage(e stage.TraceEvent) {
	if e.Err != nil {
		l.keepError(tracedError{e.String(), e.Err})
	}
}

// traceReconcile keeps the errors of controllers, except conflicts, which the next try resolves.
func (l *Lab) traceReconcile(e reconcile.TraceEvent) {
	if e.Err != nil && !apierrors.IsConflict(e.Err) {
		l.keepError(tracedError{e.String(), e.Err})
	}
}
