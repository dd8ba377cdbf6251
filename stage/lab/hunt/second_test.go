package hunt_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage/lab/hunt"
	"github.com/stagecraft-go/stagecraft/stage/lab/labtest"
	"github.com/stagecraft-go/stagecraft/stage/memory"
	"github.com/stagecraft-go/stagecraft/stage/reconcile"
)

// A secondMutant is a small controller with one bug, and its correct twin, after a bug of a public
// operator. They were written by somebody who had not read the search, and committed before it was
// run on them; it is not tuned on them.
type secondMutant struct {
	name, seen string // seen: the operator whose issues have it
	start      func(bug bool) func(*hunt.Run)
	options    func(*hunt.Options) // in addition to those of secondOptions; can be nil
}

var secondMutants = []secondMutant{
	{"25 a phase that says more than is done", "openshift/origin 5743", phaseFirst, nil},
	{"26 an id only in the status", "aws-controllers-k8s/community 2062, crossplane-runtime 277", idInStatus, nil},
	{"27 an expectation that is never cleared", "kubeflow/trainer 1221, openkruise/kruise 1765", expectationStays, nil},
	{"28 a Secret of the one before", "educates 1154", secretOfOneBefore, nil},
	{"29 a list patched without a version", "reddit/achilles-sdk 129", listPatched, nil},
	{"30 a timer that is set once", "kubeflow/trainer 1614", timerSetOnce, nil},
	{"31 a lock that outlives its holder", "mayadata-io/d-operators 141", lockStays, nil},
	{"32 a failure counted twice", "kubernetes 89630, flant/addon-operator 84", failureCountedTwice, withWorker(failsFirst)},
	{"33 events of creation ignored", "karmada 5865, topolvm 279", creationIgnored, withWorker(succeeds)},
	{"34 observedGeneration before the work", "numaflow 1852, knative/operator 57", generationEarly, nil},
	{"35 a Pod deleted by its name", "opensearch-k8s-operator 1471", podByName, withWorkloads},
	{"36 a conflict swallowed behind a predicate", "azure-service-operator 2719", conflictSwallowed, nil},
}

func TestSecondMutants(t *testing.T) {
	for _, m := range secondMutants {
		t.Run(m.name, func(t *testing.T) {
			report, err := hunt.Search(secondOptions(m, 2000), m.start(true))
			require.NoError(t, err)
			require.NotEmpty(t, report.Failures, "%d runs", report.Runs)
			f := report.Failures[0]
			t.Logf("| %s | %s (%s) | run %d | %d faults | %v", m.name, f.Check, f.Kind, f.Run, len(f.Outcome.Plan.Faults), f.Outcome.Plan.Faults)
			for _, line := range f.Outcome.Story[:min(len(f.Outcome.Story), *lines)] {
				t.Log(line)
			}
		})
	}
}

func TestSecondCorrectTwinsAreClean(t *testing.T) {
	for _, m := range secondMutants {
		t.Run(m.name, func(t *testing.T) {
			report, err := hunt.Search(secondOptions(m, *twinRuns), m.start(false))
			require.NoError(t, err)
			for _, f := range report.Failures {
				t.Errorf("run %d\n%s", f.Run, f)
			}
		})
	}
}

// TestFalseAlarmsOfTheSecondTwins has plans that were alarms, because of what the users of the hunt did.
func TestFalseAlarmsOfTheSecondTwins(t *testing.T) {
	for _, alarm := range []struct{ name, faults string }{
		// They made the Gateway again with the list that the operator had written into it.
		{"29 a list patched without a version", "fault recreate operator Route default/a patch Gateway #2\n"},
		// They gave up before the Machine was gone.
		{"26 an id only in the status", "fault refuse operator Machine default/a delete Instance #1 times=3\n" +
			"fault recreate operator sees default/a MODIFIED Machine #2\nfault relist operator sees default/a MODIFIED Machine #2 for=2m0s\n"},
		// They gave up before the Pod of a Node that had stopped was gone, for which a deletion in the foreground waits.
		{"35 a Pod deleted by its name", "fault recreate operator sees default/a-2 MODIFIED Pod #6 policy=foreground\nfault stop-node operator sees default/a-2 ADDED Pod #2\n"},
		// They made it again as it had been, and not with what they had changed of it while it went.
		{"35 a Pod deleted by its name", "fault recreate operator sees default/a-1 MODIFIED Pod #3 policy=foreground\nfault stop-node operator sees default/a-0 MODIFIED Pod #1\n"},
		// In the twin, the Cell was touched that came after the first.
		{"34 observedGeneration before the work", "fault touch agent Cell default/a-1 update Task #1\nfault recreate agent sees default/a-1 MODIFIED Cell #2\n"},
		// What is due for a process that starts again under another clock is no finding.
		{"30 a timer that is set once", "fault skew operator sees default/b MODIFIED Preview #2 by=-1m0s\n"},
		// A timer that was set by a clock that is late is late.
		{"30 a timer that is set once", "fault refuse operator Preview default/b create Task #1 times=3\nfault skew operator sees default/b MODIFIED Preview #1 for=1s by=-2m0s\n" +
			"fault recreate operator Preview default/b create Task #4\n"},
	} {
		m := secondMutants[slices.IndexFunc(secondMutants, func(m secondMutant) bool { return m.name == alarm.name })]
		plan, err := hunt.ParsePlan(alarm.name, "hunt v1\nseed 0\n"+alarm.faults)
		require.NoError(t, err)
		out, err := hunt.Play(secondOptions(m, 1), m.start(false), plan)
		require.NoError(t, err)
		require.Empty(t, out.Findings, alarm.name)
		require.Empty(t, out.Missed, alarm.name)
	}
}

