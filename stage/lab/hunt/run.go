package hunt

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

// A Run is one life of a cluster. A scenario says what is in it. It must not be used from several
// goroutines at once, nor after the scenario has returned, except by the functions given to it.
type Run struct {
	options   Options
	plan      Plan
	informers informers
	lab       *labtest.Lab
	sim       *simulation.Simulation
	shared    *memory.Cluster
	start     time.Time
	programs  []*program
	steps     []step
	applied   []*unstructured.Unstructured
	finally   []condition
	always    []condition
	faults    map[Site][]*planned
	users     []pendingAction                    // what users do and could not do yet
	touched   []*unstructured.Unstructured       // as they were when the user touched them
	keys      map[string]schema.GroupVersionKind // what process/controller reconciles
	served    map[string]bool                    // process/controller that has reconciled something
	logs      map[schema.GroupVersionKind]*eventLog
	logged    []schema.GroupVersionKind // the kinds of logs, sorted
	outcome   *Outcome
	counts    map[Site]int                    // sites so far, by the site without its number
	deleted   map[schema.GroupVersionKind]int // objects that users have deleted
	violated  map[string]bool                 // checks of always that have failed
	acted     []Fault                         // what users have done because of the plan, for the twin
	manual    bool                            // the users take their steps when told so
	judged    bool                            // users do no more harm
	deleting  bool                            // the users delete what they applied
	writes    []write
	other     *Outcome           // the twin without kills: what is deleted soon may be made again
	disturbed time.Time          // when the last fault ended
	initial   map[types.UID]bool // what was there before the scenario, of the kinds of a new lab
	given     map[string]bool    // objects that were there before the scenario, by name
	meter     meter
}

// A program is a process by its name, whichever life it is in.
type program struct {
	name     string
	subject  string // what its replicas have in common: their name without the number
	start    func(*Process) []reconcile.Controller
	life     *Process // nil while it is down
	lives    int
	up       time.Time // when it starts again
	back     int       // how many events earlier its views begin then
	election *election // nil: it needs no lease
	paused   bool
	hangs    bool          // it waits for an answer, and renews its lease
	skew     time.Duration // of its machine's clock, until skewed
	skewed   time.Time
}

// A planned fault strikes at its site, or has.
type planned struct {
	Fault
	struck bool
}

type step struct {
	at   time.Time
	name string
	do   func(*User) error
	done bool
}

type condition struct {
	name string
	do   func(*View) error
}

// Process adds a program with its controllers, which share what they have seen and die together. The
// function is called when it starts, and again after each crash: what the controllers remember must
// be made there, and the process is the client that they use. Names are those of sites: a second
// process of the same name, or a second controller of the same name in a process, ends the hunt with an
// error.
func (r *Run) Process(name string, start func(*Process) []reconcile.Controller) {
	r.add(&program{name: name, subject: name, start: start, up: r.start})
}

func (r *Run) add(p *program) {
	if slices.ContainsFunc(r.programs, func(other *program) bool { return other.name == p.name }) {
		panic(labFailure{fmt.Sprintf("two processes are named %s: give each a name of its own", p.name)})
	}
	r.programs = append(r.programs, p)
}

// subjectOf returns what the replicas of a process have in common.
func (r *Run) subjectOf(process string) string {
	for _, p := range r.programs {
		if p.name == process {
			return p.subject
		}
	}
	return process
}

// Cluster returns the API server, for example to extend it with hooks that stand for webhooks. What
// the scenario writes to it itself, no user has written.
func (r *Run) Cluster() *memory.Cluster { return r.sim.Cluster() }

// Apply has users apply objects before the processes start, as [labtest.Lab.Apply] does. They are
// what the users delete at the end, except for the Namespaces that no API server deletes: default,
// kube-system and kube-public.
func (r *Run) Apply(manifests ...any) {
	u := &User{r}
	if err := u.Apply(manifests...); err != nil {
		panic(labFailure{fmt.Sprintf("Apply: %v", err)})
	}
}

// At has users do something after a time, which should be long enough for all before to be at rest:
// faults have it come sooner. An error AlreadyExists, NotFound or Conflict has them try it again
// each second, for a minute.
func (r *Run) At(after time.Duration, name string, do func(*User) error) {
	r.steps = append(r.steps, step{at: r.start.Add(after), name: name, do: do})
}

// Eventually checks what must hold at the end, when all is at rest and before the users delete what
// they applied.
func (r *Run) Eventually(name string, check func(*View) error) {
	r.finally = append(r.finally, condition{name, check})
}

// Always checks what must hold after each write of a process, and after each moment in which
// something happens, until the end.
func (r *Run) Always(name string, check func(*View) error) {
	r.always = append(r.always, condition{name, check})
}

// A View is the cluster as it is, for checks.
type View struct{ run *Run }

// Now returns the virtual time.
func (v *View) Now() time.Time { return v.run.sim.Now() }

// Get returns an object by namespace/name, nil if it is not there. It must not be changed.
func (v *View) Get(kind schema.GroupVersionKind, key string) *unstructured.Unstructured {
	name, _ := parseKey(key)
	obj, err := v.run.shared.Get(context.Background(), kind, name)
	if err != nil {
		return nil
	}
	return obj
}

// Deleted returns how many objects of a kind users have deleted so far.
func (v *View) Deleted(kind schema.GroupVersionKind) int { return v.run.deleted[kind] }

// List returns the objects of a kind in a namespace, or in all if that is "", by namespace and name.
// They must not be changed.
func (v *View) List(kind schema.GroupVersionKind, namespace string) []*unstructured.Unstructured {
	return v.run.list(kind, namespace)
}

