package fault_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stagecraft-go/stagecraft/stage"
	"github.com/stagecraft-go/stagecraft/stage/lab/controllers"
	kubelet "github.com/stagecraft-go/stagecraft/stage/lab/controllers/nodes"
	"github.com/stagecraft-go/stagecraft/stage/lab/expect"
	"github.com/stagecraft-go/stagecraft/stage/lab/fault"
	"github.com/stagecraft-go/stagecraft/stage/lab/load"
	"github.com/stagecraft-go/stagecraft/stage/lab/record"
	"github.com/stagecraft-go/stagecraft/stage/presets"
	"github.com/stagecraft-go/stagecraft/stage/simulation"
)

var (
	pods  = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	nodes = schema.GroupVersionKind{Version: "v1", Kind: "Node"}
)

// A lab is a recorded cluster with three nodes and a ReplicaSet of six Pods that run.
type lab struct {
	t   *testing.T
	sim *simulation.Simulation
	log record.Log
}

func newLab(t *testing.T) *lab {
	l := &lab{t: t}
	recorder := record.New(record.Options{Sink: l.log.Append})
	var err error
	set := stage.MustCompile(presets.NodeFast(), presets.NodeChaos(), presets.PodGeneral(), presets.PodChaos())
	l.sim, err = simulation.New(set, simulation.Options{Trace: recorder.Trace, Controllers: controllers.All(controllers.Options{}), Filter: controllers.Bound, Kubelet: kubelet.KubeletRuns})
	require.NoError(t, err)
	require.NoError(t, recorder.Follow(l.sim, nodes, pods))
	for i := range 3 {
		l.load(fmt.Sprintf(`{apiVersion: v1, kind: Node, metadata: {name: node-%d, labels: {zone: z}},
  status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}`, i))
	}
	l.load(`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web}, spec: {replicas: 6, selector: {matchLabels: {app: web}},
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}}}`)
	l.advance(time.Minute)
	return l
}

func (l *lab) load(text string) {
	l.t.Helper()
	require.NoError(l.t, l.sim.Cluster().Load(l.t.Context(), []byte(text)))
}

func (l *lab) advance(d time.Duration) {
	l.t.Helper()
	require.NoError(l.t, l.sim.Advance(l.t.Context(), d))
}

// since returns the records of a kind from some record on, with the time since then.
func (l *lab) since(from int, kind string) (lines []string) {
	for _, r := range l.log[from:] {
		if r.Kind == kind && r.From != r.To {
			lines = append(lines, r.String())
		}
	}
	return lines
}

func every(d time.Duration, n int) []time.Duration {
	return load.MustNew(0, "", load.Fixed(d.Seconds())).Arrivals(n)
}

func lasts(d time.Duration) *load.Stream { return load.MustNew(0, "", load.Fixed(d.Seconds())) }

func TestNodesGoAwayAndComeBack(t *testing.T) {
	l := newLab(t)
	from := len(l.log)
	require.NoError(t, fault.Schedule(l.sim, fault.Plan{Kind: nodes, Arrivals: every(time.Minute, 1), Durations: lasts(10 * time.Minute)}, fault.Remove()))
	l.advance(time.Hour)
	lines := l.since(from, "Node")
	require.Len(t, lines, 3)
	gone := l.log[from].Name
	require.Equal(t, []string{"Node " + gone + " Ready → Deleted", "Node " + gone + " → NotReady", "Node " + gone + " NotReady → Ready by node-initialize"}, lines)
	at := map[string]int{}
	for _, r := range l.log[from:] {
		if r.Kind == "Pod" && r.To == record.Ready {
			at[r.Node]++
		}
	}
	require.NotEmpty(t, at, "its Pods were made again")
	require.Zero(t, at[gone], "on other nodes")
	expect.Require(t, l.log[from:], "max(number of Pod in Ready) <= 6")
	back, err := l.sim.Cluster().Get(t.Context(), nodes, name("", gone))
	require.NoError(t, err)
	require.Equal(t, "z", back.GetLabels()["zone"])
	memory, _, _ := unstructured.NestedString(back.Object, "status", "allocatable", "memory")
	require.Equal(t, "8Gi", memory)
}

func TestKubeletsStop(t *testing.T) {
	l := newLab(t)
	from := len(l.log)
	plan := fault.Plan{Kind: nodes, Arrivals: every(time.Minute, 1), Durations: lasts(20 * time.Minute)}
	require.NoError(t, fault.Schedule(l.sim, plan, fault.StopKubelet()))
	l.advance(19 * time.Minute)
	require.Len(t, l.since(from, "Node"), 1, "it is not ready")
	require.Equal(t, 6.0, running(l), "its Pods were evicted and replaced")
	all, err := l.sim.Cluster().List(t.Context(), pods, "", listAll)
	require.NoError(t, err)
	require.Greater(t, len(all.Items), 6, "they are still there")
	l.advance(time.Hour)
	require.Len(t, l.since(from, "Node"), 2)
	all, err = l.sim.Cluster().List(t.Context(), pods, "", listAll)
	require.NoError(t, err)
	require.Len(t, all.Items, 6)
}