// secondOptions are the default options in a lab without workloads, with the kinds of the mutants.
func secondOptions(m secondMutant, runs int) hunt.Options {
	o := hunt.Options{Runs: runs, Lab: labtest.Options{Nodes: -1, OnlyControllers: true, OnlyStages: true}}
	for _, k := range []schema.GroupVersionKind{
		builds, machines, instances, fleets, databases, routes, gateways, previews, upgrades, attempts, images, rollouts, cells, searches, buckets, tasks,
	} {
		o.Lab.Kinds = append(o.Lab.Kinds, memory.Kind{GroupVersionKind: k, Status: true, ClusterScoped: k == instances})
	}
	if m.options != nil {
		m.options(&o)
	}
	return o
}

// withWorkloads has the lab run StatefulSets and Pods. Which revision is the current one of a StatefulSet
// with OnDelete that is made again depends on when those of the one before are collected, as with
// kube-controller-manager.
func withWorkloads(o *hunt.Options) {
	o.Lab = labtest.Options{Kinds: o.Lab.Kinds}
	o.Ignore = []string{"currentRevision", "currentReplicas"}
}

func kindOf(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: kind}
}

// A reconciler is the controller of a kind as most operators have one.
type reconciler struct {
	kind    schema.GroupVersionKind
	watches []reconcile.Watch
	when    func(reconcile.Change) bool
	// do is called with the object, nil if it is gone, and returns when to look again.
	do func(c client, obj *object, name string) (time.Duration, error)
}

func (x reconciler) controller(p *hunt.Process) reconcile.Controller {
	return reconcile.Controller{Name: x.kind.Kind, For: x.kind, Watches: x.watches, When: x.when, Reconcile: func(ctx context.Context, q reconcile.Request) (reconcile.Result, error) {
		c := client{p, ctx}
		obj, err := c.get(x.kind, q.Name.Name)
		if err != nil {
			return reconcile.Result{}, err
		}
		after, err := x.do(c, obj, q.Name.Name)
		return reconcile.Result{After: after}, err
	}}
}

// operator adds a process with the controller of a kind.
func operator(r *hunt.Run, name string, x reconciler) {
	r.Process(name, func(p *hunt.Process) []reconcile.Controller { return []reconcile.Controller{x.controller(p)} })
}

// part returns an object that another controls.
func part(kind schema.GroupVersionKind, owner *object, name string) *object {
	obj := &object{Object: map[string]any{}}
	obj.SetGroupVersionKind(kind)
	obj.SetNamespace("default")
	obj.SetName(name)
	obj.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(owner, owner.GroupVersionKind())})
	return obj
}

// save and saveStatus return the object as stored.
func (c client) save(obj *object) (*object, error) {
	return c.Update(c.ctx, obj, metav1.UpdateOptions{})
}

func (c client) saveStatus(obj *object) (*object, error) {
	return c.Update(c.ctx, obj, metav1.UpdateOptions{}, "status")
}

// live returns an object as it is, nil if it does not exist.
func (c client) live(kind schema.GroupVersionKind, name string) (*object, error) {
	obj, err := c.Live().Get(c.ctx, kind, types.NamespacedName{Namespace: "default", Name: name})
	return obj, ignoreNotFound(err)
}

// newGeneration is what GenerationChangedPredicate lets through.
func newGeneration(ch reconcile.Change) bool {
	return ch.Old == nil || ch.New == nil || ch.Old.GetUID() != ch.New.GetUID() || ch.Old.GetGeneration() != ch.New.GetGeneration()
}

// withWorker has somebody else work at Tasks: he writes the phase that phase returns.
func withWorker(phase func() func(task *object) string) func(*hunt.Options) {
	return func(o *hunt.Options) {
		o.Controllers = func() []reconcile.Controller {
			next := phase()
			return []reconcile.Controller{{Name: "worker", For: tasks, Reconcile: func(ctx context.Context, q reconcile.Request) (reconcile.Result, error) {
				task := q.Cache.Get(tasks, q.Name)
				if isDeleted(task) || text(task, "status", "phase") != "" {
					return reconcile.Result{}, nil
				}
				patch := []byte(`{"status":{"phase":"` + next(task) + `"}}`)
				_, err := q.Client.Patch(ctx, tasks, q.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
				return reconcile.Result{}, ignoreNotFound(err)
			}}}
		}
	}
}

func succeeds() func(*object) string { return func(*object) string { return "Succeeded" } }

// failsFirst fails the first Task of each owner.
func failsFirst() func(*object) string {
	failed := map[types.UID]bool{}
	return func(task *object) string {
		owner := metav1.GetControllerOf(task)
		if owner == nil || failed[owner.UID] {
			return "Succeeded"
		}
		failed[owner.UID] = true
		return "Failed"
	}
}