func (r *Run) list(kind schema.GroupVersionKind, namespace string) []*unstructured.Unstructured {
	found, err := r.shared.List(context.Background(), kind, namespace, metav1.ListOptions{})
	if err != nil {
		return nil
	}
	all := make([]*unstructured.Unstructured, len(found.Items))
	for i := range found.Items {
		all[i] = &found.Items[i]
	}
	return all
}

// labFailure is what a lab that fails panics with.
type labFailure struct{ text string }

// failing is the T of a lab.
type failing struct{}

func (failing) Helper() {}

func (failing) Fatalf(format string, args ...any) { panic(labFailure{fmt.Sprintf(format, args...)}) }

// A scene is what runs have in common.
type scene struct {
	options  Options
	known    informers
	scenario func(*Run)
	labs     *labtest.Base // nil: each run makes a lab from the ground up
	given    *objectNames
}

// labOptions are those of the labs of a seed.
func (o Options) labOptions(seed uint64) labtest.Options {
	lab := o.Lab
	lab.Seed, lab.NoEvents = seed, true
	return lab
}

// lab returns a new lab.
func (s *scene) lab(seed uint64) *labtest.Lab {
	var own []reconcile.Controller
	if s.options.Controllers != nil {
		own = s.options.Controllers()
	}
	if s.labs != nil {
		return s.labs.New(failing{}, own...)
	}
	o := s.options.labOptions(seed)
	o.Controllers = own
	return labtest.New(failing{}, o)
}

// newRun returns a run whose scenario was called.
func newRun(s *scene, plan Plan) *Run {
	r := &Run{
		options: s.options, plan: plan, informers: s.known, outcome: &Outcome{Plan: plan},
		faults: map[Site][]*planned{}, logs: map[schema.GroupVersionKind]*eventLog{},
		counts: map[Site]int{}, keys: map[string]schema.GroupVersionKind{}, deleted: map[schema.GroupVersionKind]int{}, violated: map[string]bool{}, served: map[string]bool{},
	}
	r.lab = s.lab(plan.Seed)
	r.sim = r.lab.Simulation()
	r.shared, r.start = r.sim.Cluster().Shared(), r.sim.Now()
	r.initial, r.given = r.present(), s.given.of(r)
	for _, f := range plan.Faults {
		r.expect(&planned{Fault: f})
	}
	s.scenario(r)
	if len(r.programs) == 0 {
		panic(labFailure{"it has no process, so nothing is tried: add one with Run.Process"})
	}
	slices.SortStableFunc(r.steps, func(a, b step) int { return a.at.Compare(b.at) })
	return r
}

// expect has a fault strike at its site, and at the next ones if it refuses several writes.
func (r *Run) expect(f *planned) {
	for i := range max(f.Times, 1) {
		at := f.At
		at.Nth += i
		r.faults[at] = append(r.faults[at], f)
	}
}

// next numbers a site.
func (r *Run) next(s Site) Site {
	s.Nth = 0
	r.counts[s]++
	s.Nth = r.counts[s]
	return s
}

// tell adds a line to the story.
func (r *Run) tell(who, format string, args ...any) {
	r.outcome.Story = append(r.outcome.Story, Line{At: r.sim.Now().Sub(r.start), Who: who, Text: fmt.Sprintf(format, args...)})
}

// strikes tells a fault, which ends after a time.
func (r *Run) strikes(f *planned, lasts time.Duration) {
	f.struck = true
	r.tell(whoFault, "%s", f.Fault)
	if end := r.sim.Now().Add(lasts); end.After(r.disturbed) {
		r.disturbed = end
	}
}

// find adds a finding, once for each check and kind.
func (r *Run) find(check, kind, format string, args ...any) {
	for _, f := range r.outcome.Findings {
		if f.Check == check && f.Kind == kind {
			return
		}
	}
	if slices.Contains(r.options.Known, check+" ("+kind+")") {
		return
	}
	r.outcome.Findings = append(r.outcome.Findings, Finding{Check: check, Kind: kind, Text: fmt.Sprintf(format, args...)})
}

// checkAlways calls the checks of Always, each until it has failed.
func (r *Run) checkAlways() {
	for _, c := range r.always {
		if r.violated[c.name] {
			continue
		}
		if err := c.do(&View{r}); err != nil {
			r.violated[c.name] = true
			r.tell("check", "%s does not hold: %v", c.name, err)
			r.find(checkAlways, c.name, "%s: %v", c.name, err)
		}
	}
}

func nameOf(obj *unstructured.Unstructured) types.NamespacedName {
	return types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// objectNames are the names of the objects with which the labs of a search begin.
type objectNames struct {
	once sync.Once
	is   map[string]bool
}

// of takes the names from the first run.
func (n *objectNames) of(r *Run) map[string]bool {
	n.once.Do(func() {
		n.is = map[string]bool{}
		for obj := range r.shared.All() {
			n.is[nameOfObject(obj)] = true
		}
	})
	return n.is
}

// present returns the objects of the kinds that a lab begins with.
func (r *Run) present() map[types.UID]bool {
	uids := map[types.UID]bool{}
	for _, kind := range []schema.GroupVersionKind{
		{Version: "v1", Kind: "Namespace"}, {Group: "storage.k8s.io", Version: "v1", Kind: "StorageClass"},
		{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"},
	} {
		for _, obj := range r.list(kind, "") {
			uids[obj.GetUID()] = true
		}
	}
	return uids
}