func TestBurstsStayWithinTheirBound(t *testing.T) {
	l := newLab(t)
	from := len(l.log)
	label := "node-not-ready.stage.kwok.x-k8s.io"
	plan := fault.Plan{Kind: nodes, Arrivals: every(time.Second, 100), Size: 3, MaxActive: 2, Durations: load.MustNew(1, "repairs", load.Exponential{Mean: 20})}
	require.NoError(t, fault.Schedule(l.sim, plan, fault.Label(label, "true")))
	l.advance(2 * time.Hour)
	expect.Require(t, l.log[from:], "max(number of Node in NotReady) == 2", "count(time of Node in NotReady) > 5")
	all, err := l.sim.Cluster().List(t.Context(), nodes, "", listAll)
	require.NoError(t, err)
	for _, n := range all.Items {
		require.NotContains(t, n.GetLabels(), label)
		require.Equal(t, record.Ready, record.StateOf(&n))
	}
}

func TestPodsFailAtARate(t *testing.T) {
	l := newLab(t)
	from := len(l.log)
	ready := func(obj *unstructured.Unstructured) bool { return record.StateOf(obj) == record.Ready }
	gaps := load.MustNew(1, "faults", load.Exponential{Mean: 60})
	plan := fault.Plan{Seed: 1, Kind: pods, Filter: ready, Arrivals: gaps.Arrivals(10)}
	require.NoError(t, fault.Schedule(l.sim, plan, fault.Label("pod-container-running-failed.stage.kwok.x-k8s.io", "true")))
	l.advance(time.Hour)
	failed := 0
	for _, r := range l.log[from:] {
		if r.To == record.Failed {
			failed++
			require.Equal(t, "pod-container-running-failed", r.Stage)
		}
	}
	require.Equal(t, 10, failed)
	require.Equal(t, 6.0, running(l), "each was replaced")
}

func running(l *lab) float64 {
	n := 0.0
	all, err := l.sim.Cluster().List(l.t.Context(), pods, "", listAll)
	require.NoError(l.t, err)
	for _, p := range all.Items {
		if record.StateOf(&p) == record.Ready {
			n++
		}
	}
	return n
}

func TestReadinessFlaps(t *testing.T) {
	l := newLab(t)
	from := len(l.log)
	plan := fault.Plan{Kind: pods, Arrivals: every(time.Minute, 5), Size: 2, Durations: lasts(10 * time.Second)}
	require.NoError(t, fault.Schedule(l.sim, plan, fault.Condition("Ready")))
	l.advance(time.Hour)
	expect.Require(t, l.log[from:], "count(time of Pod in Running) == 10", "min(time of Pod in Running) == 10s", "max(time of Pod in Running) == 10s")
	require.Equal(t, 6.0, running(l))
}

// TestAStageIsStuckUntilTheFaultEnds strikes Pods that wait in the Stage already.
func TestAStageIsStuckUntilTheFaultEnds(t *testing.T) {
	l := newLab(t)
	from := len(l.log)
	l.load(`{apiVersion: v1, kind: Pod, metadata: {name: late, labels: {is: late}}, spec: {nodeName: node-1, containers: [{name: c, image: i}]}}`)
	late := func(obj *unstructured.Unstructured) bool { return obj.GetLabels()["is"] == "late" }
	plan := fault.Plan{Kind: pods, Filter: late, Arrivals: []time.Duration{0}, Durations: lasts(time.Hour)}
	require.NoError(t, fault.Schedule(l.sim, plan, fault.Slow("pod-create", 100_000*time.Hour)))
	l.advance(50 * time.Minute)
	require.Equal(t, []string{"Pod default/late → Scheduled"}, l.since(from, "Pod"))
	l.advance(20 * time.Minute)
	require.Equal(t, []string{"Pod default/late → Scheduled", "Pod default/late Scheduled → Ready by pod-ready"}, l.since(from, "Pod"))
}

func TestTheSamePlanStrikesTheSame(t *testing.T) {
	struck := func(seed uint64, name string) (lines []string) {
		l := newLab(t)
		from := len(l.log)
		plan := fault.Plan{Seed: seed, Name: name, Kind: pods, Arrivals: every(time.Minute, 8), Durations: lasts(time.Second)}
		require.NoError(t, fault.Schedule(l.sim, plan, fault.Condition("Ready")))
		l.advance(time.Hour)
		return l.since(from, "Pod")
	}
	require.Equal(t, struck(1, "a"), struck(1, "a"))
	require.NotEqual(t, struck(1, "a"), struck(2, "a"))
	require.NotEqual(t, struck(1, "a"), struck(1, "b"))
}

func TestObjectsThatAreGoneAreNoError(t *testing.T) {
	l := newLab(t)
	plan := fault.Plan{Kind: pods, Arrivals: every(time.Minute, 3), Size: 100, Durations: lasts(time.Hour)}
	for _, f := range []fault.Fault{fault.Condition("Ready"), fault.Label("a", "b"), fault.Annotation("c", "d"), fault.Remove()} {
		require.NoError(t, fault.Schedule(l.sim, plan, f))
	}
	l.advance(10 * time.Hour)
	oops := errors.New("oops")
	require.NoError(t, fault.Schedule(l.sim, plan, fault.Fault{Begin: func(context.Context, fault.Target) error { return oops }}))
	require.ErrorIs(t, l.sim.Advance(t.Context(), time.Hour), oops)
	require.Error(t, fault.Schedule(l.sim, plan, fault.Fault{}))
	plan.Kind.Kind = "Train"
	require.Error(t, fault.Schedule(l.sim, plan, fault.Remove()))
}

var listAll metav1.ListOptions

func name(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}
